// client_callback: RPCs of a client by the callback API of grpc++, whose events are waited for.
//
// They need no GrpcContext: grpc++ calls back on threads of its own, and waits complete on any executor.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/reactor.hpp"
#include "agrpc/impl/unary_callback.hpp"
#include "agrpc/reactor_ptr.hpp"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/stub_options.h>

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

// What reactors of clients share. Native: the class of grpc++.
template <class Native, class Executor>
class client_reactor : protected Native, public reactor<Executor> {
 protected:
  using token_type = typename reactor<Executor>::token_type;

 public:
  /// The context, for metadata and the deadline, before start().
  [[nodiscard]] grpc::ClientContext& context() noexcept { return context_; }
  [[nodiscard]] const grpc::ClientContext& context() const noexcept { return context_; }
  /// Waits for the server's initial metadata. Signature: `void(error_code, bool)`, with false if the RPC has ended.
  template <class Token = token_type>
  auto wait_for_initial_metadata(Token&& token = Token()) {
    return this->wait(initial_metadata_, std::forward<Token>(token));
  }
  /// Waits for the status. Signature: `void(error_code, grpc::Status)`. No operation may be initiated after this call,
  /// unless another one is in progress.
  template <class Token = token_type>
  auto wait_for_finish(Token&& token = Token()) {
    end_hold();
    return this->wait(finish_, std::forward<Token>(token));
  }

 protected:
  // Starts the RPC that a stub has prepared.
  void begin() {
    this->hold();
    if constexpr (is_stream) {
      held_ = true;
      this->AddHold();
    }
    this->StartCall();
  }

 private:
  // A stream has a hold, so that operations may be started at any time, until the user waits for the end or has no pointer
  // any more.
  static constexpr bool is_stream = !std::is_same_v<Native, grpc::ClientUnaryReactor>;
  void end_hold() {
    if constexpr (is_stream)
      if (held_.exchange(false)) this->RemoveHold();
  }
  void users_gone() final { end_hold(); }
  void OnReadInitialMetadataDone(bool ok) final { initial_metadata_.set(ok); }
  void OnDone(const grpc::Status& status) final {
    finish_.set(status);
    this->release();
  }
  grpc::ClientContext context_;
  std::atomic<bool> held_ = false;
  manual_event<bool> initial_metadata_;
  manual_event<grpc::Status> finish_;
};

// The writes of a client, and their end.
template <class Reactor, class Message>
class with_client_writes : public with_writes<Reactor, Message> {
 public:
  void initiate_writes_done() { this->StartWritesDone(); }
  template <class Token = typename Reactor::token_type>
  auto wait_for_writes_done(Token&& token = Token()) {
    return this->wait(writes_done_, std::forward<Token>(token));
  }

 private:
  void OnWritesDoneDone(bool ok) final { writes_done_.set(ok); }
  manual_event<bool> writes_done_;
};

template <class Request, class Executor>
using client_write_reactor =
    with_client_writes<client_reactor<grpc::ClientWriteReactor<Request>, Executor>, Request>;
template <class Response, class Executor>
using client_read_reactor = with_reads<client_reactor<grpc::ClientReadReactor<Response>, Executor>, Response>;
template <class Request, class Response, class Executor>
using client_bidi_reactor = with_client_writes<
    with_reads<client_reactor<grpc::ClientBidiReactor<Request, Response>, Executor>, Response>, Request>;

}  // namespace internal

/// A unary RPC whose initial metadata are waited for. Other ones need no reactor: unary_call().
///
/// This class and those below are made by make_reactor(). The names that end in `Base` are for classes that derive from
/// them, which have a default constructor here. `start()` is called once; `function` is `&Stub::async::X`.
///
/// What is started by an `initiate_` function is waited for by the `wait_for_` function of the same name. One read and one
/// write may be in progress; messages outlive the operations. Signatures: `void(error_code, bool)`, with false if the RPC
/// has ended. An error is operation_aborted: a cancellation, of any type, ends a wait, and neither the operation nor
/// the RPC, for which there is `context().TryCancel()`. One wait at a time is usual, and several are allowed. Waits complete
/// on the executor of the handler, or that of the reactor.
///
/// The RPC continues when the last pointer to the reactor has gone; cancel it before if nothing reads its messages. Messages
/// must be kept until wait_for_finish() has completed.
template <class Executor>
class BasicClientUnaryReactor : public internal::client_reactor<grpc::ClientUnaryReactor, Executor> {
 public:
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicClientUnaryReactor<OtherExecutor>;
  };

  template <class StubAsync, class Stub, class Request, class Response>
  void start(void (StubAsync::*function)(grpc::ClientContext*, const Request*, Response*,
                                         grpc::ClientUnaryReactor*),
             Stub* stub, const std::type_identity_t<Request>& message,
             std::type_identity_t<Response>& response) {
    (stub->*function)(&this->context(), &message, &response, this);
    this->begin();
  }
  /// A generic RPC: `method` is the path, "/package.Service/Method".
  template <class GenericStub, class Request, class Response>
  void start(GenericStub& stub, const std::string& method, const Request& message, Response& response,
             grpc::StubOptions options = {}) {
    stub.PrepareUnaryCall(&this->context(), method, options, &message, &response, this);
    this->begin();
  }

 protected:
  BasicClientUnaryReactor() = default;
};

