#include "client/unary_chain.hpp"

#include "base/repeated_line.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/runtime/loop.hpp"

#include <string>
#include <utility>

namespace coracle::client {

namespace {

// Of a loop.
struct replies_missing final : coro::attachment {
  repeated_line lines;
};

// A defect of the interceptor's, and nothing to end a program for: what it made OK of, a server may have brought about.
status without_reply(const char* path) {
  std::string line = "an interceptor returned OK for a unary call that got no reply, ";
  line.append(path).append(": return the status of next(), or one that is not OK");
  loop& here = *loop::current();
  here.attached<replies_missing>().lines.write(here.log(), log_level::error, here.now(), std::move(line));
  return status::internal("an interceptor returned OK for a call that got no reply");
}

}  // namespace

unary_chain::unary_chain(client_interceptors chain, unary_operation& op, const char* path,
                         const call_options& options)
    : client_chain(chain, path, options, true), op_(op) {}

void unary_chain::try_once(const coro::environment& e) noexcept { op_.try_once(e, options_); }

void unary_chain::try_ended(const status& how, bool inside) noexcept {
  tried(how, op_.initial_, op_.trailing_, inside);  // this may be gone
}

void unary_chain::settle(const status& how) noexcept {
  op_.status_ = how.ok() && !tried_well() ? without_reply(op_.path_) : how;
  op_.chain_ = nullptr;
  const std::coroutine_handle<> owner = owner_;
  delete this;
  if (owner) owner.resume();
}

}  // namespace coracle::client
