// waiter: a suspended task in the queue of a primitive (a mutex, a queue, ...).
#pragma once

#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/home.hpp"

#include <coroutine>
#include <cstdint>

namespace coracle::coro {

// Lives in an awaiter, from its await_suspend on; if the primitive does not make the task wait, no waiter is
// made. It waits on the primitive's owner loop, also for a task of another loop, and ends exactly once, in
// one of two ways:
// - granted: the primitive removes it from its queue and calls resume_soon(). From then on a stop has no
//   effect: the task keeps what it was granted, although it has not resumed yet.
// - stopped: it is removed from the queue, and then abandoned() is called so that the primitive can update
//   its queue. throw_if_stopped() throws when the task has resumed.
//
// The task resumes through the queue of the executor on which it began to wait.
//
// For a task of another loop, the waiter itself travels: to the owner loop, and back when it has ended. A
// stop there sends a second runnable after it, and the task resumes when both are back, so that nothing in
// its frame is in flight when the frame is destroyed. Only a frame that waits on the owner loop may be
// destroyed while it waits: the waiter's destructor removes it from the queue.
class waiter : public base::list_hook, work {
 public:
  // For await_suspend. Returns false if the task would have to wait and a stop was requested before: the task
  // then continues immediately with throw_if_stopped().
  bool start(home& at, std::coroutine_handle<> h, stop_token stop) noexcept;
  // Resumes the task. Called on the owner loop, when the waiter is not in the queue.
  void resume_soon() noexcept;
  // From now on, stops have no effect; for what is granted in two steps. Called on the owner loop.
  void ignore_stops() noexcept;
  void throw_if_stopped() const {
    if (stopped_) throw cancelled();
  }

 protected:
  waiter() noexcept : on_stop_(*this) {}
  ~waiter();

 private:
  // Implemented by the primitive; all are called on the owner loop.
  // Takes what the task waits for, if it is available.
  virtual bool attempt() noexcept = 0;
  // Adds the waiter to the queue.
  virtual void enqueue() noexcept = 0;
  // A stop has removed the waiter from the queue. Must make sure that the task resumes.
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
  executor* away_ = nullptr;  // where it waits, if not on its origin
  stop_hook on_stop_;
  stop_letter stop_;
  std::uint8_t out_ = 0;  // how many of its two runnables are not back at the origin
  bool deaf_ = false;  // remote waits: a stop that arrives now has no effect
  bool stopped_ = false;
};

using waiter_queue = base::intrusive_list<waiter>;

// Grants all waiters what they wait for, in order. A waiter that runs on another thread may destroy the
// primitive immediately, so this does not access its queue after the first waiter was resumed.
inline void resume_all(waiter_queue& waiters) noexcept {
  waiter_queue all;
  all.take(waiters);
  while (waiter* w = all.pop_front()) w->resume_soon();
}

}  // namespace coracle::coro
