// event: a door that is shut until set() opens it for good (or until reset()). event<T>: with a value behind it.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <atomic>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

// event<> is the door alone.
template <class T = void>
class event;

// Has a home loop (coro/impl/primitive.hpp): co_await from any task, set() from any thread, reset() at home.
//
// Waiters resume through their loop's queue, first come first served, after the current work. They
// were released by set(): a reset() before they run does not take that back, and they do not look at
// the event any more, so it may be destroyed as soon as it is set. A stop of a waiter's environment
// throws coro::cancelled out of its await and leaves the event as it is. Awaiting a set one at home
// does not suspend.
template <>
class event<void> : public coro::primitive<event<void>> {
 public:
  event() noexcept = default;
  explicit event(coro::executor& home) noexcept : primitive(home) {}
  ~event() {
    this->leave_home();
    CORACLE_ASSERT(waiters_.empty(), "an event was destroyed while tasks wait for it: join them first");
  }

  // Idempotent.
  void set() noexcept {
    if (at_home()) open();
    else call_home();
  }
  void reset() {
    CORACLE_REQUIRE(at_home(), "an event was reset away from its home loop: post that to its home()");
    set_ = false;
  }
  [[nodiscard]] bool is_set() const noexcept { return set_; }

  // Sets it when it is destroyed, on every path out of a task or function.
  class [[nodiscard]] guard {
   public:
    explicit guard(event& e) noexcept : event_(e) {}
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() { event_.set(); }

   private:
    event& event_;
  };

  class awaiter : public coro::waiting_call<awaiter, event> {
   public:
    using waiting_call::waiting_call;
    void await_resume() const { throw_if_stopped(); }

   private:
    friend waiting_call;
    bool attempt() const noexcept { return at().set_; }
  };
  awaiter operator co_await() noexcept { return awaiter(*this); }

 private:
  friend primitive;
  template <class, class>
  friend class coro::waiting_call;
  void open() noexcept {
    set_ = true;
    coro::resume_all(waiters_);
  }
  void called_from_elsewhere(std::uint64_t) noexcept { open(); }
  coro::waiter_queue waiters_;
  bool set_ = false;
};

// The same with a value, which set() gives to all that wait and to all that come later. They get a
// reference to it, on whatever loop they are: reset() and the destructor are for when they are done
// with it. Setting it twice without reset() is a defect of the caller.
template <class T>
class event : public coro::primitive<event<T>> {
  static_assert(std::is_object_v<T>, "event<T> keeps the value: for no value it is event<>");
  using base = coro::primitive<event<T>>;

 public:
  event() noexcept = default;
  explicit event(coro::executor& home) noexcept : base(home) {}
  ~event() {
    this->leave_home();
    CORACLE_ASSERT(waiters_.empty(), "an event was destroyed while tasks wait for it: join them first");
  }

  void set(T value) {
    CORACLE_REQUIRE(!given_.exchange(true, std::memory_order_acquire),
                    "an event got a second value: reset() it in between, or use a watch or a channel");
    value_.emplace(std::move(value));
    if (this->at_home()) open();
    else this->call_home();
  }
  void reset() {
    CORACLE_REQUIRE(this->at_home(), "an event was reset away from its home loop: post that to its home()");
    if (!set_) return;
    set_ = false;
    value_.reset();
    given_.store(false, std::memory_order_release);  // behind the end of the value before
  }
  [[nodiscard]] bool is_set() const noexcept { return set_; }

  class awaiter : public coro::waiting_call<awaiter, event> {
   public:
    using coro::waiting_call<awaiter, event>::waiting_call;
    const T& await_resume() const {
      this->throw_if_stopped();
      return *this->at().value_;
    }

   private:
    friend coro::waiting_call<awaiter, event>;
    bool attempt() const noexcept { return this->at().set_; }
  };
  awaiter operator co_await() noexcept { return awaiter(*this); }

 private:
  friend base;
  template <class, class>
  friend class coro::waiting_call;
  void open() noexcept {
    set_ = true;
    coro::resume_all(waiters_);
  }
  void called_from_elsewhere(std::uint64_t) noexcept { open(); }
  coro::waiter_queue waiters_;
  std::optional<T> value_;
  std::atomic<bool> given_{false};
  bool set_ = false;  // `given_`, as the home knows it
};

}  // namespace coracle
