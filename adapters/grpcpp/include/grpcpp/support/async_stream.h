// The streams of the completion-queue API.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/impl/channel_interface.h>
#include <grpcpp/impl/client_queue_call.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/impl/server_queue_call.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <utility>

namespace grpc {

class ClientContext;
class ServerContext;

namespace internal {

class ClientAsyncStreamingInterface {
 public:
  virtual ~ClientAsyncStreamingInterface() = default;
  virtual void StartCall(void* tag) = 0;
  virtual void ReadInitialMetadata(void* tag) = 0;
  virtual void Finish(Status* status, void* tag) = 0;
};

template <class R>
class AsyncReaderInterface {
 public:
  virtual ~AsyncReaderInterface() = default;
  virtual void Read(R* message, void* tag) = 0;
};

template <class W>
class AsyncWriterInterface {
 public:
  virtual ~AsyncWriterInterface() = default;
  virtual void Write(const W& message, void* tag) = 0;
  virtual void Write(const W& message, WriteOptions options, void* tag) = 0;
  void WriteLast(const W& message, WriteOptions options, void* tag) {
    Write(message, options.set_last_message(), tag);
  }
};

class ServerAsyncStreamingInterface {
 public:
  virtual ~ServerAsyncStreamingInterface() = default;
  /// Sends the initial metadata before the first message, which sends it otherwise.
  virtual void SendInitialMetadata(void* tag) = 0;
  // For the library: the call has begun.
  virtual void bind(std::shared_ptr<server_call_core> call, std::shared_ptr<queue_core> queue,
                    std::shared_ptr<call_interception> seen) = 0;
};

}  // namespace internal

template <class R>
class ClientAsyncReaderInterface : public internal::ClientAsyncStreamingInterface,
                                   public internal::AsyncReaderInterface<R> {};
template <class W>
class ClientAsyncWriterInterface : public internal::ClientAsyncStreamingInterface,
                                   public internal::AsyncWriterInterface<W> {
 public:
  virtual void WritesDone(void* tag) = 0;
};
template <class W, class R>
class ClientAsyncReaderWriterInterface : public internal::ClientAsyncStreamingInterface,
                                         public internal::AsyncWriterInterface<W>,
                                         public internal::AsyncReaderInterface<R> {
 public:
  virtual void WritesDone(void* tag) = 0;
};

namespace internal {

template <class R>
class ClientAsyncReaderFactory;
template <class W>
class ClientAsyncWriterFactory;
template <class W, class R>
class ClientAsyncReaderWriterFactory;

}  // namespace internal

/// The client's side of a call with one request and many replies. One Read() at a time; Finish() may be
/// started at any time, and ends after the last message was read.
template <class R>
class ClientAsyncReader final : public ClientAsyncReaderInterface<R> {
 public:
  void StartCall(void* tag) override { call_.start(tag); }
  void ReadInitialMetadata(void* tag) override { call_.read_initial_metadata(tag); }
  void Read(R* message, void* tag) override { call_.read(internal::message_target::of<R>(message), tag); }
  void Finish(Status* status, void* tag) override { call_.finish(status, tag); }

 private:
  friend class internal::ClientAsyncReaderFactory<R>;
  explicit ClientAsyncReader(internal::client_queue_stream&& call) : call_(std::move(call)) {}
  internal::client_queue_stream call_;
};

/// The client's side of a call with many requests and one reply. One Write() at a time.
template <class W>
class ClientAsyncWriter final : public ClientAsyncWriterInterface<W> {
 public:
  void StartCall(void* tag) override { call_.start(tag); }
  void ReadInitialMetadata(void* tag) override { call_.read_initial_metadata(tag); }
  void Write(const W& message, void* tag) override { Write(message, WriteOptions(), tag); }
  void Write(const W& message, WriteOptions options, void* tag) override {
    call_.write(internal::serialized_message::of<W>(message), options, tag);
  }
  void WritesDone(void* tag) override { call_.writes_done(tag); }
  /// The call has ended: `status` is set, and with OK the reply.
  void Finish(Status* status, void* tag) override { call_.finish(reply_, status, tag); }

 private:
  friend class internal::ClientAsyncWriterFactory<W>;
  ClientAsyncWriter(internal::client_queue_stream&& call, const internal::message_target& reply)
      : call_(std::move(call)), reply_(reply) {}
  internal::client_queue_stream call_;
  internal::message_target reply_;
};

/// The client's side of a call with many requests and many replies. One Read() and one Write() at a time;
/// Finish() may be started at any time, and ends after the last message was read.
template <class W, class R>
class ClientAsyncReaderWriter final : public ClientAsyncReaderWriterInterface<W, R> {
 public:
  void StartCall(void* tag) override { call_.start(tag); }
  void ReadInitialMetadata(void* tag) override { call_.read_initial_metadata(tag); }
  void Read(R* message, void* tag) override { call_.read(internal::message_target::of<R>(message), tag); }
  void Write(const W& message, void* tag) override { Write(message, WriteOptions(), tag); }
  void Write(const W& message, WriteOptions options, void* tag) override {
    call_.write(internal::serialized_message::of<W>(message), options, tag);
  }
  void WritesDone(void* tag) override { call_.writes_done(tag); }
  void Finish(Status* status, void* tag) override { call_.finish(status, tag); }

