#include "coracle/coro/scope.hpp"

namespace coracle {

void scope::spawn(task<> t) {
  CORACLE_REQUIRE(t.valid(), "spawned a task that is empty or has ended: a task is spawned or awaited once");
  const auto frame = t.release();
  frame.promise().inherit(environment_);
  frame.promise().set_completion(*this);
  ++running_;
  coro::promise_base::begin(frame, frame.promise(), parent_);
}

std::coroutine_handle<> scope::finished(coro::promise_base& promise, std::coroutine_handle<> frame) noexcept {
  std::exception_ptr error = static_cast<coro::task_promise<void>&>(promise).error();
  frame.destroy();
  if (error && !error_ && !(stop_requested_ && coro::is_cancelled(error))) {
    error_ = std::move(error);
    stop_.request_stop();
  }
  // The joiner may destroy this scope when it resumes, so nothing may access the scope after this.
  if (--running_ == 0 && joiner_) return std::exchange(joiner_, {});
  return std::noop_coroutine();
}

}  // namespace coracle
