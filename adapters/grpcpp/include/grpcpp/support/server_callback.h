// The server's side of the callback API: reactors.
#pragma once

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

/// An argument of servers, for ServerBuilder::AddChannelArgument(): 1 gives each callback a thread. Without it
/// the thread that drives a loop runs the callbacks of its calls, which is fastest, unless one of them blocks.
#define CORACLE_ARG_CALLBACK_THREADS "coracle.callback_threads"

namespace grpc {

namespace internal {

/// What all reactors of servers have. Its functions are called on a loop of the server, or on a thread that is
/// named "grpcpp-callback". The library finds out which methods block: their callbacks run on threads, where
/// they delay no others. Those of one call may run at the same time then, as far as several of its operations
/// are pending; OnDone() runs alone. Exceptions that they throw are dropped.
class ServerReactor {
 public:
  virtual ~ServerReactor() = default;
  /// The call was finished and has ended, and all other functions have returned: the last one, called once.
  /// The reactor may be destroyed here.
  virtual void OnDone() = 0;
  /// The call has ended before it was finished: by the client, its deadline or TryCancel(). The program still
  /// calls Finish().
  virtual void OnCancel() = 0;
};

// The call of a reactor, and the operations that were started before the reactor had one: those of its
// constructor.
template <class Call>
class reactor_call {
 public:
  template <class Operation>
  void run(Operation&& operation) {
    Call* call = call_.load(std::memory_order_acquire);
    if (!call) {
      const std::lock_guard lock(binding_);
      call = call_.load(std::memory_order_relaxed);
      if (!call) return static_cast<void>(early_.emplace_back(std::forward<Operation>(operation)));
    }
    operation(*call);  // without the lock: the reactor may be destroyed meanwhile
  }
  void bind(Call& call) {
    const std::lock_guard lock(binding_);
    for (const auto& operation : early_) operation(call);
    early_.clear();
    call_.store(&call, std::memory_order_release);
  }

 private:
  std::atomic<Call*> call_{nullptr};
  std::mutex binding_;
  std::vector<std::function<void(Call&)>> early_;
};

}  // namespace internal

class ServerUnaryReactor;
template <class Request>
class ServerReadReactor;
template <class Reply>
class ServerWriteReactor;
template <class Request, class Reply>
class ServerBidiReactor;

/// The calls that reactors control.
class ServerCallbackUnary {
 public:
  virtual ~ServerCallbackUnary() = default;
  virtual void Finish(Status s) = 0;
  virtual void SendInitialMetadata() = 0;

 protected:
  inline void BindReactor(ServerUnaryReactor* reactor);
};

template <class Request>
class ServerCallbackReader {
 public:
  virtual ~ServerCallbackReader() = default;
  virtual void Finish(Status s) = 0;
  virtual void SendInitialMetadata() = 0;
  virtual void Read(Request* message) = 0;

 protected:
  void BindReactor(ServerReadReactor<Request>* reactor) { reactor->call_.bind(*this); }
};

template <class Reply>
class ServerCallbackWriter {
 public:
  virtual ~ServerCallbackWriter() = default;
  virtual void Finish(Status s) = 0;
  virtual void SendInitialMetadata() = 0;
  virtual void Write(const Reply* message, WriteOptions options) = 0;
  virtual void WriteAndFinish(const Reply* message, WriteOptions options, Status s) = 0;

 protected:
  void BindReactor(ServerWriteReactor<Reply>* reactor) { reactor->call_.bind(*this); }
};

template <class Request, class Reply>
class ServerCallbackReaderWriter {
 public:
  virtual ~ServerCallbackReaderWriter() = default;
  virtual void Finish(Status s) = 0;
  virtual void SendInitialMetadata() = 0;
  virtual void Read(Request* message) = 0;
  virtual void Write(const Reply* message, WriteOptions options) = 0;
  virtual void WriteAndFinish(const Reply* message, WriteOptions options, Status s) = 0;

 protected:
  void BindReactor(ServerBidiReactor<Request, Reply>* reactor) { reactor->call_.bind(*this); }
};

/// A call with one request and one reply. The functions that start something may be called by any thread, and
/// by the constructor of the reactor.
class ServerUnaryReactor : public internal::ServerReactor {
 public:
  /// Sends the initial metadata of the context before the reply; at most once.
  void StartSendInitialMetadata() {
    call_.run([](ServerCallbackUnary& call) { call.SendInitialMetadata(); });
  }
  /// Ends the call, with the reply if the status is OK; once. The reply is serialized before it returns.
  void Finish(Status s) {
    call_.run([s = std::move(s)](ServerCallbackUnary& call) { call.Finish(s); });
  }

  virtual void OnSendInitialMetadataDone(bool /*ok*/) {}
  void OnDone() override = 0;
  void OnCancel() override {}

