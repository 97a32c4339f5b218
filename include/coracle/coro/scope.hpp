// scope: tasks that run beside each other and are joined before their owner goes on.
#pragma once

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>
#include <cstddef>
#include <exception>

namespace coracle {

// Lives on one executor. Its tasks inherit the environment it was made with, with a stop token of
// the scope's own that also stops when the environment's does:
//
//   coracle::scope work{co_await coro::this_environment()};
//   work.spawn(pump(a, b));
//   co_await work.join();
//
// Destroying a scope with running tasks is a defect of the caller: join it on every path. The
// first exception of a task stops the others and comes out of join(); coro::cancelled is none after the
// scope's own request_stop(), being what was asked for.
class scope final : coro::completion {
 public:
  // Inherits nothing, and dumps hang its tasks below nobody: whose it is cannot be told.
  scope() noexcept : scope(coro::no_environment, nullptr) {}
  explicit scope(const coro::environment& inherited) noexcept : scope(inherited, coro::tree_node::asker()) {}
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;
  ~scope() {
    CORACLE_ASSERT(running_ == 0, "a scope was destroyed with running tasks: co_await join() on every path");
  }

  // Starts `t` at once, on the caller's stack, until it suspends for the first time.
  void spawn(task<> t);
  // Asks every task to stop; they end at their next await that can be cancelled.
  void request_stop() noexcept {
    stop_asked_ = true;
    stop_.request_stop();
  }
  [[nodiscard]] std::size_t running() const noexcept { return running_; }
  [[nodiscard]] const coro::environment& environment() const noexcept { return environment_; }

  class join_awaiter {
   public:
    explicit join_awaiter(scope& s) noexcept : scope_(s) {}
    [[nodiscard]] bool await_ready() const noexcept { return scope_.running_ == 0; }
    void await_suspend(std::coroutine_handle<> h) {
      CORACLE_REQUIRE(!scope_.joiner_, "a scope is joined by one task at a time");
      scope_.joiner_ = h;
    }
    void await_resume() {
      if (scope_.error_) std::rethrow_exception(std::exchange(scope_.error_, nullptr));
    }

   private:
    scope& scope_;
  };
  // Waits until no task runs; is not itself ended by a stop, since the tasks are.
  [[nodiscard]] join_awaiter join() noexcept { return join_awaiter(*this); }

 private:
  scope(const coro::environment& inherited, const coro::tree_node* parent) noexcept
      : stop_(inherited.stop),
        environment_{stop_.token(), inherited.deadline, inherited.call},
        parent_(parent) {}
  std::coroutine_handle<> finished(coro::promise_base& promise,
                                   std::coroutine_handle<> frame) noexcept override;
  coro::stop_source stop_;
  coro::environment environment_;
  const coro::tree_node* parent_;  // for dumps only
  std::size_t running_ = 0;
  std::coroutine_handle<> joiner_;
  std::exception_ptr error_;
  bool stop_asked_ = false;
};

}  // namespace coracle
