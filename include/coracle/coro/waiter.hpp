// waiter: a suspended task in the queue of a primitive (a mutex, a channel, ...): what they all share.
#pragma once

#include "coracle/base/intrusive_list.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"

#include <coroutine>

namespace coracle::coro {

// Lives in an awaiter, from its await_suspend on: where a primitive does not make the task wait, no
// waiter is made. It ends in one of two ways, on the thread of its executor, and exactly once:
// - granted: the primitive takes it off its queue and calls resume_soon(). From then on a stop no
//   longer reaches it: what it was granted is its own although it has not been resumed yet.
// - stopped: it is off the queue, then `abandoned` is called for the primitive to mend its queue.
//   throw_if_stopped() throws once the task is resumed.
// A frame that is destroyed while it waits leaves the queue by the waiter's destructor.
class waiter : public base::list_hook, work {
 public:
  // Called for a waiter that a stop took off its queue; has to see to it that it is resumed.
  using abandoned = void (*)(waiter&) noexcept;
  static void just_resume(waiter& w) noexcept { w.resume_soon(); }

  explicit waiter(abandoned f = &just_resume) noexcept;

  // For await_suspend: waits at the end of `queue`. False, and the task goes on at once to
  // throw_if_stopped(), when a stop was requested already.
  bool start(base::intrusive_list<waiter>& queue, std::coroutine_handle<> h, stop_token stop) noexcept;
  // Resumes the task through the executor's queue.
  void resume_soon() noexcept;
  // No stop reaches it any more: for what is granted in two steps.
  void ignore_stops() noexcept { on_stop_.unlink(); }
  void throw_if_stopped() const {
    if (stopped_) throw cancelled();
  }

 private:
  struct stop_hook : stop_callback {
    explicit stop_hook(waiter& w) noexcept;
    waiter& owner;
  };
  std::coroutine_handle<> task_;
  abandoned abandoned_;
  stop_hook on_stop_;
  bool stopped_ = false;
};

using waiter_queue = base::intrusive_list<waiter>;

}  // namespace coracle::coro
