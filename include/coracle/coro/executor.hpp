// executor: where coroutines run. A loop of the runtime is one; the room coro knows no more of it.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/coro/impl/attachment.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/impl/task_tree.hpp"

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <utility>

namespace coracle::coro {

// A piece of work that waits in an executor's queue. Intrusive: it lives in whoever posts it, is
// in at most one queue, and must stay alive until run() was called.
struct work {
  void (*run)(work&) noexcept = nullptr;
  work* next = nullptr;
};

// A timer, intrusive likewise: must be disarmed (or have fired) before it is destroyed. `fire` is
// called on the executor's thread, never before `when`, and may arm the timer again.
struct timer {
  void (*fire)(timer&) noexcept = nullptr;
  time_point when{};
  // Links of the executor that holds it; armed while `holder` is not null.
  timer* next = nullptr;
  timer* prev = nullptr;
  void* holder = nullptr;
  std::uint32_t place = 0;
};

// Driven by at most one thread at a time. Everything but post() is for that thread only.
class executor {
 public:
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  // Queues `w` behind what is queued already. Any thread; wakes the executor when it sleeps.
  virtual void post(work& w) noexcept = 0;
  // Queues `w` for the next turn, so that I/O and timers come first. Own thread only.
  virtual void post_next_turn(work& w) noexcept { post(w); }
  // Runs `w` at the end of the current turn, before the executor looks at I/O again: the place to
  // send what the turn has gathered. Own thread only.
  virtual void at_turn_end(work& w) noexcept = 0;
  virtual void arm(timer& t, time_point when) noexcept = 0;
  virtual void disarm(timer& t) noexcept = 0;
  // The time at the start of the current turn.
  [[nodiscard]] virtual time_point now() const noexcept = 0;

  // The executor that this thread is driving at the moment, or null on a plain thread.
  [[nodiscard]] static executor* current() noexcept { return current_; }
  [[nodiscard]] bool is_current() const noexcept { return current_ == this; }
  // The tasks that run here, for its thread only.
  [[nodiscard]] task_tree& tasks() noexcept { return tasks_; }
  // The executor's own T, a kind of attachment with a default constructor. For its thread only; there are few of
  // them, and finding one costs a comparison or two.
  template <class T>
  [[nodiscard]] T& attached() {
    static constexpr char type = 0;
    for (attachment* a = attachments_.get(); a; a = a->next_.get())
      if (a->type_ == &type) return static_cast<T&>(*a);
    auto made = std::make_unique<T>();
    T& found = *made;
    found.attachment::type_ = &type;
    found.attachment::next_ = std::move(attachments_);
    attachments_ = std::move(made);
    return found;
  }
  // Tells kinds of executors apart without RTTI: the address of something that the kind owns, or null.
  [[nodiscard]] const void* kind() const noexcept { return kind_; }

 protected:
  explicit executor(const void* kind = nullptr) noexcept : kind_(kind) {}
  ~executor() = default;
  // Before anything runs on it.
  void take_memory_from(std::pmr::memory_resource& resource) noexcept { frames_.use(resource); }
  [[nodiscard]] const frame_pool& frames() const noexcept { return frames_; }

  // Makes an executor the thread's current one for a scope; they nest.
  class entry {
   public:
    explicit entry(executor& e) noexcept
        : before_(current_), pool_before_(frame_pool::exchange_current(&e.frames_)) {
      current_ = &e;
    }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() {
      current_ = before_;
      frame_pool::exchange_current(pool_before_);
    }

   private:
    executor* before_;
    frame_pool* pool_before_;
  };

 private:
  [[gnu::visibility("default")]] static inline constinit thread_local executor* current_ = nullptr;
  const void* kind_;
  frame_pool frames_;
  task_tree tasks_;
  std::unique_ptr<attachment> attachments_;
};

// The current executor; a defect of the caller (abort) where there is none.
executor& this_executor() noexcept;

}  // namespace coracle::coro
