#include "client/call/client_interceptor_chain.hpp"

#include "base/if_memory_allows.hpp"
#include "client/call/inherited_deadline.hpp"
#include "client/channel_state.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/rpc/call_ended.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/repeated_lines.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>

namespace coracle {

namespace {

const metadata& nothing_received() {
  static const auto& none = *new metadata;  // never destroyed: calls may run while the program exits
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
    return e.status();
  } catch (const coro::cancelled&) {
    return status::cancelled("the call was cancelled");
  } catch (const status_error& e) {
    return e.status();
  } catch (const std::bad_alloc&) {
    return rpc::out_of_memory();
  } catch (const std::exception& e) {
    return status::unknown(e.what());
  } catch (...) {
    return status::unknown("an interceptor failed");
  }
}

client_interceptor_chain::caller_stop::caller_stop(client_interceptor_chain& c) noexcept
    : coro::stop_callback(
          [](coro::stop_callback& s) noexcept { static_cast<caller_stop&>(s).owner.cancel(); }),
      owner(c) {}

client_interceptor_chain::client_interceptor_chain(call_channel& by, std::string_view method,
                                                   const call_options& options, bool repeatable,
                                                   bool one_request)
    : client_context(method, options, repeatable),
      keeps_(by.handle()),
      channel_identity_(&by),
      chain_(by.interceptors()),
      on_caller_stop_(*this),
      one_request_(one_request) {
  if (const auto state = by.state()) {
    authority_ = state->to.authority;
    channel_identity_ = state.get();
  }
  if (const call_options* const defaults = by.defaults()) {
    if (!options_.timeout) options_.timeout = defaults->timeout;
    if (!options_.deadline_margin) options_.deadline_margin = defaults->deadline_margin;
  }
  runnable::run = [](coro::runnable& w) noexcept {
    auto& self = static_cast<client_interceptor_chain&>(w);
    self.resuming_ = false;
    std::exchange(self.waiter_, {}).resume();
  };
  timer::fire = [](coro::timer& t) noexcept {
    auto& self = static_cast<client_interceptor_chain&>(t);
    self.expired_ = true;
    self.cancel();
  };
}

client_interceptor_chain::~client_interceptor_chain() {
  if (timer::holder) coro::this_executor().disarm(*this);  // its first interceptor could not be created
}

void client_interceptor_chain::arm_deadline(const coro::environment& outer) noexcept {
  coro::executor& here = coro::this_executor();
  deadline_ = inherited_deadline(outer.deadline, options_, here.now());
  options_.deadline_margin = duration::zero();  // the attempts inherit the deadline of the chain
  if (options_.timeout) deadline_ = std::min(deadline_, deadline_after(here.now(), *options_.timeout));
  if (deadline_ != never) here.arm(*this, deadline_);
}

void client_interceptor_chain::begin(const coro::environment& inherited,
                                     const coro::stop_token& stop) noexcept {
  const bool detached = options_.detached;
  options_.detached = false;  // the chain itself is detached; the attempts inherit from it
  const coro::environment& outer = detached ? coro::no_environment : inherited;
  arm_deadline(outer);
  environment_ = coro::environment{stop_.token(), deadline_, outer.call, outer.span};
  if (!detached && !stop.subscribe(on_caller_stop_)) cancel();
  status failure;
  const auto first = open(0, failure);
  if (!first) return finish_chain(failure);
  first.promise().inherit(environment_);
  first.promise().set_completion(*this);
  coro::promise_base::begin(first, first.promise());  // this may have been destroyed
}

task<status>::handle client_interceptor_chain::open(std::size_t index, status& failure) noexcept {
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

client_interceptor_chain::next_step client_interceptor_chain::step(std::size_t index, level& at,
                                                                   std::coroutine_handle<> waiter,
                                                                   const coro::environment& inherited,
                                                                   task<status>::handle& child,
                                                                   status& failure) noexcept {
  if (index != depth_ + 1) {
    failure = status::internal(
        "an interceptor called next() while another next() of the call waits: await one before the other");
    return next_step::proceed;
  }
  if (!repeatable_ && attempts_started_ != 0) {
    failure = status::internal(
        "an interceptor called next() twice for a stream, whose messages are not kept: check "
        "client_context::repeatable() first");
    return next_step::proceed;
  }
  at.entered = true;
  ++depth_;
  if (at.hooks) {
    failure = enter(at);
    if (!failure.ok()) return next_step::proceed;
  }
  if (index < chain_.size()) {
    child = open(index, failure);
    return child ? next_step::child : next_step::proceed;
  }
  if (orphaned_ || inherited.stop.stop_requested()) {
    last_ = expired_ ? status::deadline_exceeded("the deadline passed")
                     : status::cancelled("the call was cancelled");
    ++attempts_started_;
    return next_step::proceed;
  }
  ++attempts_started_;
  waiter_ = waiter;
  starting_ = true;
  start_attempt(inherited);
  starting_ = false;
  return waiter_ ? next_step::wait : next_step::proceed;
}

void client_interceptor_chain::attempt_ended(const status& outcome, const metadata& initial,
                                             const metadata& trailing, bool inside) noexcept {
  if (resuming_) return;
  last_ = outcome;
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

status client_interceptor_chain::enter(level& at) noexcept {
  const intercepted_message* const request = current_request();
  at.outer = std::exchange(innermost_, &at);
  if (!request) return {};
  return run_hooks([&] {
    at.request = std::make_unique<intercepted_message>(request);
    status outcome = at.hooks->on_request(*at.request);
    if (outcome.ok()) at.hooks->on_requests_end();
    return outcome;
  });
}

rpc::hook_list client_interceptor_chain::hooks() const {
  rpc::hook_list all;
  for (const level* l = innermost_; l; l = l->outer) all.insert(all.begin(), l->hooks);
  return all;
}

status client_interceptor_chain::result(level& at, task<status>::handle child,
                                        const status& failure) noexcept {
  if (at.entered) --depth_;
  if (innermost_ == &at) innermost_ = at.outer;
  status outcome = child ? outcome_of(child) : failure.ok() ? last_ : failure;
  intercepted_message* const reply = one_reply();
  if (!outcome.ok() || !at.hooks || !reply || !(attempt_succeeded() || reply->changed())) return outcome;
  return run_hooks([&] { return at.hooks->on_reply(*reply); });
}

intercepted_message& client_interceptor_chain::request() {
  intercepted_message* const request = current_request();
  CORACLE_REQUIRE(request,
                  "next.request() around a stream of requests: pass message_hooks to next(), which see each "
                  "of them");
  return *request;
}

intercepted_message& client_interceptor_chain::reply() {
  intercepted_message* const reply = one_reply();
  CORACLE_REQUIRE(reply, "next.reply() around a stream: pass message_hooks to next(), which see each reply");
  return *reply;
}

std::coroutine_handle<> client_interceptor_chain::finished(coro::promise_base& p,
                                                           std::coroutine_handle<> frame) noexcept {
  using promise = coro::task_promise<status>;
  CORACLE_ASSERT(!waiter_, "an interceptor ended while its call runs: co_await next() to its end");
  status outcome = outcome_of(task<status>::handle::from_promise(static_cast<promise&>(p)));
  frame.destroy();
  if (expired_ && outcome.code() == status_code::cancelled)
    outcome = status::deadline_exceeded("the deadline passed");
  on_caller_stop_.unlink();
  if (timer::holder) coro::this_executor().disarm(*this);
  if (orphaned_) delete this;
  else finish_chain(outcome);  // this is deleted
  return std::noop_coroutine();
}

void client_interceptor_chain::orphan() noexcept {
  orphaned_ = true;
  on_caller_stop_.unlink();
  environment_.call = environment_.span = nullptr;  // they may be destroyed before the interceptors end
  cancel();
  attempt_ended(status::cancelled("the call was cancelled"), nothing_received(), nothing_received(), false);
  initial_ = trailing_ = &nothing_received();
  for (level* l = innermost_; l; l = l->outer)
    if (l->request) l->request->forget();
  if (intercepted_message* const request = first_request()) request->forget();
}

}  // namespace client
}  // namespace coracle

namespace coracle::client {

namespace {

// This is a defect of the interceptor, but not a reason to abort: the response that it turned into OK may be
// a server's doing.
status without_reply(const char* path) {
  std::string line = "an interceptor returned OK for a unary call that got no reply, ";
  line.append(path).append(": return the status of next(), or one that is not OK");
  repeated_lines::write(*loop::current(), log_room::client, log_level::error, nullptr,
                        std::string("no reply ") + path, std::move(line));
  return status::internal("an interceptor returned OK for a call that got no reply");
}

}  // namespace

unary_chain::unary_chain(call_channel& by, unary_operation& op, const char* path, const call_options& options)
    : client_interceptor_chain(by, path, options, true, true),
      op_(op),
      request_(format_, op.request_codec_, op.request_),
      reply_(format_, op.reply_codec_, op.reply_) {}

void unary_chain::start_attempt(const coro::environment& e) noexcept {
  reply_.refilled(nullptr);
  op_.start_attempt(e, options_, current_request()->to_send(), has_hooks() ? this : nullptr);
}

void unary_chain::orphan() noexcept {
  reply_.forget();
  client_interceptor_chain::orphan();
}

const connection_peer* unary_chain::current_peer() const noexcept {
  if (abandoned()) return nullptr;
  const connection_peer* const running = op_.call_ ? op_.call_->peer().get() : nullptr;
  return running ? running : op_.peer_.get();
}

void unary_chain::use_codec() noexcept {
  if (abandoned()) return;
  const bool own = options_.codec || !options_.content_subtype.empty();
  const call_options* const defaults = op_.channel_.defaults();
  format_.use(own || !defaults ? options_.codec : defaults->codec);
}

std::uint32_t unary_chain::max_receive_bytes() const noexcept {
  const call_options* const defaults = op_.channel_.defaults();
  const bool own = options_.max_receive_bytes.has_value() || !defaults;
  return own ? options_.receive_limit() : defaults->receive_limit();
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
  status reason;
  if (c.decode_message(k, into, body, reason)) reply_.refilled(&body);
  return reason;
}

status unary_chain::deliver_answer() noexcept {
  status outcome;
  const bool done = base::if_memory_allows([&] { outcome = reply_.deliver(max_receive_bytes()); });
  return done ? outcome : rpc::out_of_memory();
}

// Until next(), the view of the request follows the options, which the interceptors may change.
intercepted_message* stream_chain::first_request() noexcept {
  if (request_ && !attempt_started() && !abandoned()) call_.use_codec_of(options_);
  return request_.get();
}

void stream_chain::start_attempt(const coro::environment& e) noexcept {
  if (!has_hooks() || base::if_memory_allows([&] { call_.set_hooks(hooks()); }))
    return call_.begin_attempt(e, options_, current_request());
  call_.cancel_try(rpc::out_of_memory());
}

void unary_chain::on_attempt_ended(const status& outcome, bool inside) noexcept {
  attempt_ended(outcome, op_.initial_, op_.trailing_, inside);  // this may have been destroyed
}

void unary_chain::finish_chain(const status& outcome) noexcept {
  op_.status_ = outcome;
  if (outcome.ok() && reply_.changed()) op_.status_ = deliver_answer();
  else if (outcome.ok() && !attempt_succeeded()) op_.status_ = without_reply(op_.path_.text());
  op_.chain_ = nullptr;
  const std::coroutine_handle<> owner = owner_;
  delete this;
  if (owner) owner.resume();
}

}  // namespace coracle::client
