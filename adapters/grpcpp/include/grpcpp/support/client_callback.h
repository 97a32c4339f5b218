// The client's side of the callback API: reactors, and what stub->async() calls.
#pragma once

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/impl/channel_interface.h>
#include <grpcpp/impl/client_callback_call.h>
#include <grpcpp/impl/rpc_method.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <utility>

namespace grpc {

class ClientContext;

namespace internal {

/// What all reactors of clients have. Its functions are called on threads of the library that are named
/// "grpcpp-callback". They may block: each waits on a thread of its own then, and delays no other. Those of
/// one call may run at the same time, as far as several of its operations are pending; OnDone() runs alone.
/// Exceptions that they throw are dropped.
class ClientReactor {
 public:
  virtual ~ClientReactor() = default;
  /// The call has ended, all its functions have returned, and no hold is left: the last one, called once. The
  /// reactor, the context and the messages may be destroyed here.
  virtual void OnDone(const Status& status) = 0;
};

}  // namespace internal

class ClientUnaryReactor;
template <class R>
class ClientReadReactor;
template <class W>
class ClientWriteReactor;
template <class W, class R>
class ClientBidiReactor;

/// The calls that reactors control, for tests that put their own in place of the library's.
class ClientCallbackUnary {
 public:
  virtual ~ClientCallbackUnary() = default;
  virtual void StartCall() = 0;

 protected:
  void BindReactor(ClientUnaryReactor* reactor);
};

template <class R>
class ClientCallbackReader {
 public:
  virtual ~ClientCallbackReader() = default;
  virtual void StartCall() = 0;
  virtual void Read(R* message) = 0;
  virtual void AddHold(int holds) = 0;
  virtual void RemoveHold() = 0;

 protected:
  void BindReactor(ClientReadReactor<R>* reactor) { reactor->call_ = this; }
};

template <class W>
class ClientCallbackWriter {
 public:
  virtual ~ClientCallbackWriter() = default;
  virtual void StartCall() = 0;
  void Write(const W* message) { Write(message, WriteOptions()); }
  virtual void Write(const W* message, WriteOptions options) = 0;
  void WriteLast(const W* message, WriteOptions options) { Write(message, options.set_last_message()); }
  virtual void WritesDone() = 0;
  virtual void AddHold(int holds) = 0;
  virtual void RemoveHold() = 0;

 protected:
  void BindReactor(ClientWriteReactor<W>* reactor) { reactor->call_ = this; }
};

template <class W, class R>
class ClientCallbackReaderWriter {
 public:
  virtual ~ClientCallbackReaderWriter() = default;
  virtual void StartCall() = 0;
  virtual void Write(const W* message, WriteOptions options) = 0;
  virtual void WritesDone() = 0;
  virtual void Read(R* message) = 0;
  virtual void AddHold(int holds) = 0;
  virtual void RemoveHold() = 0;

 protected:
  void BindReactor(ClientBidiReactor<W, R>* reactor) { reactor->call_ = this; }
};

/// A unary call whose initial metadata matter. The object lasts until OnDone().
class ClientUnaryReactor : public internal::ClientReactor {
 public:
  /// Begins the call.
  void StartCall() { call_->StartCall(); }
  void OnDone(const Status& /*status*/) override {}
  /// The initial metadata have come; false: the call has ended without any.
  virtual void OnReadInitialMetadataDone(bool /*ok*/) {}

 private:
  friend class ClientCallbackUnary;
  ClientCallbackUnary* call_ = nullptr;
};

inline void ClientCallbackUnary::BindReactor(ClientUnaryReactor* reactor) { reactor->call_ = this; }

/// A call with one request and many replies. The object lasts until OnDone().
template <class R>
class ClientReadReactor : public internal::ClientReactor {
 public:
  /// Begins the call. Operations may be started before it, and begin with it.
  void StartCall() { call_->StartCall(); }
  /// Reads the next message, which lasts until OnReadDone(). One at a time.
  void StartRead(R* message) { call_->Read(message); }
  /// Puts off OnDone() until RemoveHold(): for operations that are not started by these functions.
  void AddHold() { AddMultipleHolds(1); }
  void AddMultipleHolds(int holds) { call_->AddHold(holds); }
  void RemoveHold() { call_->RemoveHold(); }

