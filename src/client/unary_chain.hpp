// unary_chain: the interceptors around a unary call, each try of which is a client_call of its own.
#pragma once

#include "client/client_chain.hpp"
#include "coracle/client/unary_call.hpp"

#include <coroutine>

namespace coracle::client {

// Gone when its interceptors have ended: unary_operation::chain_ is null then.
class unary_chain final : public client_chain {
 public:
  unary_chain(client_interceptors chain, unary_operation& op, const char* path, const call_options& options);

  // Whom to resume at the end.
  void set_waiter(std::coroutine_handle<> waiter) noexcept { owner_ = waiter; }
  // From the client_call.
  void try_ended(const status& how, bool inside) noexcept;

 private:
  void try_once(const coro::environment& e) noexcept override;
  void settle(const status& how) noexcept override;

  unary_operation& op_;
  std::coroutine_handle<> owner_;
};

}  // namespace coracle::client
