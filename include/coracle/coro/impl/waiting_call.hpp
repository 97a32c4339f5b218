// waiting_call: the shared awaiter of the primitives: a fast path on the owner loop, a remote call otherwise.
// waiter: its suspended task.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/owner_loop.hpp"

#include <coroutine>
#include <cstdint>
#include <optional>

namespace coracle::coro {

// A suspended task in the queue of a primitive (a mutex, a queue, ...). Lives in an awaiter, from its
// await_suspend on; if the primitive does not make the task wait, no waiter is made. It waits on the
// primitive's owner loop, also for a task of another loop, and ends exactly once, in one of two ways:
// - granted: the primitive removes it from its queue and calls resume_soon(). From then on a stop has no
//   effect: the task keeps what it was granted, although it has not resumed yet.
// - stopped: it is removed from the queue, and then on_stopped() is called so that the primitive can update
//   its queue. throw_if_stopped() throws when the task has resumed.
//
// The task resumes through the queue of the executor on which it began to wait.
//
// For a task of another loop, the waiter itself travels: to the owner loop, and back when it has ended. A
// stop there sends a second runnable after it, and the task resumes when both are back, so that nothing in
// its frame is in flight when the frame is destroyed. Only a frame that waits on the owner loop may be
// destroyed while it waits: the waiter's destructor removes it from the queue.
class waiter : public base::list_hook, runnable {
 public:
  // For await_suspend. Returns false if the task would have to wait and a stop was requested before: the task
  // then continues immediately with throw_if_stopped().
  bool start(owner_loop& at, std::coroutine_handle<> h, stop_token stop) noexcept;
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
  virtual void on_stopped() noexcept = 0;

  void on_arrived() noexcept;
  void on_stop_requested() noexcept;
  void on_stop_arrived() noexcept;
  void on_returned() noexcept;

  struct stop_hook : stop_callback {
    explicit stop_hook(waiter& w) noexcept;
    waiter& owner;
  };
  struct remote_stop : runnable {
    waiter* owner = nullptr;
  };
  std::coroutine_handle<> task_;
  executor* origin_ = nullptr;
  executor* waiting_on_ = nullptr;  // where it waits, if not on its origin
  stop_hook on_stop_;
  remote_stop stop_;
  std::uint8_t in_flight_ = 0;  // how many of its two runnables are not back at the origin
  bool ignores_stops_ = false;  // remote waits: a stop that arrives now has no effect
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

// The awaiter. A Call derives from this class and defines:
//   bool attempt()              takes what it waits for, if it is available; on the owner loop
//   void enqueue(waiter&)       only if it does more than append to at().waiters_; on the owner loop
//   void on_stopped(waiter&)     only if the queue needs an update after a stop; must call resume_soon();
//                               on the owner loop
//   R await_resume()            calls throw_if_stopped() first; on the loop of the awaiting task
// The Primitive derives from primitive<> and must outlive the wait.
template <class Call, class Primitive>
class waiting_call {
 public:
  explicit waiting_call(Primitive& p) noexcept : at_(p) {}
  // Moves a call that has not been awaited yet.
  waiting_call(waiting_call&& other) noexcept : at_(other.at_) {
    CORACLE_ASSERT(!other.waiter_, "a wait was moved after it was awaited");
  }
  waiting_call& operator=(waiting_call&&) = delete;

  [[nodiscard]] bool await_ready() noexcept { return at_.owner_loop_.is_current() && call().attempt(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
    return waiter_.emplace(call()).start(at_.owner_loop_, h, environment_of(h).stop);
  }
  // For block_on(). Null while the primitive has no owner loop.
  [[nodiscard]] executor* owner_loop() const noexcept { return at_.owner_loop(); }

 protected:
  ~waiting_call() = default;
  [[nodiscard]] bool waited() const noexcept { return waiter_.has_value(); }
  void throw_if_stopped() const {
    if (waiter_) [[unlikely]]
      waiter_->throw_if_stopped();
  }
  [[nodiscard]] Primitive& at() const noexcept { return at_; }
  // Returns the call that waits with `w`.
  static Call& of(waiter& w) noexcept { return static_cast<queued_waiter&>(w).call; }

  void enqueue(waiter& w) noexcept { at_.waiters_.push_back(w); }
  void on_stopped(waiter& w) noexcept { w.resume_soon(); }

 private:
  friend Primitive;
  class queued_waiter final : public waiter {
   public:
    explicit queued_waiter(Call& c) noexcept : call(c) {}
    Call& call;

   private:
    bool attempt() noexcept override { return call.attempt(); }
    void enqueue() noexcept override { call.enqueue(*this); }
    void on_stopped() noexcept override { call.on_stopped(*this); }
  };
  Call& call() noexcept { return static_cast<Call&>(*this); }
  Primitive& at_;
  std::optional<queued_waiter> waiter_;
};

}  // namespace coracle::coro