/// An RPC with one response and a stream of requests.
template <class Request, class Executor>
class BasicClientWriteReactor : public internal::client_write_reactor<Request, Executor> {
 public:
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicClientWriteReactor<Request, OtherExecutor>;
  };

  /// `response` is filled when wait_for_finish() completes with OK.
  template <class StubAsync, class Stub, class Response>
  void start(void (StubAsync::*function)(grpc::ClientContext*, Response*, grpc::ClientWriteReactor<Request>*),
             Stub* stub, std::type_identity_t<Response>& response) {
    (stub->*function)(&this->context(), &response, this);
    this->begin();
  }

 protected:
  BasicClientWriteReactor() = default;
};

/// An RPC with one request and a stream of responses.
template <class Response, class Executor>
class BasicClientReadReactor : public internal::client_read_reactor<Response, Executor> {
 public:
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicClientReadReactor<Response, OtherExecutor>;
  };

  template <class StubAsync, class Stub, class Request>
  void start(void (StubAsync::*function)(grpc::ClientContext*, const Request*,
                                         grpc::ClientReadReactor<Response>*),
             Stub* stub, const std::type_identity_t<Request>& message) {
    (stub->*function)(&this->context(), &message, this);
    this->begin();
  }

 protected:
  BasicClientReadReactor() = default;
};

/// An RPC with a stream of requests and a stream of responses.
template <class Request, class Response, class Executor>
class BasicClientBidiReactor : public internal::client_bidi_reactor<Request, Response, Executor> {
 public:
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicClientBidiReactor<Request, Response, OtherExecutor>;
  };

  template <class StubAsync, class Stub>
  void start(void (StubAsync::*function)(grpc::ClientContext*, grpc::ClientBidiReactor<Request, Response>*),
             Stub* stub) {
    (stub->*function)(&this->context(), this);
    this->begin();
  }
  /// A generic RPC: `method` is the path, "/package.Service/Method".
  template <class GenericStub>
  void start(GenericStub& stub, const std::string& method, grpc::StubOptions options = {}) {
    stub.PrepareBidiStreamingCall(&this->context(), method, options, this);
    this->begin();
  }

 protected:
  BasicClientBidiReactor() = default;
};

using ClientUnaryReactor = BasicClientUnaryReactor<asio::any_io_executor>;
template <class Request>
using ClientWriteReactor = BasicClientWriteReactor<Request, asio::any_io_executor>;
template <class Response>
using ClientReadReactor = BasicClientReadReactor<Response, asio::any_io_executor>;
template <class Request, class Response>
using ClientBidiReactor = BasicClientBidiReactor<Request, Response, asio::any_io_executor>;

template <class Executor>
using BasicClientUnaryReactorBase = BasicClientUnaryReactor<Executor>;
template <class Request, class Executor>
using BasicClientWriteReactorBase = BasicClientWriteReactor<Request, Executor>;
template <class Response, class Executor>
using BasicClientReadReactorBase = BasicClientReadReactor<Response, Executor>;
template <class Request, class Response, class Executor>
using BasicClientBidiReactorBase = BasicClientBidiReactor<Request, Response, Executor>;

using ClientUnaryReactorBase = ClientUnaryReactor;
template <class Request>
using ClientWriteReactorBase = ClientWriteReactor<Request>;
template <class Response>
using ClientReadReactorBase = ClientReadReactor<Response>;
template <class Request, class Response>
using ClientBidiReactorBase = ClientBidiReactor<Request, Response>;

/// A whole unary call: `agrpc::unary_call(&Stub::async::X, stub.async(), client_context, request, response, token)`.
/// Signature: `void(grpc::Status)`. What it takes by reference must outlive the call. A handler without an executor is
/// called on a thread of grpc++. Cancellation, `terminal` or `partial`, cancels the call.
template <class StubAsync, class Stub, class Request, class Response, class Token = DefaultCompletionToken>
auto unary_call(void (StubAsync::*function)(grpc::ClientContext*, const Request*, Response*,
                                            std::function<void(grpc::Status)>),
                Stub* stub, grpc::ClientContext& client_context, const std::type_identity_t<Request>& message,
                std::type_identity_t<Response>& response, Token&& token = Token()) {
  internal::unary_callback<StubAsync, Request, Response> call{function, stub, &client_context, &message,
                                                              &response};
  if constexpr (internal::sender_token<Token>) {
    return std::remove_cvref_t<Token>::call(call);
  } else {
    return asio::async_initiate<Token, void(grpc::Status)>(internal::start_unary_callback(), token, call);
  }
}

}  // namespace agrpc::inline CORACLE_ASIO
