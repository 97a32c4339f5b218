// Unary calls of the completion-queue API: declared for generated code, stubs and mocks; they do not exist
// yet.
#pragma once

#include <grpcpp/support/async_stream.h>

namespace grpc {

template <class R>
class ClientAsyncResponseReaderInterface {
 public:
  virtual ~ClientAsyncResponseReaderInterface() = default;
  virtual void StartCall() = 0;
  virtual void ReadInitialMetadata(void* tag) = 0;
  virtual void Finish(R* message, Status* status, void* tag) = 0;
};

template <class R>
class ClientAsyncResponseReader : public ClientAsyncResponseReaderInterface<R> {};

template <class W>
class ServerAsyncResponseWriter : public internal::missing_server_stream {
  using missing_server_stream::missing_server_stream;
};

namespace internal {

class ClientAsyncResponseReaderHelper {
 public:
  template <class R, class W, class BaseR = R, class BaseW = W>
  static ClientAsyncResponseReader<R>* Create(ChannelInterface*, CompletionQueue*, const RpcMethod&,
                                              ClientContext*, const W&) {
    missing_api("the completion-queue API");
  }
};

}  // namespace internal
}  // namespace grpc
