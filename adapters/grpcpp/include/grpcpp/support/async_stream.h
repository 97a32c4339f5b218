// The streams of the completion-queue API: declared for generated code, stubs and mocks; they do not exist
// yet.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/impl/channel_interface.h>
#include <grpcpp/impl/missing_api.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/status.h>

namespace grpc {

class ClientContext;

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
  virtual void SendInitialMetadata(void* tag) = 0;
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

template <class R>
class ClientAsyncReader : public ClientAsyncReaderInterface<R> {};
template <class W>
class ClientAsyncWriter : public ClientAsyncWriterInterface<W> {};
template <class W, class R>
class ClientAsyncReaderWriter : public ClientAsyncReaderWriterInterface<W, R> {};

namespace internal {

template <class R>
class ClientAsyncReaderFactory {
 public:
  template <class W>
  static ClientAsyncReader<R>* Create(ChannelInterface*, CompletionQueue*, const RpcMethod&, ClientContext*,
                                      const W&, bool, void*) {
    missing_api("the completion-queue API");
  }
};
template <class W>
class ClientAsyncWriterFactory {
 public:
  template <class R>
  static ClientAsyncWriter<W>* Create(ChannelInterface*, CompletionQueue*, const RpcMethod&, ClientContext*,
                                      R*, bool, void*) {
    missing_api("the completion-queue API");
  }
};
template <class W, class R>
class ClientAsyncReaderWriterFactory {
 public:
  static ClientAsyncReaderWriter<W, R>* Create(ChannelInterface*, CompletionQueue*, const RpcMethod&,
                                               ClientContext*, bool, void*) {
    missing_api("the completion-queue API");
  }
};

// The base of what a program makes before it asks for a call.
class missing_server_stream : public ServerAsyncStreamingInterface {
 public:
  template <class Context>
  explicit missing_server_stream(Context*) {
    static_assert(!is_missing<Context>,
                  "coracle::grpcpp has no completion queues yet: use the synchronous API, or Coracle's own "
                  "services");
  }
};

}  // namespace internal

template <class W, class R>
class ServerAsyncReader : public internal::missing_server_stream {
  using missing_server_stream::missing_server_stream;
};
template <class W>
class ServerAsyncWriter : public internal::missing_server_stream {
  using missing_server_stream::missing_server_stream;
};
template <class W, class R>
class ServerAsyncReaderWriter : public internal::missing_server_stream {
  using missing_server_stream::missing_server_stream;
};

}  // namespace grpc