  void OnDone(const Status& /*status*/) override {}
  /// The initial metadata have come; false: the call has ended without any.
  virtual void OnReadInitialMetadataDone(bool /*ok*/) {}
  /// False: there is no message any more.
  virtual void OnReadDone(bool /*ok*/) {}

 private:
  friend class ClientCallbackReader<R>;
  ClientCallbackReader<R>* call_ = nullptr;
};

/// A call with many requests and one reply. The object lasts until OnDone().
template <class W>
class ClientWriteReactor : public internal::ClientReactor {
 public:
  /// Begins the call. Operations may be started before it, and begin with it.
  void StartCall() { call_->StartCall(); }
  /// Writes a message, which is serialized before the function returns. One at a time.
  void StartWrite(const W* message) { StartWrite(message, WriteOptions()); }
  void StartWrite(const W* message, WriteOptions options) { call_->Write(message, options); }
  void StartWriteLast(const W* message, WriteOptions options) {
    StartWrite(message, options.set_last_message());
  }
  /// There is no message any more; after the last OnWriteDone(), and not after StartWriteLast().
  void StartWritesDone() { call_->WritesDone(); }
  /// Puts off OnDone() until RemoveHold(): for operations that are not started by these functions.
  void AddHold() { AddMultipleHolds(1); }
  void AddMultipleHolds(int holds) { call_->AddHold(holds); }
  void RemoveHold() { call_->RemoveHold(); }

  void OnDone(const Status& /*status*/) override {}
  /// The initial metadata have come; false: the call has ended without any.
  virtual void OnReadInitialMetadataDone(bool /*ok*/) {}
  /// The message was given to the connection; false: the call is over.
  virtual void OnWriteDone(bool /*ok*/) {}
  virtual void OnWritesDoneDone(bool /*ok*/) {}

 private:
  friend class ClientCallbackWriter<W>;
  ClientCallbackWriter<W>* call_ = nullptr;
};

/// A call with many requests and many replies. The object lasts until OnDone().
template <class W, class R>
class ClientBidiReactor : public internal::ClientReactor {
 public:
  /// Begins the call. Operations may be started before it, and begin with it.
  void StartCall() { call_->StartCall(); }
  /// Reads the next message, which lasts until OnReadDone(). One at a time.
  void StartRead(R* message) { call_->Read(message); }
  /// Writes a message, which is serialized before the function returns. One at a time.
  void StartWrite(const W* message) { StartWrite(message, WriteOptions()); }
  void StartWrite(const W* message, WriteOptions options) { call_->Write(message, options); }
  void StartWriteLast(const W* message, WriteOptions options) {
    StartWrite(message, options.set_last_message());
  }
  /// There is no message any more; after the last OnWriteDone(), and not after StartWriteLast().
  void StartWritesDone() { call_->WritesDone(); }
  /// Puts off OnDone() until RemoveHold(): for operations that are not started by these functions.
  void AddHold() { AddMultipleHolds(1); }
  void AddMultipleHolds(int holds) { call_->AddHold(holds); }
  void RemoveHold() { call_->RemoveHold(); }

  void OnDone(const Status& /*status*/) override {}
  /// The initial metadata have come; false: the call has ended without any.
  virtual void OnReadInitialMetadataDone(bool /*ok*/) {}
  /// False: there is no message any more.
  virtual void OnReadDone(bool /*ok*/) {}
  /// The message was given to the connection; false: the call is over.
  virtual void OnWriteDone(bool /*ok*/) {}
  virtual void OnWritesDoneDone(bool /*ok*/) {}

 private:
  friend class ClientCallbackReaderWriter<W, R>;
  ClientCallbackReaderWriter<W, R>* call_ = nullptr;
};

namespace internal {

// The library's calls: between a reactor and the core.

// A call destroys itself before OnDone(), which may destroy all that it refers to.
template <class Call>
void destroy_and_tell(Call* call, ClientReactor* reactor, Status outcome) {
  delete call;
  reactor->OnDone(outcome);
}

// What calls of all kinds have. Control: what the reactor calls.
template <class Control, class Reactor>
class callback_call_of : public Control, protected client_callback_call {
 public:
  template <class... Arguments>
  explicit callback_call_of(Reactor* reactor, Arguments&&... of_call)
      : client_callback_call(std::forward<Arguments>(of_call)...), reactor_(reactor) {
    this->BindReactor(reactor);
  }
  void StartCall() override { start_call(); }

