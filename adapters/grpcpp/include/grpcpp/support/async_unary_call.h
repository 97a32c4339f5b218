// Unary calls of the completion-queue API.
#pragma once

#include <grpcpp/support/async_stream.h>

#include <memory>
#include <utility>

namespace grpc {

template <class R>
class ClientAsyncResponseReaderInterface {
 public:
  virtual ~ClientAsyncResponseReaderInterface() = default;
  virtual void StartCall() = 0;
  virtual void ReadInitialMetadata(void* tag) = 0;
  virtual void Finish(R* message, Status* status, void* tag) = 0;

  // For the library: what a unique_ptr does at its end.
  virtual void end_of_owner() {}
};

namespace internal {

class ClientAsyncResponseReaderHelper;

}  // namespace internal

/// A unary call of a client. The object may be destroyed after Finish(), before the call has ended; its
/// context must last until then.
template <class R>
class ClientAsyncResponseReader final : public ClientAsyncResponseReaderInterface<R> {
 public:
  /// For a call that was prepared. The call begins with its first operation.
  void StartCall() override {}
  /// The initial metadata has arrived, or the call has ended. Before Finish(), at most once.
  void ReadInitialMetadata(void* tag) override { call_.read_initial_metadata(tag); }
  /// The call has ended: `status` and, with OK, `message` are set. `ok` is always true.
  void Finish(R* message, Status* status, void* tag) override {
    call_.finish({message, decode_}, status, tag);
  }

  void end_of_owner() override { delete this; }

 private:
  friend class internal::ClientAsyncResponseReaderHelper;
  using decoder = Status (*)(std::string&& bytes, void* into);
  ClientAsyncResponseReader(internal::client_queue_unary&& call, decoder decode)
      : call_(std::move(call)), decode_(decode) {}
  internal::client_queue_unary call_;
  decoder decode_;
};

/// The server's side of a unary call; as ServerAsyncReader.
template <class W>
class ServerAsyncResponseWriter final
    : public internal::server_async_call<internal::ServerAsyncStreamingInterface> {
 public:
  using server_async_call::server_async_call;
  /// Ends the call, with the reply if the status is OK. The event comes when they were given to the
  /// connection.
  void Finish(const W& message, const Status& status, void* tag) {
    if (!status.ok()) return call_.finish(status, tag);
    call_.finish(internal::serialized_message::of<W>(message), status, tag);
  }
  void FinishWithError(const Status& status, void* tag) { call_.finish(status, tag); }
};

namespace internal {

class ClientAsyncResponseReaderHelper {
 public:
  template <class R, class W, class BaseR = R, class BaseW = W>
  static ClientAsyncResponseReader<R>* Create(ChannelInterface* channel, CompletionQueue* queue,
                                              const RpcMethod& method, ClientContext* context,
                                              const W& request) {
    return new ClientAsyncResponseReader<R>(
        client_queue_unary(channel, queue, method, context, serialized_message::of<BaseW>(request)),
        [](std::string&& bytes, void* into) {
          return from_bytes<BaseR>(std::move(bytes), *static_cast<R*>(into));
        });
  }
};

}  // namespace internal
}  // namespace grpc

// Programs give their mocks away in pointers of these types, and keep and destroy them themselves, as grpc++ has it.
// The readers that the library makes end with their pointer.
template <class R>
struct std::default_delete<grpc::ClientAsyncResponseReader<R>> {
  void operator()(grpc::ClientAsyncResponseReader<R>* reader) const { reader->end_of_owner(); }
};
template <class R>
struct std::default_delete<grpc::ClientAsyncResponseReaderInterface<R>> {
  void operator()(grpc::ClientAsyncResponseReaderInterface<R>* reader) const { reader->end_of_owner(); }
};
