// on: runs a task on another loop and resumes the awaiter on its own loop with the result.
#pragma once

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"

#include <coroutine>

namespace coracle {

class loop;

/// @cond
namespace coro {

// The path of a task to another loop and back. Lives in the awaiting frame. The await ends only when all
// messages have returned to the origin, so no message can be in flight to a frame that is gone.
class loop_hop : completion, stop_callback {
 public:
  loop_hop(const loop_hop&) = delete;
  loop_hop& operator=(const loop_hop&) = delete;

 protected:
  explicit loop_hop(loop& where) noexcept;
  ~loop_hop() = default;
  // Returns false when `where` is the current loop: the caller then starts the task itself.
  bool begin(std::coroutine_handle<> waiter, const tree_node* node, const environment& e,
             std::coroutine_handle<> task, promise_base& promise);

 private:
  struct message : runnable {
    explicit message(loop_hop& v) noexcept : of(v) {}
    loop_hop& of;
  };
  std::coroutine_handle<> finished(promise_base&, std::coroutine_handle<>) noexcept override;
  void send(message& m, loop& to, void (*deliver)(runnable&) noexcept) noexcept;
  void on_message_returned() noexcept;

  loop& where_;
  loop* loop_ = nullptr;
  std::coroutine_handle<> waiter_;
  const tree_node* node_ = nullptr;
  std::coroutine_handle<> task_;
  promise_base* promise_ = nullptr;
  stop_source stop_;         // used on the visited loop
  environment environment_;  // of the task
  message task_message_{*this};      // goes there to start the task, returns with its end
  message stop_message_{*this};      // goes there with a stop, returns when it was delivered
  int messages_out_ = 0;             // messages not returned yet; used on the origin loop
};

}  // namespace coro
/// @endcond

/// co_await on(loop, task) runs the task on that loop, which must belong to the same runtime, and resumes on
/// the loop that awaited it, with the task's value or exception. The task inherits the awaiter's deadline and
/// call. A stop of the awaiter's environment reaches it through the other loop's queue of remote calls. The
/// await never ends before the task does. If `loop` is the current one, the task is simply awaited. Does not
/// allocate.
///
/// What the task refers to is used on another thread meanwhile; its frame is freed on the awaiting loop.
template <class T>
class [[nodiscard]] on final : coro::loop_hop {
 public:
  /// Takes the task; it starts with the await.
  on(loop& where, task<T> t) noexcept : coro::loop_hop(where), task_(t.release()) {}
  ~on() {
    if (task_) task_.destroy();
  }
  /// @cond
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
  /// @endcond

 private:
  typename task<T>::handle task_;
};
/// @cond
template <class T>
on(loop&, task<T>) -> on<T>;
/// @endcond

}  // namespace coracle