 protected:
  Reactor& reactor() noexcept { return *reactor_; }

 private:
  void initial_metadata_done(bool ok) override { reactor_->OnReadInitialMetadataDone(ok); }
  void done(const Status& outcome) override { destroy_and_tell(this, reactor_, outcome); }
  Reactor* reactor_;
};

using callback_unary_call = callback_call_of<ClientCallbackUnary, ClientUnaryReactor>;

// A call with a stream.
template <class Control, class Reactor>
class callback_stream_of : public callback_call_of<Control, Reactor> {
 public:
  using callback_call_of<Control, Reactor>::callback_call_of;
  void AddHold(int holds) override { this->add_holds(holds); }
  void RemoveHold() override { this->remove_hold(); }
};

// A call with a stream of replies. Call: callback_stream_of, or the following one.
template <class Call, class R>
class with_reads : public Call {
 public:
  using Call::Call;
  void Read(R* message) override { this->start_read(message_target::of<R>(message)); }

 private:
  void read_done(bool ok) override { this->reactor().OnReadDone(ok); }
};

// A call with a stream of requests.
template <class Call, class W>
class with_writes : public Call {
 public:
  using Call::Call;
  void Write(const W* message, WriteOptions options) override {
    this->start_write(serialized_message::of_lasting<W>(*message), options);
  }
  void WritesDone() override { this->start_writes_done(); }

 private:
  void write_done(bool ok) override { this->reactor().OnWriteDone(ok); }
  void writes_done_done(bool ok) override { this->reactor().OnWritesDoneDone(ok); }
};

template <class R>
using callback_reader = with_reads<callback_stream_of<ClientCallbackReader<R>, ClientReadReactor<R>>, R>;
template <class W>
using callback_writer = with_writes<callback_stream_of<ClientCallbackWriter<W>, ClientWriteReactor<W>>, W>;
template <class W, class R>
using callback_reader_writer =
    with_reads<with_writes<callback_stream_of<ClientCallbackReaderWriter<W, R>, ClientBidiReactor<W, R>>, W>, R>;

/// What the methods of generated stubs call.
template <class Request, class Reply, class BaseRequest = Request, class BaseReply = Reply>
void CallbackUnaryCall(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                       const Request* request, Reply* reply, std::function<void(Status)> done) {
  start_callback_unary(channel, method, context, serialized_message::of_lasting<BaseRequest>(*request),
                 message_target::of<BaseReply>(reply), std::move(done));
}

class ClientCallbackUnaryFactory {
 public:
  template <class Request, class Reply, class BaseRequest = Request, class BaseReply = Reply>
  static void Create(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                     const Request* request, Reply* reply, ClientUnaryReactor* reactor) {
    new callback_unary_call(reactor, channel, method, context,
                            serialized_message::of_lasting<BaseRequest>(*request),
                            message_target::of<BaseReply>(reply));
  }
};
template <class R>
class ClientCallbackReaderFactory {
 public:
  template <class Request>
  static void Create(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                     const Request* request, ClientReadReactor<R>* reactor) {
    new callback_reader<R>(reactor, channel, method, context,
                           serialized_message::of_lasting<Request>(*request), message_target());
  }
};
template <class W>
class ClientCallbackWriterFactory {
 public:
  template <class Reply>
  static void Create(ChannelInterface* channel, const RpcMethod& method, ClientContext* context, Reply* reply,
                     ClientWriteReactor<W>* reactor) {
    new callback_writer<W>(reactor, channel, method, context, message_target::of<Reply>(reply));
  }
};
template <class W, class R>
class ClientCallbackReaderWriterFactory {
 public:
  static void Create(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                     ClientBidiReactor<W, R>* reactor) {
    new callback_reader_writer<W, R>(reactor, channel, method, context, message_target());
  }
};

}  // namespace internal
namespace experimental {

// Older programs name these here.
using grpc::ClientBidiReactor;
using grpc::ClientCallbackReader;
using grpc::ClientCallbackReaderWriter;
using grpc::ClientCallbackUnary;
using grpc::ClientCallbackWriter;
using grpc::ClientReadReactor;
using grpc::ClientUnaryReactor;
using grpc::ClientWriteReactor;

}  // namespace experimental
}  // namespace grpc
