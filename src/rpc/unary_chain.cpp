#include "rpc/unary_chain.hpp"

#include "coracle/base/assert.hpp"

namespace coracle::calls {

unary_chain::unary_chain(client_interceptors chain, unary_operation& op, const char* path,
                         const call_options& options)
    : client_chain(chain, path, options, true), op_(op) {}

void unary_chain::try_once(const coro::environment& e) noexcept { op_.try_once(e, options_); }

void unary_chain::try_ended(const status& how, bool inside) noexcept {
  tried(how, op_.initial_, op_.trailing_, inside);  // this may be gone
}

void unary_chain::settle(const status& how) noexcept {
  CORACLE_ASSERT(
      !how.ok() || tried_well(),
      "an interceptor returned OK for a unary call that got no reply: return the status of next(), or "
      "one that is not OK");
  op_.status_ = how;
  op_.chain_ = nullptr;
  const std::coroutine_handle<> owner = owner_;
  delete this;
  if (owner) owner.resume();
}

}  // namespace coracle::calls
