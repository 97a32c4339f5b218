#include "client/client_chain.hpp"

#include "base/repeated_line.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/client/intercepted_channel.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/rpc/call_ended.hpp"
#include "coracle/runtime/loop.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace coracle {

namespace {

const metadata& nothing_received() {
  static const metadata none;
  return none;
}

// Returns the status for an exception that escaped from an interceptor.
status status_of_escape(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const call_ended& e) {
    return e.why();
  } catch (const coro::cancelled&) {
    return status::cancelled("the call was cancelled");
  } catch (const status_error& e) {
    return e.status();
  } catch (const std::exception& e) {
    return status::unknown(e.what());
  } catch (...) {
    return status::unknown("an interceptor failed");
  }
}

status outcome_of(task<status>::handle h) noexcept {
  try {
    return h.promise().take();
  } catch (...) {
    return status_of_escape(std::current_exception());
  }
}

}  // namespace

client_context::client_context(std::string_view method, const call_options& options, bool repeatable)
    : method_(method),
      options_(options),
      initial_(&nothing_received()),
      trailing_(&nothing_received()),
      repeatable_(repeatable) {}

intercepted_channel::intercepted_channel(call_channel& inner,
                                         std::initializer_list<client_interceptor*> front)
    : inner_(inner), chain_(front) {
  const auto behind = inner.interceptors();
  chain_.insert(chain_.end(), behind.begin(), behind.end());
}

namespace client {

client_chain::outer_stop::outer_stop(client_chain& c) noexcept
    : coro::stop_callback(
          [](coro::stop_callback& s) noexcept { static_cast<outer_stop&>(s).owner.cancel(); }),
      owner(c) {}

client_chain::client_chain(client_interceptors chain, std::string_view method, const call_options& options,
                           bool repeatable)
    : client_context(method, options, repeatable), chain_(chain), on_outer_stop_(*this) {
  work::run = [](coro::work& w) noexcept {
    auto& self = static_cast<client_chain&>(w);
    self.resuming_ = false;
    std::exchange(self.waiter_, {}).resume();
  };
  timer::fire = [](coro::timer& t) noexcept {
    auto& self = static_cast<client_chain&>(t);
    self.expired_ = true;
    self.cancel();
  };
}

client_chain::~client_chain() {
  if (timer::holder) coro::this_executor().disarm(*this);  // its first interceptor could not be created
}

void client_chain::arm_deadline(const coro::environment& outer) noexcept {
  coro::executor& here = coro::this_executor();
  deadline_ = outer.deadline;
  if (options_.timeout()) deadline_ = std::min(deadline_, deadline_after(here.now(), *options_.timeout()));
  if (deadline_ != never) here.arm(*this, deadline_);
}

void client_chain::begin(const coro::environment& inherited, const coro::stop_token& stop) noexcept {
  const bool detached = options_.is_detached();
  options_.detached(false);  // the chain itself is detached; the attempts inherit from it
  const coro::environment& outer = detached ? coro::no_environment : inherited;
  arm_deadline(outer);
  environment_ = coro::environment{stop_.token(), deadline_, outer.call};
  if (!detached && !stop.subscribe(on_outer_stop_)) cancel();
  status failure;
  const auto first = open(0, failure);
  if (!first) return settle(failure);
  first.promise().inherit(environment_);
  first.promise().set_completion(*this);
  coro::promise_base::begin(first, first.promise());  // this may have been destroyed
}

task<status>::handle client_chain::open(std::size_t index, status& failure) noexcept {
  try {
    task<status> opened = chain_[index]->intercept(*this, next_call(*this, index + 1));
    if (!opened.valid())
      failure = status::internal("an interceptor returned an empty task: make intercept() a coroutine");
    return opened.release();
  } catch (...) {
    failure = status_of_escape(std::current_exception());
    return {};
  }
}

client_chain::then client_chain::step(std::size_t index, std::coroutine_handle<> waiter,
                                      const coro::environment& inherited, task<status>::handle& child,
                                      status& failure) noexcept {
  if (index < chain_.size()) {
    child = open(index, failure);
    return child ? then::child : then::go_on;
  }
  if (waiter_ || (!repeatable_ && tries_ != 0)) {
    failure = status::internal(
        waiter_ ? "an interceptor called next() while another next() of the call waits: await one before the "
                  "other"
                : "an interceptor called next() twice for a stream, whose messages are not kept: check "
                  "client_context::repeatable() first");
    return then::go_on;
  }
  if (abandoned_ || inherited.stop.stop_requested()) {
    last_ = expired_ ? status::deadline_exceeded("the deadline passed")
                     : status::cancelled("the call was cancelled");
    ++tries_;
    return then::go_on;
  }
  ++tries_;
  waiter_ = waiter;
  starting_ = true;
  try_once(inherited);
  starting_ = false;
  return waiter_ ? then::wait : then::go_on;
}

void client_chain::tried(const status& how, const metadata& initial, const metadata& trailing,
                         bool inside) noexcept {
  if (resuming_) return;
  last_ = how;
  initial_ = &initial;
  trailing_ = &trailing;
  if (!waiter_) return;
  if (starting_) {
    waiter_ = {};
  } else if (inside) {
    std::exchange(waiter_, {}).resume();
  } else {
    resuming_ = true;
    coro::this_executor().post(*this);
  }
}

status client_chain::result(std::size_t, task<status>::handle child, const status& failure) noexcept {
  if (child) return outcome_of(child);
  return failure.ok() ? last_ : failure;
}

std::coroutine_handle<> client_chain::finished(coro::promise_base& p,
                                               std::coroutine_handle<> frame) noexcept {
  using promise = coro::task_promise<status>;
  CORACLE_ASSERT(!waiter_, "an interceptor ended while its call runs: co_await next() to its end");
  status how = outcome_of(task<status>::handle::from_promise(static_cast<promise&>(p)));
  frame.destroy();
  if (expired_ && how.code() == status_code::cancelled)
    how = status::deadline_exceeded("the deadline passed");
  on_outer_stop_.unlink();
  if (timer::holder) coro::this_executor().disarm(*this);
  if (abandoned_) delete this;
  else settle(how);  // this is deleted
  return std::noop_coroutine();
}

void client_chain::abandon() noexcept {
  abandoned_ = true;
  on_outer_stop_.unlink();
  environment_.call = nullptr;  // it may be destroyed before the interceptors end
  cancel();
  tried(status::cancelled("the call was cancelled"), nothing_received(), nothing_received(), false);
  initial_ = trailing_ = &nothing_received();
}

}  // namespace client
}  // namespace coracle

namespace coracle::client {

namespace {

// One per loop.
struct replies_missing final : coro::attachment {
  repeated_line lines;
};

// This is a defect of the interceptor, but not a reason to abort: the response that it turned into OK may be
// a server's doing.
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
  tried(how, op_.initial_, op_.trailing_, inside);  // this may have been destroyed
}

void unary_chain::settle(const status& how) noexcept {
  op_.status_ = how.ok() && !tried_well() ? without_reply(op_.path_) : how;
  op_.chain_ = nullptr;
  const std::coroutine_handle<> owner = owner_;
  delete this;
  if (owner) owner.resume();
}

}  // namespace coracle::client
