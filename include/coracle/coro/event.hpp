// event: a flag that tasks wait for, with or without a value.
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

/// A flag that tasks can wait for. event<> has no value; event<T> has one.
template <class T = void>
class event;

/// A flag without a value. It has an owner loop (coro/impl/primitive.hpp): any task may co_await the event,
/// set() may be called on any thread, and reset() only on the owner loop.
///
/// Waiters resume through their own loop's queue, first come, first served, after the current work item.
/// set() has released them: a reset() before they run does not undo that, and they do not access the event
/// any more, so it may be destroyed as soon as it is set. If a waiter's environment is stopped, its await
/// throws coro::cancelled and the event does not change. Awaiting an event that is set does not suspend on
/// the owner loop.
template <>
class event<void> : public coro::primitive<event<void>> {
 public:
  /// Owned by the loop it is made on; made on a plain thread, by the first loop whose task uses it.
  event() noexcept = default;
  /// Owned by `owner_loop`.
  explicit event(coro::executor& owner_loop) noexcept : primitive(owner_loop) {}
  ~event() {
    this->close_remote_calls();
    CORACLE_ASSERT(waiters_.empty(), "an event was destroyed while tasks wait for it: join them first");
  }

  /// Sets the event and releases all waiters. Idempotent; does not wait.
  void set() noexcept {
    if (on_owner_loop()) open();
    else post_remote_calls();
  }
  /// Clears the event. Throws usage_error off the owner loop.
  void reset() {
    CORACLE_REQUIRE(on_owner_loop(), "reset() of an event on another loop: post the call to its owner loop");
    set_ = false;
  }
  /// Returns whether the event is set. For the owner loop.
  [[nodiscard]] bool is_set() const noexcept { return set_; }

  /// Sets the event when it is destroyed, on every path out of a task or function.
  class [[nodiscard]] guard {
   public:
    /// `e` must outlive the guard.
    explicit guard(event& e) noexcept : event_(e) {}
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() { event_.set(); }

   private:
    event& event_;
  };

  /// @cond
  class awaiter : public coro::waiting_call<awaiter, event> {
   public:
    using waiting_call::waiting_call;
    void await_resume() const { throw_if_stopped(); }

   private:
    friend waiting_call;
    bool attempt() const noexcept { return at().set_; }
  };
  /// @endcond
  /// Waits until the event is set.
  awaiter operator co_await() noexcept { return awaiter(*this); }

 private:
  friend primitive;
  template <class, class>
  friend class coro::waiting_call;
  void open() noexcept {
    set_ = true;
    coro::resume_all(waiters_);
  }
  void on_remote_calls(std::uint64_t) noexcept { open(); }
  coro::waiter_queue waiters_;
  bool set_ = false;
};

/// An event with a value. All tasks that wait now or later get a reference to the value, on whichever loop
/// they run, so call reset() and the destructor only when they no longer use it. Otherwise as event<>.
template <class T>
class event : public coro::primitive<event<T>> {
  static_assert(std::is_object_v<T>, "event<T> requires a value type: use event<> for no value");
  using base = coro::primitive<event<T>>;

 public:
  /// Owned by the loop it is made on; made on a plain thread, by the first loop whose task uses it.
  event() noexcept = default;
  /// Owned by `owner_loop`.
  explicit event(coro::executor& owner_loop) noexcept : base(owner_loop) {}
  ~event() {
    this->close_remote_calls();
    CORACLE_ASSERT(waiters_.empty(), "an event was destroyed while tasks wait for it: join them first");
  }

  /// Stores the value and releases all waiters. Throws usage_error if there is a value already: call reset()
  /// first.
  void set(T value) {
    CORACLE_REQUIRE(!given_.exchange(true, std::memory_order_acquire),
                    "an event was set twice: call reset() in between, or use a watch or a queue");
    value_.emplace(std::move(value));
    if (this->on_owner_loop()) open();
    else this->post_remote_calls();
  }
  /// Destroys the value and clears the event. Throws usage_error off the owner loop.
  void reset() {
    CORACLE_REQUIRE(this->on_owner_loop(),
                    "reset() of an event on another loop: post the call to its owner loop");
    if (!set_) return;
    set_ = false;
    value_.reset();
    given_.store(false, std::memory_order_release);  // after the old value is destroyed
  }
  /// Returns whether the event is set. For the owner loop.
  [[nodiscard]] bool is_set() const noexcept { return set_; }

  /// @cond
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
  /// @endcond
  /// Waits until the event is set: `const T&`, valid until reset() or the destructor.
  awaiter operator co_await() noexcept { return awaiter(*this); }

 private:
  friend base;
  template <class, class>
  friend class coro::waiting_call;
  void open() noexcept {
    set_ = true;
    coro::resume_all(waiters_);
  }
  void on_remote_calls(std::uint64_t) noexcept { open(); }
  coro::waiter_queue waiters_;
  std::optional<T> value_;
  std::atomic<bool> given_{false};
  bool set_ = false;  // `given_`, as the owner loop knows it
};

}  // namespace coracle