 private:
  friend class internal::ClientAsyncReaderWriterFactory<W, R>;
  explicit ClientAsyncReaderWriter(internal::client_queue_stream&& call) : call_(std::move(call)) {}
  internal::client_queue_stream call_;
};

namespace internal {

template <class R>
class ClientAsyncReaderFactory {
 public:
  template <class W>
  static ClientAsyncReader<R>* Create(ChannelInterface* channel, CompletionQueue* queue,
                                      const RpcMethod& method, ClientContext* context, const W& request,
                                      bool start, void* tag) {
    client_queue_stream call(channel, queue, method, context, serialized_message::of<W>(request));
    if (start) call.start(tag);
    return new ClientAsyncReader<R>(std::move(call));
  }
};
template <class W>
class ClientAsyncWriterFactory {
 public:
  template <class R>
  static ClientAsyncWriter<W>* Create(ChannelInterface* channel, CompletionQueue* queue,
                                      const RpcMethod& method, ClientContext* context, R* reply, bool start,
                                      void* tag) {
    client_queue_stream call(channel, queue, method, context);
    if (start) call.start(tag);
    return new ClientAsyncWriter<W>(std::move(call), message_target::of<R>(reply));
  }
};
template <class W, class R>
class ClientAsyncReaderWriterFactory {
 public:
  static ClientAsyncReaderWriter<W, R>* Create(ChannelInterface* channel, CompletionQueue* queue,
                                               const RpcMethod& method, ClientContext* context, bool start,
                                               void* tag) {
    client_queue_stream call(channel, queue, method, context);
    if (start) call.start(tag);
    return new ClientAsyncReaderWriter<W, R>(std::move(call));
  }
};

}  // namespace internal

template <class W, class R>
class ServerAsyncReaderInterface : public internal::ServerAsyncStreamingInterface,
                                   public internal::AsyncReaderInterface<R> {
 public:
  virtual void Finish(const W& message, const Status& status, void* tag) = 0;
  virtual void FinishWithError(const Status& status, void* tag) = 0;
};
template <class W>
class ServerAsyncWriterInterface : public internal::ServerAsyncStreamingInterface,
                                   public internal::AsyncWriterInterface<W> {
 public:
  virtual void Finish(const Status& status, void* tag) = 0;
  virtual void WriteAndFinish(const W& message, WriteOptions options, const Status& status, void* tag) = 0;
};
template <class W, class R>
class ServerAsyncReaderWriterInterface : public internal::ServerAsyncStreamingInterface,
                                         public internal::AsyncWriterInterface<W>,
                                         public internal::AsyncReaderInterface<R> {
 public:
  virtual void Finish(const Status& status, void* tag) = 0;
  virtual void WriteAndFinish(const W& message, WriteOptions options, const Status& status, void* tag) = 0;
};

namespace internal {

// What all classes of the server's side have. Interface: what the program sees.
template <class Interface>
class server_async_call : public Interface {
 public:
  explicit server_async_call(ServerContext* context) : call_(*context) {}
  void SendInitialMetadata(void* tag) override { call_.send_initial_metadata(tag); }
  void bind(std::shared_ptr<server_call_core> call, std::shared_ptr<queue_core> queue,
            std::shared_ptr<call_interception> seen) override {
    call_.bind(std::move(call), std::move(queue), std::move(seen));
  }

 protected:
  server_queue_call call_;
};

}  // namespace internal

/// The server's side of a call with many requests and one reply, for a Request*() function. One Read() at a
/// time. Messages, statuses and metadata are copied by the function that they are given to. The object and
/// its context last until the events of all operations were taken.
template <class W, class R>
class ServerAsyncReader final : public internal::server_async_call<ServerAsyncReaderInterface<W, R>> {
 public:
  using internal::server_async_call<ServerAsyncReaderInterface<W, R>>::server_async_call;
  void Read(R* message, void* tag) override { this->call_.read(internal::message_target::of<R>(message), tag); }
  /// Ends the call, with the reply if the status is OK.
  void Finish(const W& message, const Status& status, void* tag) override {
    if (!status.ok()) return this->call_.finish(status, tag);
    this->call_.finish(internal::serialized_message::of<W>(message), status, tag);
  }
  void FinishWithError(const Status& status, void* tag) override { this->call_.finish(status, tag); }
};

/// The server's side of a call with one request and many replies. One Write() at a time; as ServerAsyncReader.
template <class W>
class ServerAsyncWriter final : public internal::server_async_call<ServerAsyncWriterInterface<W>> {
 public:
  using internal::server_async_call<ServerAsyncWriterInterface<W>>::server_async_call;
  void Write(const W& message, void* tag) override { Write(message, WriteOptions(), tag); }
  void Write(const W& message, WriteOptions options, void* tag) override {
    this->call_.write(internal::serialized_message::of<W>(message), options, tag);
  }
  /// Ends the call after the message, with one event for both.
  void WriteAndFinish(const W& message, WriteOptions options, const Status& status, void* tag) override {
    this->call_.write_and_finish(internal::serialized_message::of<W>(message), options, status, tag);
  }
  void Finish(const Status& status, void* tag) override { this->call_.finish(status, tag); }
};

/// The server's side of a call with many requests and many replies. One Read() and one Write() at a time; as
/// ServerAsyncReader.
template <class W, class R>
class ServerAsyncReaderWriter final : public internal::server_async_call<ServerAsyncReaderWriterInterface<W, R>> {
 public:
  using internal::server_async_call<ServerAsyncReaderWriterInterface<W, R>>::server_async_call;
  void Read(R* message, void* tag) override { this->call_.read(internal::message_target::of<R>(message), tag); }
  void Write(const W& message, void* tag) override { Write(message, WriteOptions(), tag); }
  void Write(const W& message, WriteOptions options, void* tag) override {
    this->call_.write(internal::serialized_message::of<W>(message), options, tag);
  }
  /// Ends the call after the message, with one event for both.
  void WriteAndFinish(const W& message, WriteOptions options, const Status& status, void* tag) override {
    this->call_.write_and_finish(internal::serialized_message::of<W>(message), options, status, tag);
  }
  void Finish(const Status& status, void* tag) override { this->call_.finish(status, tag); }
};

}  // namespace grpc
