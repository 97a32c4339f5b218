// watch<T>: a value that changes, and tasks that wait for its latest state.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

/// Distributes the latest state of a value. It has an owner loop (coro/impl/primitive.hpp): any task may
/// await observer::changed(), set() and close() may be called on any thread, value() is for the owner loop,
/// and an observer may be made on any thread.
///
///     coracle::watch<limits>::observer mine(current);
///     while (auto latest = co_await mine.changed()) adjust(*latest);      // the present value first
///
/// An observer is notified that there is a value it has not seen, and gets the latest one; it may miss values
/// in between. To receive every value, use queue or broadcast.
///
/// Waiting observers resume through their own loop's queue, first come, first served, after the current work
/// item. Each gets a copy, made on the owner loop; a copy constructor that throws ends the program. If a
/// waiter's environment is stopped, its await throws coro::cancelled and the observer has seen nothing. A
/// stop after it was given the value does not undo that. After close(), observers get the latest value if
/// they have not seen it, then std::nullopt; values set after close() are dropped. set() allocates only when
/// it is called off the owner loop.
template <class T>
class watch : public coro::primitive<watch<T>> {
  static_assert(std::is_copy_constructible_v<T>, "every observer receives a copy of the value");
  static_assert(std::is_nothrow_move_assignable_v<T>, "a value must not be lost in a throwing move");
  using base = coro::primitive<watch<T>>;

 public:
  /// A watch with its first value. Owned by the loop it is made on, or, made on a plain thread, by the first
  /// loop whose task uses it.
  explicit watch(T first) noexcept : value_(std::move(first)) {}
  /// The same, owned by `owner_loop`.
  watch(T first, coro::executor& owner_loop) noexcept : base(owner_loop), value_(std::move(first)) {}
  ~watch() {
    this->close_remote_calls();
    CORACLE_ASSERT(waiters_.empty(),
                   "a watch was destroyed while observers wait: close() it and join them first");
  }

  /// Replaces the value and notifies all observers. Does not wait.
  void set(T value) {
    if (this->on_owner_loop()) set_here(std::move(value));
    else this->run_on_owner_loop([this, v = std::move(value)]() mutable { set_here(std::move(v)); });
  }
  /// Closes the watch. Idempotent.
  void close() noexcept {
    if (this->on_owner_loop()) close_here();
    else this->post_remote_calls();
  }
  /// Returns the latest value. For the owner loop; valid until the next set().
  [[nodiscard]] const T& value() const noexcept { return value_; }

  class observer;
  /// @cond
  class [[nodiscard]] awaiter : public coro::waiting_call<awaiter, watch> {
   public:
    explicit awaiter(observer& o) noexcept : coro::waiting_call<awaiter, watch>(o.of_), by_(o) {}
    std::optional<T> await_resume() {
      this->throw_if_stopped();
      return std::move(seen_);
    }

   private:
    friend class watch;
    friend coro::waiting_call<awaiter, watch>;
    bool attempt() noexcept {
      if (by_.seen_ != this->at().version_) take();
      return seen_ || this->at().closed_;
    }
    void take() noexcept {
      by_.seen_ = this->at().version_;
      seen_.emplace(this->at().value_);
    }
    observer& by_;
    std::optional<T> seen_;
  };
  /// @endcond

  /// Follows the value; has seen nothing at first. For one task at a time. It must not outlive the watch and
  /// must not be destroyed while its changed() waits.
  class observer {
   public:
    /// Follows `w` from its present value on. On any thread.
    explicit observer(watch& w) noexcept : of_(w) {}
    /// Returns the latest value when there is one that this observer has not seen, or an empty optional when
    /// the watch is closed and there will be none.
    awaiter changed() noexcept { return awaiter(*this); }

   private:
    friend class awaiter;
    watch& of_;
    std::uint64_t seen_ = 0;
  };

 private:
  friend base;
  template <class, class>
  friend class coro::waiting_call;
  void set_here(T value) noexcept {
    if (closed_) return;
    value_ = std::move(value);
    ++version_;
    waiters_.for_each([](coro::waiter& w) { awaiter::of(w).take(); });
    coro::resume_all(waiters_);
  }
  void close_here() noexcept {
    closed_ = true;
    coro::resume_all(waiters_);
  }
  void on_remote_calls(std::uint64_t) noexcept { close_here(); }

  T value_;
  std::uint64_t version_ = 1;
  coro::waiter_queue waiters_;  // they have seen this version
  bool closed_ = false;
};

}  // namespace coracle
