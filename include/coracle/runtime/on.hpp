// on: a task runs on another loop, and its awaiter goes on here with the value.
#pragma once

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>

namespace coracle {

class loop;

namespace coro {

// A task's way to another loop and back. Lives in the awaiting frame: the await ends when each of its
// messages is home again, so nothing of it can be on its way to a frame that is gone.
class visit : completion, stop_callback {
 public:
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;

 protected:
  explicit visit(loop& where) noexcept;
  ~visit() = default;
  // False when `where` is the loop that this runs on: the caller starts the task itself.
  bool begin(std::coroutine_handle<> waiter, const tree_node* node, const environment& e,
             std::coroutine_handle<> task, promise_base& promise);

 private:
  struct message : work {
    explicit message(visit& v) noexcept : of(v) {}
    visit& of;
  };
  std::coroutine_handle<> finished(promise_base&, std::coroutine_handle<>) noexcept override;
  void send(message& m, loop& to, void (*what)(work&) noexcept) noexcept;
  void home_again() noexcept;

  loop& where_;
  loop* home_ = nullptr;
  std::coroutine_handle<> waiter_;
  const tree_node* node_ = nullptr;
  std::coroutine_handle<> task_;
  promise_base* promise_ = nullptr;
  stop_source stop_;         // the visited loop's
  environment environment_;  // of the task
  message trip_{*this};      // there to start the task, back with its end
  message news_{*this};      // there with a stop, back when it is delivered
  int away_ = 0;             // messages; the home loop's
};

}  // namespace coro

// co_await on(loop, task) runs the task on that loop of the same runtime, and resumes on the loop that
// awaited it, with the task's value or exception. The task inherits the awaiter's deadline and call; a stop of
// the awaiter's environment reaches it through the other loop's mailbox. The await ends with the task,
// never before. On the loop itself the task is just awaited. No allocation.
//
// What the task refers to is used on another thread meanwhile; its frame is freed here.
template <class T>
class [[nodiscard]] on final : coro::visit {
 public:
  on(loop& where, task<T> t) noexcept : coro::visit(where), task_(t.release()) {}
  ~on() {
    if (task_) task_.destroy();
  }
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  coro::promise_base::transfer await_suspend(std::coroutine_handle<Promise> h) {
    CORACLE_REQUIRE(task_ && !task_.done(),
                    "on() of a task that is empty or has ended: a task is awaited once");
    const coro::environment& e = coro::environment_of(h);
    if (begin(h, coro::node_of(h), e, task_, task_.promise())) {
#if CORACLE_TRAMPOLINE
      return true;
#else
      return std::noop_coroutine();
#endif
    }
    task_.promise().inherit(e);
    task_.promise().set_continuation(h);
    return coro::promise_base::start(task_, task_.promise());
  }
  T await_resume() { return task_.promise().take(); }

 private:
  typename task<T>::handle task_;
};
template <class T>
on(loop&, task<T>) -> on<T>;

}  // namespace coracle
