#include "client/client_chain.hpp"

#include "base/if_memory_allows.hpp"
#include "base/repeated_line.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
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

status outcome_of(task<status>::handle h) noexcept {
  try {
    return h.promise().take();
  } catch (...) {
    return client::status_of_escape(std::current_exception());
  }
}

}  // namespace

client_context::client_context(std::string_view method, const call_options& options, bool repeatable)
    : method_(method),
      options_(options),
      initial_(&nothing_received()),
      trailing_(&nothing_received()),
      repeatable_(repeatable) {}

namespace client {

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

client_chain::outer_stop::outer_stop(client_chain& c) noexcept
    : coro::stop_callback(
          [](coro::stop_callback& s) noexcept { static_cast<outer_stop&>(s).owner.cancel(); }),
      owner(c) {}

client_chain::client_chain(call_channel& by, std::string_view method, const call_options& options,
                           bool repeatable, bool one_request)
    : client_context(method, options, repeatable),
      keeps_(by.handle()),
      chain_(by.interceptors()),
      on_outer_stop_(*this),
      one_request_(one_request) {
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

client_chain::then client_chain::step(std::size_t index, level& at, std::coroutine_handle<> waiter,
                                      const coro::environment& inherited, task<status>::handle& child,
                                      status& failure) noexcept {
  if (index != depth_ + 1) {
    failure = status::internal(
        "an interceptor called next() while another next() of the call waits: await one before the other");
    return then::go_on;
  }
  if (!repeatable_ && tries_ != 0) {
    failure = status::internal(
        "an interceptor called next() twice for a stream, whose messages are not kept: check "
        "client_context::repeatable() first");
    return then::go_on;
  }
  at.entered = true;
  ++depth_;
  if (at.hooks) {
    failure = enter(at);
    if (!failure.ok()) return then::go_on;
  }
  if (index < chain_.size()) {
    child = open(index, failure);
    return child ? then::child : then::go_on;
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

status client_chain::enter(level& at) noexcept {
  const intercepted_message* const request = current_request();
  at.outer = std::exchange(innermost_, &at);
  if (!request) return {};
  return run_hooks([&] {
    at.request = std::make_unique<intercepted_message>(request);
    return at.hooks->on_request(*at.request);
  });
}

rpc::hook_list client_chain::hooks() const {
  rpc::hook_list all;
  for (const level* l = innermost_; l; l = l->outer) all.insert(all.begin(), l->hooks);
  return all;
}

status client_chain::result(level& at, task<status>::handle child, const status& failure) noexcept {
  if (at.entered) --depth_;
  if (innermost_ == &at) innermost_ = at.outer;
  status how = child ? outcome_of(child) : failure.ok() ? last_ : failure;
  intercepted_message* const reply = one_reply();
  if (!how.ok() || !at.hooks || !reply || !(tried_well() || reply->changed())) return how;
  return run_hooks([&] { return at.hooks->on_reply(*reply); });
}

intercepted_message& client_chain::request() {
  intercepted_message* const request = current_request();
  CORACLE_REQUIRE(request,
                  "next.request() around a stream of requests: pass message_hooks to next(), which see each "
                  "of them");
  return *request;
}

intercepted_message& client_chain::reply() {
  intercepted_message* const reply = one_reply();
  CORACLE_REQUIRE(reply, "next.reply() around a stream: pass message_hooks to next(), which see each reply");
  return *reply;
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
  for (level* l = innermost_; l; l = l->outer)
    if (l->request) l->request->forget();
  if (intercepted_message* const request = first_request()) request->forget();
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

unary_chain::unary_chain(call_channel& by, unary_operation& op, const char* path, const call_options& options)
    : client_chain(by, path, options, true, true),
      op_(op),
      request_(format_, op.request_codec_, op.request_),
      reply_(format_, op.reply_codec_, op.reply_) {}

void unary_chain::try_once(const coro::environment& e) noexcept {
  reply_.refilled(nullptr);
  op_.try_once(e, options_, current_request()->to_send(), has_hooks() ? this : nullptr);
}

void unary_chain::abandon() noexcept {
  reply_.forget();
  client_chain::abandon();
}

void unary_chain::use_codec() noexcept {
  if (abandoned()) return;
  const bool own = options_.codec() || !options_.content_subtype().empty();
  const call_options* const defaults = op_.channel_.defaults();
  format_.use(own || !defaults ? options_.codec() : defaults->codec());
}

std::uint32_t unary_chain::max_receive_bytes() const noexcept {
  const call_options* const defaults = op_.channel_.defaults();
  const bool own = options_.sets_max_receive_bytes() || !defaults;
  return own ? options_.max_receive_bytes() : defaults->max_receive_bytes();
}

intercepted_message* unary_chain::first_request() noexcept {
  use_codec();
  return &request_;
}

intercepted_message* unary_chain::one_reply() noexcept {
  use_codec();
  return &reply_;
}

status unary_chain::received(rpc::call& c, const rpc::codec& k, void* into, bytes_view body) {
  status why;
  if (c.decode_message(k, into, body, why)) reply_.refilled(&body);
  return why;
}

status unary_chain::deliver_answer() noexcept {
  status how;
  const bool done = base::if_memory_allows([&] { how = reply_.deliver(max_receive_bytes()); });
  return done ? how : rpc::out_of_memory();
}

void stream_chain::try_once(const coro::environment& e) noexcept {
  if (!has_hooks() || base::if_memory_allows([&] { call_.set_hooks(hooks()); }))
    return call_.begin_try(e, options_, current_request());
  call_.cancel_try(rpc::out_of_memory());
}

void unary_chain::try_ended(const status& how, bool inside) noexcept {
  tried(how, op_.initial_, op_.trailing_, inside);  // this may have been destroyed
}

void unary_chain::settle(const status& how) noexcept {
  op_.status_ = how;
  if (how.ok() && reply_.changed()) op_.status_ = deliver_answer();
  else if (how.ok() && !tried_well()) op_.status_ = without_reply(op_.path_);
  op_.chain_ = nullptr;
  const std::coroutine_handle<> owner = owner_;
  delete this;
  if (owner) owner.resume();
}

}  // namespace coracle::client
