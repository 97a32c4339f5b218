// register_coroutine_rpc_handler: handlers that are coroutines of any type.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/registration.hpp"
#include "agrpc/server_rpc.hpp"

#include <exception>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

template <class CoroTraits>
struct start_coroutine {
  template <class Registration, class Executor, class Completion, class Rpc, class Handler>
  static void start(Registration registration, const Executor& executor, Completion& completion,
                    running_rpc<Rpc, Handler> rpc) {
    CoroTraits::co_spawn(
        executor, registration->handler(), completion,
        [registration, rpc = std::move(rpc)](auto&&... first) mutable {
          return body<Registration, Rpc, Handler>::template run<std::decay_t<decltype(first)>...>(
              std::forward<decltype(first)>(first)..., registration, std::move(rpc));
        });
  }

 private:
  // The RPC ends with the coroutine. What the traits pass on comes first: promises look for their executor there.
  template <class Registration, class Rpc, class Handler>
  struct body {
    template <class... First>
    static typename CoroTraits::ReturnType run(First..., Registration registration,
                                               running_rpc<Rpc, Handler> of) {
      std::exception_ptr error;
      try {
        const running_rpc<Rpc, Handler> rpc(std::move(of));
        auto work = rpc->invoke(registration->handler(), rpc->rpc());
        co_await std::move(work);
      } catch (...) {
        error = std::current_exception();
      }
      registration->handler_done(error);
    }
  };
};

}  // namespace internal

/// As register_awaitable_rpc_handler(), with a handler that returns a coroutine of another type. `CoroTraits` has
///   - `ReturnType`, the type of the coroutine in which the handler is awaited;
///   - `co_spawn(executor, handler, completion_handler, function)`, which starts the coroutine that `function(args...)`
///     returns; `args` are for the coroutine's promise.
template <class Rpc, class CoroTraits, class Service, class Handler,
          class Token = internal::default_token_of<typename Rpc::executor_type>>
auto register_coroutine_rpc_handler(const internal::registration_executor<Rpc>& on, Service& service,
                                    Handler&& handler, Token&& token = Token()) {
  return internal::register_handler<internal::start_coroutine<CoroTraits>>(
      on, service, std::forward<Handler>(handler), std::forward<Token>(token));
}

}  // namespace agrpc::inline CORACLE_ASIO
