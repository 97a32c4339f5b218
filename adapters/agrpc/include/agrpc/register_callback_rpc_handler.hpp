// register_callback_rpc_handler: handlers that are functions, which keep their RPC.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/registration.hpp"
#include "agrpc/server_rpc.hpp"
#include "agrpc/server_rpc_ptr.hpp"

#include <exception>
#include <memory>
#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

struct start_callback {
  template <class Registration, class Executor, class Completion, class Rpc, class Handler>
  static void start(Registration registration, const Executor& executor, Completion&,
                    running_rpc<Rpc, Handler> rpc) {
    auto call = [registration, rpc = std::move(rpc)]() mutable {
      auto& of = *rpc;
      auto* const kept = new kept_rpc<Registration, Rpc, Handler>{registration, std::move(rpc)};
      ServerRPCPtr<Rpc> ptr(of.rpc(), of.request(),
                            {kept, [](void* k) {
                               std::unique_ptr<kept_rpc<Registration, Rpc, Handler>> ended(
                                   static_cast<kept_rpc<Registration, Rpc, Handler>*>(k));
                               const Registration to = ended->registration;
                               ended.reset();
                               to->handler_done(nullptr);
                             }});
      of.invoke(registration->handler(), std::move(ptr));
    };
    if (runs_here(executor)) call();
    else asio::dispatch(executor, std::move(call));
  }

 private:
  template <class Registration, class Rpc, class Handler>
  struct kept_rpc {
    Registration registration;
    running_rpc<Rpc, Handler> rpc;
  };
};

}  // namespace internal

/// As register_awaitable_rpc_handler(), with a handler that takes an `RPC::Ptr`, and the request where there is a single
/// one, and returns nothing. It keeps the pointer until the RPC was finished; the request lives as long. Exceptions of
/// the handler leave the context's run().
template <class Rpc, class Service, class Handler,
          class Token = internal::default_token_of<typename Rpc::executor_type>>
auto register_callback_rpc_handler(const internal::registration_executor<Rpc>& on, Service& service,
                                   Handler&& handler, Token&& token = Token()) {
  return internal::register_handler<internal::start_callback>(on, service, std::forward<Handler>(handler),
                                                              std::forward<Token>(token));
}

}  // namespace agrpc::inline CORACLE_ASIO
