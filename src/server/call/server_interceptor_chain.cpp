#include "server/call/server_interceptor_chain.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/base/result.hpp"
#include "coracle/base/usage_error.hpp"
#include "server/call/server_call.hpp"

#include <exception>
#include <string_view>
#include <utility>

namespace coracle::server_internal {

namespace {
constexpr std::string_view interceptor_name = "an interceptor";
}

server_interceptor_chain::server_interceptor_chain(server_call& c, server_interceptors chain) noexcept
    : call_(c), chain_(chain) {
  runnable::run = [](coro::runnable& w) noexcept {
    static_cast<server_interceptor_chain&>(w).waiter_.resume();
  };
}

// An interceptor that is not a coroutine may throw.
task<status>::handle server_interceptor_chain::open(std::size_t index, status& failure) noexcept {
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

void server_interceptor_chain::begin() noexcept {
  status failure;
  const auto first = open(0, failure);
  if (!first) return call_.chain_ended(failure, nullptr, nullptr);
  first.promise().inherit(call_.environment());
  first.promise().set_completion(*this);
  coro::promise_base::begin(first, first.promise());
}

void server_interceptor_chain::request_ready() noexcept {
  request_ready_ = true;
  if (asking_) return;
  if (scope_creator_) return std::exchange(scope_creator_, nullptr)->resume();
  if (handler_ == handler::requested && start_handler()) waiter_.resume();
}

bool server_interceptor_chain::request_handler(std::coroutine_handle<> waiter,
                                               const coro::environment& inherited) noexcept {
  waiter_ = waiter;
  handler_ = handler::requested;
  call_.run_handler_in(inherited);
  asking_ = true;
  if (!request_ready_) call_.take_kept_request();
  asking_ = false;
  return call_ended_ || !request_ready_ || !start_handler();
}

bool server_interceptor_chain::start_handler() noexcept {
  deliver_request();
  if (!refused_.ok()) {
    handler_ended(nullptr, nullptr, refused_);
    return true;
  }
  handler_ = handler::running;
  handler_ran_ = starting_ = true;
  call_.begin_body();
  starting_ = false;
  return handler_ == handler::ended;
}

void server_interceptor_chain::handler_ended(const rpc::codec* k, const void* reply,
                                             const status& reason) noexcept {
  handler_ = handler::ended;
  reply_codec_ = k;
  reply_ = reply;
  reply_view_.reset();
  handler_status_ = reason;
  call_.run_handler_in(call_.own_environment());
}

std::coroutine_handle<> server_interceptor_chain::resumed_by_handler() const noexcept {
  return starting_ ? std::noop_coroutine() : waiter_;
}

void server_interceptor_chain::on_call_ended(const status& reason) noexcept {
  call_ended_ = true;
  call_outcome_ = reason;
  if (scope_creator_) coro::this_executor().post(*std::exchange(scope_creator_, nullptr));
  if (handler_ != handler::requested) return;
  handler_ = handler::ended;  // it never starts
  call_.run_handler_in(call_.own_environment());
  coro::this_executor().post(*this);
}

status server_interceptor_chain::outcome_of(task<status>::handle h) noexcept {
  if (call_ended_) return call_outcome_;
  try {
    return h.promise().take();
  } catch (...) {
    return call_.status_of_exception(std::current_exception(), interceptor_name);
  }
}

std::coroutine_handle<> server_interceptor_chain::finished(coro::promise_base& p,
                                                           std::coroutine_handle<> frame) noexcept {
  using promise = coro::task_promise<status>;
  CORACLE_ASSERT(handler_ == handler::not_requested || handler_ == handler::ended,
                 "an interceptor ended while the handler runs: co_await next() to its end");
  const status outcome = outcome_of(task<status>::handle::from_promise(static_cast<promise&>(p)));
  frame.destroy();
  const rpc::message_to_send held = held_reply();
  call_.chain_ended(outcome, held.k, held.message);  // this object is destroyed
  return std::noop_coroutine();
}

server_interceptor_chain::next_step server_interceptor_chain::step(std::size_t index, level& at,
                                                                   std::coroutine_handle<> waiter,
                                                                   const coro::environment& inherited,
                                                                   task<status>::handle& child,
                                                                   status& failure) noexcept {
  if (call_ended_) return next_step::proceed;
  if (at.hooks) {
    failure = add_hooks(at.hooks);
    if (!failure.ok()) return next_step::proceed;
  }
  if (index == chain_.size()) {
    if (handler_ == handler::not_requested)
      return request_handler(waiter, inherited) ? next_step::wait : next_step::proceed;
    failure = call_.defect(interceptor_name, "called next() twice: the handler of a call runs once",
                           "an interceptor failed");
    return next_step::proceed;
  }
  child = open(index, failure);
  return child ? next_step::child : next_step::proceed;
}

status server_interceptor_chain::result(level& at, task<status>::handle child,
                                        const status& failure) noexcept {
  if (call_ended_) return call_outcome_;
  status outcome = child ? outcome_of(child) : failure.ok() ? handler_status_ : failure;
  if (!outcome.ok() || !at.hooks || !call_.one_reply() || !holds_reply()) return outcome;
  return run_hooks([&] { return at.hooks->on_reply(reply()); });
}

// --- messages

template <class F>
status server_interceptor_chain::run_hooks(F f) noexcept {
  try {
    return f();
  } catch (...) {
    return call_.status_of_exception(std::current_exception(), interceptor_name);
  }
}

status server_interceptor_chain::add_hooks(const std::shared_ptr<message_hooks>& hooks) noexcept {
  if (handler_ != handler::not_requested) return {};  // a second next(), which runs nothing
  if (!base::if_memory_allows([&] { hooks_.push_back(hooks); })) return rpc::out_of_memory();
  call_.pass_messages_by(*this);
  if (request_view_ && refused_.ok()) refused_ = pass_request();
  return refused_;
}

status server_interceptor_chain::pass_request() noexcept {
  return run_hooks([&] {
    status outcome;
    while (outcome.ok() && passed_ != hooks_.size()) {
      message_hooks& h = *hooks_[passed_++];
      outcome = h.on_request(*request_view_);
      if (outcome.ok()) h.on_requests_end();
    }
    return outcome;
  });
}

status server_interceptor_chain::received(rpc::call& c, const rpc::codec& k, void* into, bytes_view body) {
  if (!call_.one_request()) {
    intercepted_message m(c, k, into, body);
    status outcome = run_hooks([&] { return rpc::pass_request(hooks_, m); });
    return outcome.ok() ? m.deliver(c.max_receive_bytes()) : outcome;
  }
  request_view_.emplace(c, k, into, body);
  refused_ = pass_request();
  if (!refused_.ok()) return {};  // next() returns it
  if (handler_ == handler::requested) {
    const status outcome = request_view_->deliver(c.max_receive_bytes());
    request_view_.reset();
    return outcome;
  }
  request_view_->own();
  return c.keep_received(body.size());
}

void server_interceptor_chain::deliver_request() noexcept {
  if (!request_view_ || !refused_.ok()) return;
  if (!base::if_memory_allows([&] { refused_ = request_view_->deliver(call_.max_receive_bytes()); }))
    refused_ = rpc::out_of_memory();
  request_view_.reset();
}

status server_interceptor_chain::sent(intercepted_message& m) {
  return run_hooks([&] { return rpc::pass_reply(hooks_, m); });
}

void server_interceptor_chain::incoming_ended() noexcept {
  if (std::exchange(requests_ended_, true)) return;
  for (const auto& h : hooks_) h->on_requests_end();
}

void server_interceptor_chain::headers_sent(const metadata& initial) noexcept {
  for (auto h = hooks_.rbegin(); h != hooks_.rend(); ++h) (*h)->on_initial_metadata(initial);
}

bool server_interceptor_chain::wait_for_request(request_awaiter& a) noexcept {
  if (call_ended_ || !call_.one_request() || request_view_ || handler_ != handler::not_requested ||
      scope_creator_)
    return false;
  request_wanted_ = asking_ = true;
  call_.pass_messages_by(*this);
  call_.take_kept_request();
  asking_ = false;
  if (call_ended_ || request_ready_) return false;
  scope_creator_ = &a;
  return true;
}

void server_interceptor_chain::stop_waiting(request_awaiter& a) noexcept {
  if (scope_creator_ != &a) return;
  scope_creator_ = nullptr;
  a.stopped_ = true;
  coro::this_executor().post(a);
}

bool server_interceptor_chain::has_request() const noexcept { return call_.one_request(); }
bool server_interceptor_chain::has_reply() const noexcept { return call_.one_reply(); }

intercepted_message& server_interceptor_chain::request() {
  CORACLE_REQUIRE(call_.one_request(),
                  "next.request() around a stream of requests: pass message_hooks to next(), which see each "
                  "of them");
  CORACLE_REQUIRE(handler_ == handler::not_requested && !scope_creator_,
                  "next.request() after next(), or while another next.request() waits: await it once, before "
                  "next()");
  if (call_ended_) throw status_error(call_outcome_);
  if (!refused_.ok()) throw status_error(refused_);
  return *request_view_;
}

intercepted_message& server_interceptor_chain::reply() {
  CORACLE_REQUIRE(call_.one_reply(),
                  "next.reply() around a stream of replies: pass message_hooks to next(), which see each");
  if (!reply_view_) {
    if (reply_) reply_view_.emplace(call_.format(), *reply_codec_, reply_);
    else reply_view_.emplace(call_.format(), call_.reply_type());
  }
  return *reply_view_;
}

rpc::message_to_send server_interceptor_chain::held_reply() const noexcept {
  if (reply_view_ && reply_view_->changed()) return reply_view_->to_send();
  return {reply_codec_, reply_};
}

request_awaiter::request_awaiter(rpc::interceptor_chain& of) noexcept
    : stop_callback(&request_awaiter::stopped), of_(static_cast<server_interceptor_chain&>(of)) {
  run = [](coro::runnable& w) noexcept { static_cast<request_awaiter&>(w).resume(); };
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

namespace coracle {

std::optional<status> next_handler::handler_outcome() const {
  return static_cast<server_internal::server_interceptor_chain&>(*of_).handler_outcome();
}

}  // namespace coracle