 private:
  friend class ServerCallbackUnary;
  internal::reactor_call<ServerCallbackUnary> call_;
};

inline void ServerCallbackUnary::BindReactor(ServerUnaryReactor* reactor) { reactor->call_.bind(*this); }

/// A call with many requests and one reply. The functions that start something may be called by any thread, and
/// by the constructor of the reactor.
template <class Request>
class ServerReadReactor : public internal::ServerReactor {
 public:
  /// Sends the initial metadata of the context before the reply; at most once.
  void StartSendInitialMetadata() {
    call_.run([](ServerCallbackReader<Request>& call) { call.SendInitialMetadata(); });
  }
  /// Reads the next message, which lasts until OnReadDone(). One at a time.
  void StartRead(Request* message) {
    call_.run([message](ServerCallbackReader<Request>& call) { call.Read(message); });
  }
  /// Ends the call, with the reply if the status is OK; once. The reply is serialized before it returns. A
  /// read that waits then ends.
  void Finish(Status s) {
    call_.run([s = std::move(s)](ServerCallbackReader<Request>& call) { call.Finish(s); });
  }

  virtual void OnSendInitialMetadataDone(bool /*ok*/) {}
  /// False: there is no message any more.
  virtual void OnReadDone(bool /*ok*/) {}
  void OnDone() override = 0;
  void OnCancel() override {}

 private:
  friend class ServerCallbackReader<Request>;
  internal::reactor_call<ServerCallbackReader<Request>> call_;
};

/// A call with one request and many replies. The functions that start something may be called by any thread, and
/// by the constructor of the reactor.
template <class Reply>
class ServerWriteReactor : public internal::ServerReactor {
 public:
  /// Sends the initial metadata of the context before the first message; at most once.
  void StartSendInitialMetadata() {
    call_.run([](ServerCallbackWriter<Reply>& call) { call.SendInitialMetadata(); });
  }
  /// Writes a message, which lasts until OnWriteDone(). One at a time.
  void StartWrite(const Reply* message) { StartWrite(message, WriteOptions()); }
  void StartWrite(const Reply* message, WriteOptions options) {
    call_.run([message, options](ServerCallbackWriter<Reply>& call) { call.Write(message, options); });
  }
  /// The same; Finish() still follows.
  void StartWriteLast(const Reply* message, WriteOptions options) {
    StartWrite(message, options.set_last_message());
  }
  /// Writes a message and ends the call; in place of Finish(), and without OnWriteDone().
  void StartWriteAndFinish(const Reply* message, WriteOptions options, Status s) {
    call_.run([message, options, s = std::move(s)](ServerCallbackWriter<Reply>& call) {
      call.WriteAndFinish(message, options, s);
    });
  }
  /// Ends the call after the messages that were written; once.
  void Finish(Status s) {
    call_.run([s = std::move(s)](ServerCallbackWriter<Reply>& call) { call.Finish(s); });
  }

  virtual void OnSendInitialMetadataDone(bool /*ok*/) {}
  /// The message was given to the connection; false: the call is over.
  virtual void OnWriteDone(bool /*ok*/) {}
  void OnDone() override = 0;
  void OnCancel() override {}

 private:
  friend class ServerCallbackWriter<Reply>;
  internal::reactor_call<ServerCallbackWriter<Reply>> call_;
};

/// A call with many requests and many replies. The functions that start something may be called by any thread,
/// and by the constructor of the reactor.
template <class Request, class Reply>
class ServerBidiReactor : public internal::ServerReactor {
 public:
  /// Sends the initial metadata of the context before the first message; at most once.
  void StartSendInitialMetadata() {
    call_.run([](call_type& call) { call.SendInitialMetadata(); });
  }
  /// Reads the next message, which lasts until OnReadDone(). One at a time.
  void StartRead(Request* message) {
    call_.run([message](call_type& call) { call.Read(message); });
  }
  /// Writes a message, which lasts until OnWriteDone(). One at a time.
  void StartWrite(const Reply* message) { StartWrite(message, WriteOptions()); }
  void StartWrite(const Reply* message, WriteOptions options) {
    call_.run([message, options](call_type& call) { call.Write(message, options); });
  }
  /// The same; Finish() still follows.
  void StartWriteLast(const Reply* message, WriteOptions options) {
    StartWrite(message, options.set_last_message());
  }
  /// Writes a message and ends the call; in place of Finish(), and without OnWriteDone().
  void StartWriteAndFinish(const Reply* message, WriteOptions options, Status s) {
    call_.run([message, options, s = std::move(s)](call_type& call) {
      call.WriteAndFinish(message, options, s);
    });
  }
  /// Ends the call after the messages that were written; once. A read that waits then ends.
  void Finish(Status s) {
    call_.run([s = std::move(s)](call_type& call) { call.Finish(s); });
  }

  virtual void OnSendInitialMetadataDone(bool /*ok*/) {}
  /// False: there is no message any more.
  virtual void OnReadDone(bool /*ok*/) {}
  /// The message was given to the connection; false: the call is over.
  virtual void OnWriteDone(bool /*ok*/) {}
  void OnDone() override = 0;
  void OnCancel() override {}

 private:
  using call_type = ServerCallbackReaderWriter<Request, Reply>;
  friend class ServerCallbackReaderWriter<Request, Reply>;
  internal::reactor_call<call_type> call_;
};

namespace experimental {

// Older programs name these here.
using grpc::ServerBidiReactor;
using grpc::ServerCallbackReader;
using grpc::ServerCallbackReaderWriter;
using grpc::ServerCallbackUnary;
using grpc::ServerCallbackWriter;
using grpc::ServerReadReactor;
using grpc::ServerUnaryReactor;
using grpc::ServerWriteReactor;

}  // namespace experimental
}  // namespace grpc
