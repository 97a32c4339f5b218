// register_awaitable_rpc_handler: handlers that are coroutines of Asio.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/registration.hpp"
#include "agrpc/server_rpc.hpp"

#include <exception>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

struct start_awaitable {
  template <class Registration, class Executor, class Completion, class Rpc, class Handler>
  static void start(Registration registration, const Executor& executor, Completion&,
                    running_rpc<Rpc, Handler> rpc) {
    using returned = decltype(rpc->invoke(registration->handler(), rpc->rpc()));
    auto work = [&handler = registration->handler(), &of = *rpc] { return of.invoke(handler, of.rpc()); };
    asio::co_spawn(typename executor_of<returned>::type(executor), std::move(work),
                   ended<Registration, Rpc, Handler>{std::move(registration), std::move(rpc)});
  }

 private:
  template <class T>
  struct executor_of;
  template <class T, class Executor>
  struct executor_of<asio::awaitable<T, Executor>> {
    using type = Executor;
  };
  // The RPC ends with the coroutine of the handler.
  template <class Registration, class Rpc, class Handler>
  struct ended {
    void operator()(const std::exception_ptr& error) {
      {
        const running_rpc<Rpc, Handler> now(std::move(rpc));
      }
      registration->handler_done(error);
    }
    Registration registration;
    running_rpc<Rpc, Handler> rpc;
  };
};

}  // namespace internal

/// Calls `handler` for each RPC of a method, several at a time, until the server is shut down:
///
///   using RPC = agrpc::ServerRPC<&example::AsyncService::RequestUnary>;
///   agrpc::register_awaitable_rpc_handler<RPC>(
///       grpc_context, service,
///       [](RPC& rpc, RPC::Request& request) -> asio::awaitable<void> {
///         RPC::Response response;
///         co_await rpc.finish(response, grpc::Status::OK);
///       },
///       asio::detached);
///
/// The first argument is the context, which has the completion queue of the server, or an executor of it.
///
/// The handler takes the RPC, and the request where there is a single one, and returns an asio::awaitable<void>. It
/// runs on the executor that is associated with the completion handler, by default that of the first argument. An RPC
/// that it has not finished is cancelled when it returns. A handler with a function `request_message_factory()` makes
/// the requests: see the guide.
///
/// The signature is `void(std::exception_ptr)`. It completes when the server was shut down and all handlers have
/// ended, or with the first exception of a handler, after which no RPC is handled any more. Cancellation, of all types:
/// the RPC that was asked for is handled, and no other one; then it completes. RPCs are in memory of the allocator that is
/// associated with the completion handler. The service must outlive the registration.
template <class Rpc, class Service, class Handler,
          class Token = internal::default_token_of<typename Rpc::executor_type>>
auto register_awaitable_rpc_handler(const internal::registration_executor<Rpc>& on, Service& service,
                                    Handler&& handler, Token&& token = Token()) {
  return internal::register_handler<internal::start_awaitable>(on, service, std::forward<Handler>(handler),
                                                               std::forward<Token>(token));
}

}  // namespace agrpc::inline CORACLE_ASIO
