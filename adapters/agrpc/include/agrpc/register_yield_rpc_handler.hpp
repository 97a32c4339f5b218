// register_yield_rpc_handler: handlers that are stackful coroutines.
//
// Needs Boost.Context or Boost.Coroutine: with Asio before 1.24 (Boost 1.80) both of them.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/registration.hpp"
#include "agrpc/server_rpc.hpp"

#if defined(CORACLE_STANDALONE_ASIO)
#include <asio/spawn.hpp>
#else
#include <boost/asio/spawn.hpp>
#endif

#include <exception>
#include <memory>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

struct start_yield {
  template <class Registration, class Executor, class Completion, class Rpc, class Handler>
  static void start(Registration registration, const Executor& executor, Completion&,
                    running_rpc<Rpc, Handler> rpc) {
    // Copied by spawn() of older versions.
    auto kept = std::make_shared<running_rpc<Rpc, Handler>>(std::move(rpc));
    auto run = [registration, kept](const asio::yield_context& yield) mutable {
      const running_rpc<Rpc, Handler> own(std::move(*kept));
      own->invoke(registration->handler(), own->rpc(), yield);
    };
    const asio::any_io_executor on(executor);
#if CORACLE_ASIO_VERSION < 102400
    asio::spawn(on, [registration, run](asio::yield_context yield) mutable {
      std::exception_ptr error;
      try {
        run(yield);
      } catch (const boost::coroutines::detail::forced_unwind&) {
        throw;  // the executor's context is being destroyed
      } catch (...) {
        error = std::current_exception();
      }
      registration->handler_done(error);
    });
#else
    asio::spawn(on, std::move(run),
                [registration](const std::exception_ptr& error) { registration->handler_done(error); });
#endif
  }
};

}  // namespace internal

/// As register_awaitable_rpc_handler(), with a handler that takes a yield_context as last argument and returns nothing.
template <class Rpc, class Service, class Handler,
          class Token = internal::default_token_of<typename Rpc::executor_type>>
auto register_yield_rpc_handler(const internal::registration_executor<Rpc>& on, Service& service,
                                Handler&& handler, Token&& token = Token()) {
  return internal::register_handler<internal::start_yield>(on, service, std::forward<Handler>(handler),
                                                           std::forward<Token>(token));
}

}  // namespace agrpc::inline CORACLE_ASIO
