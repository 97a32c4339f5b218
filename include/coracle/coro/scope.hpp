// scope: tasks that run concurrently and are joined before their owner continues.
#pragma once

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>
#include <cstddef>
#include <exception>

namespace coracle {

/// Runs tasks concurrently and joins them. Lives on one executor. Its tasks inherit the environment that the
/// scope was made with, but with the scope's own stop token, which also stops when that of the environment
/// does:
///
///     coracle::scope work{co_await coro::this_environment()};
///     work.spawn(pump(a, b));
///     co_await work.join();
///
/// Destroying a scope while tasks run is a defect of the caller and aborts: join it on every path. The first
/// exception of a task stops the other tasks, and join() rethrows it. After the scope's own request_stop(),
/// coro::cancelled is not an error, since it was requested.
class scope final : coro::completion {
 public:
  /// Makes a scope that inherits nothing. Dumps show its tasks without a parent, because the owner is
  /// unknown.
  scope() noexcept : scope(coro::no_environment, nullptr) {}
  /// `inherited` is the environment of the owner; it must outlive the scope.
  explicit scope(const coro::environment& inherited) noexcept
      : scope(inherited, coro::tree_node::scope_creator()) {}
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;
  ~scope() {
    CORACLE_ASSERT(running_ == 0, "a scope was destroyed with running tasks: co_await join() on every path");
  }

  /// Starts `t` immediately, on the caller's stack, until it suspends for the first time. Throws usage_error
  /// if `t` is empty or has ended.
  void spawn(task<> t);
  /// Requests every task to stop. Each ends at its next await that can be cancelled.
  void request_stop() noexcept {
    stop_requested_ = true;
    stop_.request_stop();
  }
  /// Returns the number of tasks that have not ended.
  [[nodiscard]] std::size_t running() const noexcept { return running_; }
  /// Returns the environment that the tasks run under; valid as long as the scope lives.
  [[nodiscard]] const coro::environment& environment() const noexcept { return environment_; }

  /// @cond
  class join_awaiter {
   public:
    explicit join_awaiter(scope& s) noexcept : scope_(s) {}
    [[nodiscard]] bool await_ready() const noexcept { return scope_.running_ == 0; }
    void await_suspend(std::coroutine_handle<> h) {
      CORACLE_REQUIRE(!scope_.joiner_, "concurrent join() calls of one scope: only one task may join");
      scope_.joiner_ = h;
    }
    void await_resume() {
      if (scope_.error_) std::rethrow_exception(std::exchange(scope_.error_, nullptr));
    }

   private:
    scope& scope_;
  };
  /// @endcond
  /// Waits until no task runs, and rethrows the first exception. A stop of the awaiter's environment does not
  /// end this wait directly: it stops the tasks. One task at a time may join.
  [[nodiscard]] join_awaiter join() noexcept { return join_awaiter(*this); }

 private:
  scope(const coro::environment& inherited, const coro::tree_node* parent) noexcept
      : stop_(inherited.stop),
        environment_{stop_.token(), inherited.deadline, inherited.call, inherited.span},
        parent_(parent) {}
  std::coroutine_handle<> finished(coro::promise_base& promise,
                                   std::coroutine_handle<> frame) noexcept override;
  coro::stop_source stop_;
  coro::environment environment_;
  const coro::tree_node* parent_;  // used by dumps only
  std::size_t running_ = 0;
  std::coroutine_handle<> joiner_;
  std::exception_ptr error_;
  bool stop_requested_ = false;
};

}  // namespace coracle
