// event: a door that is shut until set() opens it for good (or until reset()).
#pragma once

#include "coracle/base/intrusive_list.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"

#include <coroutine>

namespace coracle {

// event<> is the door alone.
template <class T = void>
class event;

// Lives on one executor; set(), reset() and co_await are for its thread. Waiters resume on it
// through its queue, first come first served, after the current work. A stop of a waiter's
// environment throws coro::cancelled out of its await and leaves the event as it is.
template <>
class event<void> {
 public:
  event() noexcept = default;
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { CORACLE_ASSERT(waiters_.empty(), "an event was destroyed while tasks wait for it"); }

  void set() noexcept;
  void reset() noexcept { set_ = false; }
  [[nodiscard]] bool is_set() const noexcept { return set_; }

  class awaiter : public base::list_hook, coro::work {
   public:
    explicit awaiter(event<>& e) noexcept;
    [[nodiscard]] bool await_ready() const noexcept { return event_.set_; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      return start(h, coro::environment_of(h).stop);
    }
    void await_resume() const {
      if (stopped_) throw coro::cancelled();
    }

   private:
    friend class event;
    bool start(std::coroutine_handle<> h, coro::stop_token stop) noexcept;
    void resume_soon() noexcept;
    event& event_;
    std::coroutine_handle<> waiter_;
    bool stopped_ = false;
    struct stop_hook : coro::stop_callback {
      explicit stop_hook(awaiter& a) noexcept;
      awaiter& owner;
    };
    stop_hook on_stop_;
  };
  awaiter operator co_await() noexcept { return awaiter(*this); }

 private:
  base::intrusive_list<awaiter> waiters_;
  bool set_ = false;
};

}  // namespace coracle
