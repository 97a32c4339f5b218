#include "server/interception.hpp"

#include "coracle/base/impl/assert.hpp"
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
  if (handler_ == handler::asked && start_handler()) waiter_.resume();
}

bool interception::ask_handler(std::coroutine_handle<> waiter, const coro::environment& inherited) noexcept {
  waiter_ = waiter;
  handler_ = handler::asked;
  call_.run_handler_in(inherited);
  return !request_ready_ || !start_handler();
}

bool interception::start_handler() noexcept {
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
  handler_status_ = why;
  call_.run_handler_in(call_.own_environment());
}

std::coroutine_handle<> interception::resumed_by_handler() const noexcept {
  return starting_ ? std::noop_coroutine() : waiter_;
}

void interception::call_over(const status& why) noexcept {
  over_ = true;
  over_with_ = why;
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
  call_.chain_ended(how, reply_codec_, reply_);  // this object is destroyed
  return std::noop_coroutine();
}

interception::then interception::step(std::size_t index, std::coroutine_handle<> waiter,
                                      const coro::environment& inherited, task<status>::handle& child,
                                      status& failure) noexcept {
  if (over_) return then::go_on;
  if (index == chain_.size()) {
    if (handler_ == handler::unasked) return ask_handler(waiter, inherited) ? then::wait : then::go_on;
    failure = call_.defect(interceptor_name, "called next() twice: the handler of a call runs once",
                           "an interceptor failed");
    return then::go_on;
  }
  child = open(index, failure);
  return child ? then::child : then::go_on;
}

status interception::result(std::size_t, task<status>::handle child, const status& failure) noexcept {
  if (over_) return over_with_;
  if (child) return outcome_of(child);
  return failure.ok() ? handler_status_ : failure;
}

}  // namespace coracle::server_internal
