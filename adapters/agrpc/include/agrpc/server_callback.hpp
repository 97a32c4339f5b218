// server_callback: RPCs of a server by the callback API of grpc++, whose events are waited for.
//
// They need no GrpcContext: grpc++ calls back on threads of its own, and waits complete on any executor.
#pragma once

#include "agrpc/impl/library.hpp"
#include "agrpc/impl/reactor.hpp"
#include "agrpc/reactor_ptr.hpp"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

// What reactors of servers share. Native: the class of grpc++.
template <class Native, class Executor>
class server_reactor : protected Native, public reactor<Executor> {
 protected:
  using token_type = typename reactor<Executor>::token_type;

 public:
  /// What the method returns. The caller uses nothing of it.
  [[nodiscard]] Native* get() noexcept { return this; }
  /// Sends the initial metadata of the context before the first response.
  void initiate_send_initial_metadata() { this->StartSendInitialMetadata(); }
  template <class Token = token_type>
  auto wait_for_send_initial_metadata(Token&& token = Token()) {
    return this->wait(initial_metadata_, std::forward<Token>(token));
  }
  /// Ends the RPC; once. The response of a method with one is sent if the status is OK.
  void initiate_finish(grpc::Status status) {
    finished_ = true;
    this->Finish(std::move(status));
  }
  /// Waits for the end of the RPC. Signature: `void(error_code, bool)`, with false if the client was gone before; this is
  /// told before initiate_finish(), which still follows.
  template <class Token = token_type>
  auto wait_for_finish(Token&& token = Token()) {
    return this->wait(finish_, std::forward<Token>(token));
  }

 protected:
  // grpc++ keeps the reactor until OnDone(): the program's part may end before get() is called.
  server_reactor() noexcept { this->hold(); }
  // initiate_write_and_finish()
  void finished_by_write() noexcept { finished_ = true; }

 private:
  friend class reactor_access;
  void finish_once(grpc::Status status) {
    if (!finished_.exchange(true)) this->Finish(std::move(status));
  }
  void users_gone() final { finish_once(grpc::Status(grpc::StatusCode::CANCELLED, "the handler has ended")); }
  void OnSendInitialMetadataDone(bool ok) final { initial_metadata_.set(ok); }
  void OnCancel() final {
    cancelled_ = true;
    finish_.set(false);
  }
  void OnDone() final {
    finish_.set(!cancelled_);
    this->release();
  }
  std::atomic<bool> finished_ = false;
  std::atomic<bool> cancelled_ = false;
  manual_event<bool> initial_metadata_;
  manual_event<bool> finish_;
};

// The writes of a server, the last of which may end the RPC.
template <class Reactor, class Message>
class with_server_writes : public with_writes<Reactor, Message> {
 public:
  /// Writes the last response and ends the RPC, which wait_for_finish() waits for.
  void initiate_write_and_finish(const Message& response, grpc::Status status,
                                 grpc::WriteOptions options = {}) {
    this->finished_by_write();
    this->StartWriteAndFinish(&response, options, std::move(status));
  }
};

template <class Request, class Executor>
using server_read_reactor = with_reads<server_reactor<grpc::ServerReadReactor<Request>, Executor>, Request>;
template <class Response, class Executor>
using server_write_reactor =
    with_server_writes<server_reactor<grpc::ServerWriteReactor<Response>, Executor>, Response>;
template <class Request, class Response, class Executor>
using server_bidi_reactor = with_server_writes<
    with_reads<server_reactor<grpc::ServerBidiReactor<Request, Response>, Executor>, Request>, Response>;

}  // namespace internal

/// A unary RPC. Where the response is there when the method returns, grpc::CallbackServerContext::DefaultReactor() does.
///
/// This class and those below are made by make_reactor() in a method of a callback service, which returns `get()`. The names
/// that end in `Base` are for classes that derive from them, which have a default constructor here.
///
/// What is started by an `initiate_` function is waited for by the `wait_for_` function of the same name. One read and one
/// write may be in progress; messages outlive the operations. Signatures: `void(error_code, bool)`, with false if the RPC
/// has ended. An error is operation_aborted: a cancellation, of any type, ends a wait, and neither the operation nor
/// the RPC, for which there is `TryCancel()` of the context. Waits complete on the executor of the handler, or that of the
/// reactor.
///
/// When the last pointer to the reactor has gone before the RPC was finished, it is finished with CANCELLED. The reactor exists
/// until grpc++ has done with it, so the method must return it.
template <class Executor>
class BasicServerUnaryReactor : public internal::server_reactor<grpc::ServerUnaryReactor, Executor> {
 public:
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicServerUnaryReactor<OtherExecutor>;
  };

 protected:
  BasicServerUnaryReactor() = default;
};

/// An RPC with one response and a stream of requests.
template <class Request, class Executor>
class BasicServerReadReactor : public internal::server_read_reactor<Request, Executor> {
 public:
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicServerReadReactor<Request, OtherExecutor>;
  };

 protected:
  BasicServerReadReactor() = default;
};

/// An RPC with one request and a stream of responses.
template <class Response, class Executor>
class BasicServerWriteReactor : public internal::server_write_reactor<Response, Executor> {
 public:
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicServerWriteReactor<Response, OtherExecutor>;
  };

 protected:
  BasicServerWriteReactor() = default;
};

/// An RPC with a stream of requests and a stream of responses.
template <class Request, class Response, class Executor>
class BasicServerBidiReactor : public internal::server_bidi_reactor<Request, Response, Executor> {
 public:
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicServerBidiReactor<Request, Response, OtherExecutor>;
  };

 protected:
  BasicServerBidiReactor() = default;
};

using ServerUnaryReactor = BasicServerUnaryReactor<asio::any_io_executor>;
template <class Request>
using ServerReadReactor = BasicServerReadReactor<Request, asio::any_io_executor>;
template <class Response>
using ServerWriteReactor = BasicServerWriteReactor<Response, asio::any_io_executor>;
template <class Request, class Response>
using ServerBidiReactor = BasicServerBidiReactor<Request, Response, asio::any_io_executor>;

template <class Executor>
using BasicServerUnaryReactorBase = BasicServerUnaryReactor<Executor>;
template <class Request, class Executor>
using BasicServerReadReactorBase = BasicServerReadReactor<Request, Executor>;
template <class Response, class Executor>
using BasicServerWriteReactorBase = BasicServerWriteReactor<Response, Executor>;
template <class Request, class Response, class Executor>
using BasicServerBidiReactorBase = BasicServerBidiReactor<Request, Response, Executor>;

using ServerUnaryReactorBase = ServerUnaryReactor;
template <class Request>
using ServerReadReactorBase = ServerReadReactor<Request>;
template <class Response>
using ServerWriteReactorBase = ServerWriteReactor<Response>;
template <class Request, class Response>
using ServerBidiReactorBase = ServerBidiReactor<Request, Response>;

}  // namespace agrpc::inline CORACLE_ASIO
