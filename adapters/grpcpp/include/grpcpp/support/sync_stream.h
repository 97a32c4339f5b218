// The readers and writers of the synchronous API, of clients and servers.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/impl/client_call.h>
#include <grpcpp/impl/intercepted_calls.h>
#include <grpcpp/impl/proto_utils.h>
#include <grpcpp/impl/server_call.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace grpc {

namespace internal {

class ClientStreamingInterface {
 public:
  virtual ~ClientStreamingInterface() = default;
  /// Blocks until the call has ended, and returns its status. Messages that were not read are dropped.
  virtual Status Finish() = 0;
};

class ServerStreamingInterface {
 public:
  virtual ~ServerStreamingInterface() = default;
  /// Sends the initial metadata before the first message, which sends it otherwise.
  virtual void SendInitialMetadata() = 0;
};

template <class R>
class ReaderInterface {
 public:
  virtual ~ReaderInterface() = default;
  /// Sets the largest size that the next message may have.
  virtual bool NextMessageSize(std::uint32_t* size) = 0;
  /// Blocks until there is a message. False: there is none any more, or the call is over.
  virtual bool Read(R* message) = 0;
};

template <class W>
class WriterInterface {
 public:
  virtual ~WriterInterface() = default;
  /// Blocks while there is no room. False: the call is over.
  virtual bool Write(const W& message, WriteOptions options) = 0;
  bool Write(const W& message) { return Write(message, WriteOptions()); }
  /// The last message: it ends this side of the stream.
  void WriteLast(const W& message, WriteOptions options) { Write(message, options.set_last_message()); }
};

// Writes a message to a call of either side.
template <class W, class Call>
bool write_message(Call& to, const W& message, const WriteOptions& options) {
  if (call_interception* const seen = to.interception()) [[unlikely]]
    return intercepted_write<W>(*seen, to, message, options);
  std::string bytes;
  return to_bytes<W>(message, bytes).ok() && to.write(std::move(bytes), options);
}
template <class R, class Call>
bool read_message(Call& from, R* message) {
  if (call_interception* const seen = from.interception()) [[unlikely]]
    return intercepted_read<R>(*seen, from, message);
  std::string bytes;
  return from.read(bytes) && from_bytes<R>(std::move(bytes), *message).ok();
}
inline bool any_size(std::uint32_t* size) {
  *size = std::numeric_limits<std::uint32_t>::max();
  return true;
}

}  // namespace internal

// --- the client's side

template <class R>
class ClientReaderInterface : public internal::ClientStreamingInterface, public internal::ReaderInterface<R> {
 public:
  /// Blocks until the initial metadata has arrived, or the call has ended.
  virtual void WaitForInitialMetadata() = 0;
};

template <class W>
class ClientWriterInterface : public internal::ClientStreamingInterface, public internal::WriterInterface<W> {
 public:
  /// Ends the messages of the client. False: the call is over.
  virtual bool WritesDone() = 0;
};

template <class W, class R>
class ClientReaderWriterInterface : public internal::ClientStreamingInterface,
                                    public internal::WriterInterface<W>,
                                    public internal::ReaderInterface<R> {
 public:
  virtual void WaitForInitialMetadata() = 0;
  virtual bool WritesDone() = 0;
};

namespace internal {

template <class R>
class ClientReaderFactory;
template <class W>
class ClientWriterFactory;
template <class W, class R>
class ClientReaderWriterFactory;

}  // namespace internal

/// The client's side of a call with one request and many replies.
template <class R>
class ClientReader final : public ClientReaderInterface<R> {
 public:
  void WaitForInitialMetadata() override { call_.wait_for_initial_metadata(); }
  bool NextMessageSize(std::uint32_t* size) override { return internal::any_size(size); }
  bool Read(R* message) override { return internal::read_message(call_, message); }
  Status Finish() override { return call_.finish(); }

 private:
  friend class internal::ClientReaderFactory<R>;
  template <class W>
  ClientReader(ChannelInterface* channel, const internal::RpcMethod& method, ClientContext* context,
               const W& request)
      : call_(channel, method, context, internal::serialized_request::of<W>(request)) {}
  internal::client_stream call_;
};

