// waiter: a suspended task in the queue of a primitive (a mutex, a channel, ...): what they all share.
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/home.hpp"

#include <coroutine>
#include <cstdint>

namespace coracle::coro {

// Lives in an awaiter, from its await_suspend on: where a primitive does not make the task wait, no
// waiter is made. It waits at the primitive's home, also for a task of another loop, and ends in
// one of two ways, exactly once:
// - granted: the primitive takes it off its queue and calls resume_soon(). From then on a stop has no
//   effect: what it was granted is its own although it has not been resumed yet.
// - stopped: it is off the queue, then abandoned() is called for the primitive to mend its queue.
//   throw_if_stopped() throws once the task is resumed.
// The task is resumed through the queue of the executor on which it started to wait.
//
// From another loop the waiter itself travels: to the home, and back when it has ended. A stop there
// sends a work of its own after it, and the task is resumed when both are back, so that nothing of its
// frame is under way when that goes. Only a frame that waits at home may be destroyed: it
// leaves the queue by the waiter's destructor.
class waiter : public base::list_hook, work {
 public:
  // For await_suspend. False, and the task goes on at once to throw_if_stopped(), when it would have
  // to wait and a stop was requested already.
  bool start(home& at, std::coroutine_handle<> h, stop_token stop) noexcept;
  // At home, off the queue.
  void resume_soon() noexcept;
  // At home: no stop has any effect any more; for what is granted in two steps.
  void ignore_stops() noexcept;
  void throw_if_stopped() const {
    if (stopped_) throw cancelled();
  }

 protected:
  waiter() noexcept : on_stop_(*this) {}
  ~waiter();

 private:
  // What the primitive says; all at home.
  // Takes what is waited for, if it is there.
  virtual bool attempt() noexcept = 0;
  // Puts it into the queue.
  virtual void enqueue() noexcept = 0;
  // A stop took it off the queue; has to see to it that it is resumed.
  virtual void abandoned() noexcept = 0;

  void arrived() noexcept;
  void stop_asked() noexcept;
  void stop_arrived() noexcept;
  void returned() noexcept;

  struct stop_hook : stop_callback {
    explicit stop_hook(waiter& w) noexcept;
    waiter& owner;
  };
  struct stop_letter : work {
    waiter* owner = nullptr;
  };
  std::coroutine_handle<> task_;
  executor* origin_ = nullptr;
  executor* away_ = nullptr;  // where it waits, if that is not its origin
  stop_hook on_stop_;
  stop_letter stop_;
  std::uint8_t out_ = 0;  // of its two works, those that are not back at its origin
  bool deaf_ = false;     // away: a stop that arrives now has no effect
  bool stopped_ = false;
};

using waiter_queue = base::intrusive_list<waiter>;

// Grants all of them what they wait for, in order. One that runs on another thread may destroy the primitive
// at once: its queue is not touched any more when the first is resumed.
inline void resume_all(waiter_queue& waiters) noexcept {
  waiter_queue all;
  all.take(waiters);
  while (waiter* w = all.pop_front()) w->resume_soon();
}

}  // namespace coracle::coro
