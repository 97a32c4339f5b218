#include "server/interception.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/base/result.hpp"
#include "coracle/base/usage_error.hpp"
#include "server/server_call.hpp"

#include <exception>
#include <string_view>
#include <utility>

namespace coracle::server_internal {

namespace {
constexpr std::string_view interceptor_name = "an interceptor";
}

interception::interception(server_call& c, server_interceptors chain) noexcept : call_(c), chain_(chain) {
  work::run = [](coro::work& w) noexcept { static_cast<interception&>(w).waiter_.resume(); };
}

// An interceptor that is not a coroutine may throw.
task<status>::handle interception::open(std::size_t index, status& failure) noexcept {
  try {
    task<status> opened = chain_[index]->intercept(call_, next_handler(*this, index + 1));
    if (!opened.valid())
      failure = call_.defect(interceptor_name, "returned an empty task: make intercept() a coroutine",
                             "an interceptor failed");
    return opened.release();
  } catch (...) {
    failure = call_.status_of_exception(std::current_exception(), interceptor_name);
    return {};
  }
}

void interception::begin() noexcept {
  status failure;
  const auto first = open(0, failure);
  if (!first) return call_.chain_ended(failure, nullptr, nullptr);
  first.promise().inherit(call_.environment());
  first.promise().set_completion(*this);
  coro::promise_base::begin(first, first.promise());
}

void interception::request_ready() noexcept {
  request_ready_ = true;
  if (asking_) return;
  if (asker_) return std::exchange(asker_, nullptr)->resume();
  if (handler_ == handler::asked && start_handler()) waiter_.resume();
}

bool interception::ask_handler(std::coroutine_handle<> waiter, const coro::environment& inherited) noexcept {
  waiter_ = waiter;
  handler_ = handler::asked;
  call_.run_handler_in(inherited);
  asking_ = true;
  if (!request_ready_) call_.take_kept_request();
  asking_ = false;
  return over_ || !request_ready_ || !start_handler();
}

bool interception::start_handler() noexcept {
  deliver_request();
  if (!refused_.ok()) {
    handler_ended(nullptr, nullptr, refused_);
    return true;
  }
  handler_ = handler::running;
  starting_ = true;
  call_.begin_body();
  starting_ = false;
  return handler_ == handler::ended;
}

void interception::handler_ended(const rpc::codec* k, const void* reply, const status& why) noexcept {
  handler_ = handler::ended;
  reply_codec_ = k;
  reply_ = reply;
  reply_view_.reset();
  handler_status_ = why;
  call_.run_handler_in(call_.own_environment());
}

std::coroutine_handle<> interception::resumed_by_handler() const noexcept {
  return starting_ ? std::noop_coroutine() : waiter_;
}

void interception::call_over(const status& why) noexcept {
  over_ = true;
  over_with_ = why;
  if (asker_) coro::this_executor().post(*std::exchange(asker_, nullptr));
  if (handler_ != handler::asked) return;
  handler_ = handler::ended;  // it never starts
  call_.run_handler_in(call_.own_environment());
  coro::this_executor().post(*this);
}

status interception::outcome_of(task<status>::handle h) noexcept {
  if (over_) return over_with_;
  try {
    return h.promise().take();
  } catch (...) {
    return call_.status_of_exception(std::current_exception(), interceptor_name);
  }
}

std::coroutine_handle<> interception::finished(coro::promise_base& p,
                                               std::coroutine_handle<> frame) noexcept {
  using promise = coro::task_promise<status>;
  CORACLE_ASSERT(handler_ == handler::unasked || handler_ == handler::ended,
                 "an interceptor ended while the handler runs: co_await next() to its end");
  const status how = outcome_of(task<status>::handle::from_promise(static_cast<promise&>(p)));
  frame.destroy();
  const rpc::message_to_send held = held_reply();
  call_.chain_ended(how, held.k, held.message);  // this object is destroyed
  return std::noop_coroutine();
}

interception::then interception::step(std::size_t index, level& at, std::coroutine_handle<> waiter,
                                      const coro::environment& inherited, task<status>::handle& child,
                                      status& failure) noexcept {
  if (over_) return then::go_on;
  if (at.hooks) {
    failure = add_hooks(at.hooks);
    if (!failure.ok()) return then::go_on;
  }
  if (index == chain_.size()) {
    if (handler_ == handler::unasked) return ask_handler(waiter, inherited) ? then::wait : then::go_on;
    failure = call_.defect(interceptor_name, "called next() twice: the handler of a call runs once",
                           "an interceptor failed");
    return then::go_on;
  }
  child = open(index, failure);
  return child ? then::child : then::go_on;
}

status interception::result(level& at, task<status>::handle child, const status& failure) noexcept {
  if (over_) return over_with_;
  status how = child ? outcome_of(child) : failure.ok() ? handler_status_ : failure;
  if (!how.ok() || !at.hooks || !call_.one_reply() || !holds_reply()) return how;
  return run_hooks([&] { return at.hooks->on_reply(reply()); });
}

// --- messages

template <class F>
status interception::run_hooks(F f) noexcept {
  try {
    return f();
  } catch (...) {
    return call_.status_of_exception(std::current_exception(), interceptor_name);
  }
}

status interception::add_hooks(const std::shared_ptr<message_hooks>& hooks) noexcept {
  if (handler_ != handler::unasked) return {};  // a second next(), which runs nothing
  if (!base::if_memory_allows([&] { hooks_.push_back(hooks); })) return rpc::out_of_memory();
  call_.pass_messages_by(*this);
  if (request_view_ && refused_.ok()) refused_ = pass_request();
  return refused_;
}

status interception::pass_request() noexcept {
  return run_hooks([&] {
    status how;
    while (how.ok() && passed_ != hooks_.size()) how = hooks_[passed_++]->on_request(*request_view_);
    return how;
  });
}

status interception::received(rpc::call& c, const rpc::codec& k, void* into, bytes_view body) {
  if (!call_.one_request()) {
    intercepted_message m(c, k, into, body);
    status how = run_hooks([&] { return rpc::pass_request(hooks_, m); });
    return how.ok() ? m.deliver(c.max_receive_bytes()) : how;
  }
  request_view_.emplace(c, k, into, body);
  refused_ = pass_request();
  if (!refused_.ok()) return {};  // next() returns it
  if (handler_ == handler::asked) {
    const status how = request_view_->deliver(c.max_receive_bytes());
    request_view_.reset();
    return how;
  }
  request_view_->own();
  return c.keep_received(body.size());
}

void interception::deliver_request() noexcept {
  if (!request_view_ || !refused_.ok()) return;
  if (!base::if_memory_allows([&] { refused_ = request_view_->deliver(call_.max_receive_bytes()); }))
    refused_ = rpc::out_of_memory();
  request_view_.reset();
}

status interception::sent(intercepted_message& m) {
  return run_hooks([&] { return rpc::pass_reply(hooks_, m); });
}

bool interception::wait_for_request(request_awaiter& a) noexcept {
  if (over_ || !call_.one_request() || request_view_ || handler_ != handler::unasked || asker_) return false;
  request_wanted_ = asking_ = true;
  call_.pass_messages_by(*this);
  call_.take_kept_request();
  asking_ = false;
  if (over_ || request_ready_) return false;
  asker_ = &a;
  return true;
}

void interception::stop_waiting(request_awaiter& a) noexcept {
  if (asker_ != &a) return;
  asker_ = nullptr;
  a.stopped_ = true;
  coro::this_executor().post(a);
}

bool interception::has_request() const noexcept { return call_.one_request(); }
bool interception::has_reply() const noexcept { return call_.one_reply(); }

intercepted_message& interception::request() {
  CORACLE_REQUIRE(call_.one_request(),
                  "next.request() around a stream of requests: pass message_hooks to next(), which see each "
                  "of them");
  CORACLE_REQUIRE(handler_ == handler::unasked && !asker_,
                  "next.request() after next(), or while another next.request() waits: await it once, before "
                  "next()");
  if (over_) throw status_error(over_with_);
  if (!refused_.ok()) throw status_error(refused_);
  return *request_view_;
}

intercepted_message& interception::reply() {
  CORACLE_REQUIRE(call_.one_reply(),
                  "next.reply() around a stream of replies: pass message_hooks to next(), which see each");
  if (!reply_view_) {
    if (reply_) reply_view_.emplace(call_.format(), *reply_codec_, reply_);
    else reply_view_.emplace(call_.format(), call_.reply_type());
  }
  return *reply_view_;
}

rpc::message_to_send interception::held_reply() const noexcept {
  if (reply_view_ && reply_view_->changed()) return reply_view_->to_send();
  return {reply_codec_, reply_};
}

request_awaiter::request_awaiter(rpc::interceptor_chain& of) noexcept
    : stop_callback(&request_awaiter::stopped), of_(static_cast<interception&>(of)) {
  run = [](coro::work& w) noexcept { static_cast<request_awaiter&>(w).resume(); };
}

request_awaiter::~request_awaiter() {
  if (pending_) of_.forget(*this);
}

bool request_awaiter::start(std::coroutine_handle<> waiter, const coro::stop_token& stop) noexcept {
  waiter_ = waiter;
  if (!of_.wait_for_request(*this)) return false;
  pending_ = true;
  if (!stop.subscribe(*this)) of_.stop_waiting(*this);
  return true;
}

void request_awaiter::stopped(coro::stop_callback& self) noexcept {
  auto& a = static_cast<request_awaiter&>(self);
  a.of_.stop_waiting(a);
}

void request_awaiter::resume() noexcept {
  stop_callback::unlink();
  pending_ = false;
  waiter_.resume();
}

intercepted_message& request_awaiter::await_resume() {
  if (stopped_) throw status_error(status::cancelled("the task was asked to stop"));
  return static_cast<rpc::interceptor_chain&>(of_).request();
}

}  // namespace coracle::server_internal