/// The client's side of a call with many requests and one reply.
template <class W>
class ClientWriter final : public ClientWriterInterface<W> {
 public:
  void WaitForInitialMetadata() { call_.wait_for_initial_metadata(); }
  using internal::WriterInterface<W>::Write;
  bool Write(const W& message, WriteOptions options) override {
    return internal::write_message(call_, message, options);
  }
  bool WritesDone() override { return call_.writes_done(); }
  /// The reply has been set if the status is OK.
  Status Finish() override {
    if (internal::call_interception* const seen = call_.interception()) [[unlikely]]
      return call_.intercepted_finish(*seen, reply_, decode_);
    std::string bytes;
    bool has_reply = false;
    const Status s = call_.finish(bytes, has_reply);
    if (!has_reply) return s;
    const Status decoded = decode_(std::move(bytes), reply_);
    return s.ok() ? decoded : s;
  }

 private:
  friend class internal::ClientWriterFactory<W>;
  template <class R>
  ClientWriter(ChannelInterface* channel, const internal::RpcMethod& method, ClientContext* context, R* reply)
      : call_(channel, method, context), reply_(reply), decode_([](std::string&& bytes, void* into) {
          return internal::from_bytes<R>(std::move(bytes), *static_cast<R*>(into));
        }) {}
  internal::client_stream call_;
  void* reply_;
  Status (*decode_)(std::string&& bytes, void* into);
};

/// The client's side of a call with many requests and many replies. One thread may read while another one
/// writes.
template <class W, class R>
class ClientReaderWriter final : public ClientReaderWriterInterface<W, R> {
 public:
  void WaitForInitialMetadata() override { call_.wait_for_initial_metadata(); }
  bool NextMessageSize(std::uint32_t* size) override { return internal::any_size(size); }
  bool Read(R* message) override { return internal::read_message(call_, message); }
  using internal::WriterInterface<W>::Write;
  bool Write(const W& message, WriteOptions options) override {
    return internal::write_message(call_, message, options);
  }
  bool WritesDone() override { return call_.writes_done(); }
  Status Finish() override { return call_.finish(); }

 private:
  friend class internal::ClientReaderWriterFactory<W, R>;
  ClientReaderWriter(ChannelInterface* channel, const internal::RpcMethod& method, ClientContext* context)
      : call_(channel, method, context) {}
  internal::client_stream call_;
};

namespace internal {

template <class R>
class ClientReaderFactory {
 public:
  template <class W>
  static ClientReader<R>* Create(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                                 const W& request) {
    return new ClientReader<R>(channel, method, context, request);
  }
};

template <class W>
class ClientWriterFactory {
 public:
  template <class R>
  static ClientWriter<W>* Create(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                                 R* reply) {
    return new ClientWriter<W>(channel, method, context, reply);
  }
};

template <class W, class R>
class ClientReaderWriterFactory {
 public:
  static ClientReaderWriter<W, R>* Create(ChannelInterface* channel, const RpcMethod& method,
                                          ClientContext* context) {
    return new ClientReaderWriter<W, R>(channel, method, context);
  }
};

}  // namespace internal

// --- the server's side

template <class R>
class ServerReaderInterface : public internal::ServerStreamingInterface,
                              public internal::ReaderInterface<R> {};

template <class W>
class ServerWriterInterface : public internal::ServerStreamingInterface,
                              public internal::WriterInterface<W> {};

template <class W, class R>
class ServerReaderWriterInterface : public internal::ServerStreamingInterface,
                                    public internal::WriterInterface<W>,
                                    public internal::ReaderInterface<R> {};

namespace internal {

template <class Service, class Request, class Reply>
class ClientStreamingHandler;
template <class Service, class Request, class Reply>
class ServerStreamingHandler;
template <class Streamer, bool IsUnary>
class TemplatedBidiStreamingHandler;

}  // namespace internal

/// The requests of a call with many requests and one reply, for its handler.
template <class R>
class ServerReader final : public ServerReaderInterface<R> {
 public:
  void SendInitialMetadata() override { call_.send_initial_metadata(); }
  bool NextMessageSize(std::uint32_t* size) override { return internal::any_size(size); }
  bool Read(R* message) override { return internal::read_message(call_, message); }

 private:
  template <class Service, class Request, class Reply>
  friend class internal::ClientStreamingHandler;
  explicit ServerReader(internal::server_call& call) : call_(call) {}
  internal::server_call& call_;
};

/// The replies of a call with one request and many replies, for its handler.
template <class W>
class ServerWriter final : public ServerWriterInterface<W> {
 public:
  void SendInitialMetadata() override { call_.send_initial_metadata(); }
  using internal::WriterInterface<W>::Write;
  bool Write(const W& message, WriteOptions options) override {
    return internal::write_message(call_, message, options);
  }

 private:
  template <class Service, class Request, class Reply>
  friend class internal::ServerStreamingHandler;
  explicit ServerWriter(internal::server_call& call) : call_(call) {}
  internal::server_call& call_;
};

/// The messages of a call with many requests and many replies, for its handler. One thread may read while
/// another one writes.
template <class W, class R>
class ServerReaderWriter final : public ServerReaderWriterInterface<W, R> {
 public:
  void SendInitialMetadata() override { call_.send_initial_metadata(); }
  bool NextMessageSize(std::uint32_t* size) override { return internal::any_size(size); }
  bool Read(R* message) override { return internal::read_message(call_, message); }
  using internal::WriterInterface<W>::Write;
  bool Write(const W& message, WriteOptions options) override {
    return internal::write_message(call_, message, options);
  }

 private:
  template <class Streamer, bool IsUnary>
  friend class internal::TemplatedBidiStreamingHandler;
  explicit ServerReaderWriter(internal::server_call& call) : call_(call) {}
  internal::server_call& call_;
};

namespace internal {

// The request of a call that has one, for a handler that reads it as a stream, once.
template <class Request, class Reply>
class SingleRequestStreamer : public ServerReaderWriterInterface<Reply, Request> {
 public:
  void SendInitialMetadata() override { call_.send_initial_metadata(); }
  bool NextMessageSize(std::uint32_t* size) override { return any_size(size); }
  bool Read(Request* message) override {
    return !std::exchange(read_, true) && read_message(call_, message);
  }

 protected:
  explicit SingleRequestStreamer(server_call& call) : call_(call) {}
  // Nothing is written before the request was read.
  bool write_after_read(const Reply& message, WriteOptions options) {
    return read_ && write_message(call_, message, options);
  }

 private:
  server_call& call_;
  bool read_ = false;
};

}  // namespace internal

/// The request and the reply of a unary call, for a handler that reads and writes them as a stream. Each can
/// be done once.
template <class Request, class Reply>
class ServerUnaryStreamer final : public internal::SingleRequestStreamer<Request, Reply> {
 public:
  using internal::WriterInterface<Reply>::Write;
  bool Write(const Reply& message, WriteOptions options) override {
    if (written_) return false;
    return written_ = this->write_after_read(message, options);
  }

 private:
  template <class Streamer, bool IsUnary>
  friend class internal::TemplatedBidiStreamingHandler;
  using internal::SingleRequestStreamer<Request, Reply>::SingleRequestStreamer;
  bool written_ = false;
};

/// The same for a call with one request and many replies.
template <class Request, class Reply>
class ServerSplitStreamer final : public internal::SingleRequestStreamer<Request, Reply> {
 public:
  using internal::WriterInterface<Reply>::Write;
  bool Write(const Reply& message, WriteOptions options) override {
    return this->write_after_read(message, options);
  }

 private:
  template <class Streamer, bool IsUnary>
  friend class internal::TemplatedBidiStreamingHandler;
  using internal::SingleRequestStreamer<Request, Reply>::SingleRequestStreamer;
};

}  // namespace grpc
