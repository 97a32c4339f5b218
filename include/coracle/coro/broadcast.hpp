// broadcast<T>: each message to every subscriber; who is too slow is told how many it lost.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

// Has a home loop (coro/impl/primitive.hpp): subscriber::next() from any task, send() and close() from any thread,
// a subscriber may be made on any.
//
//   coracle::broadcast<quote>::subscriber mine(quotes);          // hears what is sent from here on
//   while (auto heard = co_await mine.next()) use(heard->message(), heard->lost());
//
// Nobody makes a sender wait: the last `capacity` messages are kept, and a subscriber that falls
// further behind goes on with the oldest of them; lost() of that message says how many it missed before it.
//
// Order: all hear the messages in the order in which they reached the home. Waiting subscribers resume through
// their loop's queue, first come first served, after the current work, with the message in hand: what is
// sent before they run does not push it out. Each gets a copy, made at home; one that throws ends the
// program. Large messages are better sent as std::shared_ptr<const T>.
// A stop of a waiter's environment throws coro::cancelled out of its await, and it has heard nothing; a
// stop after it was given a message does not undo that. close(): subscribers hear what is kept,
// then std::nullopt; what is sent after it is dropped. The memory for `capacity` messages is taken in the
// constructor; send() allocates away from home only.
template <class T>
class broadcast : public coro::primitive<broadcast<T>> {
  static_assert(std::is_copy_constructible_v<T>, "every subscriber gets a copy of the message");
  static_assert(std::is_nothrow_move_constructible_v<T>, "a message must not be lost in a throwing move");
  using base = coro::primitive<broadcast<T>>;

 public:
  explicit broadcast(std::size_t capacity) : kept_(memory(capacity)), capacity_(capacity) {}
  broadcast(std::size_t capacity, coro::executor& home)
      : base(home), kept_(memory(capacity)), capacity_(capacity) {}
  ~broadcast() {
    this->leave_home();
    CORACLE_ASSERT(waiters_.empty(),
                   "a broadcast was destroyed while subscribers wait: close() it and join them first");
  }

  void send(T message) {
    if (this->at_home()) send_here(std::move(message));
    else this->run_at_home([this, m = std::move(message)]() mutable { send_here(std::move(m)); });
  }
  // Idempotent.
  void close() noexcept {
    if (this->at_home()) close_here();
    else this->call_home();
  }
  // Messages that have reached the home so far. Any thread.
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_acquire); }

  class heard {
   public:
    heard(const T& message, std::uint64_t lost) : message_(message), lost_(lost) {}
    [[nodiscard]] T& message() noexcept { return message_; }
    // How many messages right before this one came and went unheard.
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }

   private:
    T message_;
    std::uint64_t lost_;
  };

  class subscriber;
  class [[nodiscard]] awaiter : public coro::waiting_call<awaiter, broadcast> {
   public:
    explicit awaiter(subscriber& s) noexcept : coro::waiting_call<awaiter, broadcast>(s.from_), to_(s) {}
    std::optional<heard> await_resume() {
      this->throw_if_stopped();
      return std::move(heard_);
    }

   private:
    friend class broadcast;
    friend coro::waiting_call<awaiter, broadcast>;
    bool attempt() noexcept {
      if (to_.next_ < this->at().sent()) take();
      return heard_ || this->at().closed_;
    }
    void take() noexcept {
      const std::uint64_t lost = this->at().lost_from(to_.next_);
      to_.next_ += lost;
      heard_.emplace(this->at().message(to_.next_++), lost);
    }
    subscriber& to_;
    std::optional<heard> heard_;
  };

  // One task at a time; must not outlive the broadcast, nor go while its next() waits. A copy stands
  // where the other one stands.
  class subscriber {
   public:
    explicit subscriber(broadcast& b) noexcept : from_(b), next_(b.sent()) {}
    // The next message, or nothing when the broadcast is closed and all was heard.
    awaiter next() noexcept { return awaiter(*this); }

   private:
    friend class awaiter;
    broadcast& from_;
    std::uint64_t next_;
  };

 private:
  friend base;
  template <class, class>
  friend class coro::waiting_call;
  static std::unique_ptr<std::optional<T>[]> memory(std::size_t capacity) {
    CORACLE_REQUIRE(capacity != 0, "a broadcast that keeps nothing: give it a capacity of 1 or more");
    return std::make_unique<std::optional<T>[]>(capacity);
  }
  [[nodiscard]] std::uint64_t lost_from(std::uint64_t next) const noexcept {
    const std::uint64_t oldest = sent() > capacity_ ? sent() - capacity_ : 0;
    return next < oldest ? oldest - next : 0;
  }
  [[nodiscard]] const T& message(std::uint64_t n) const noexcept { return *kept_[n % capacity_]; }
  void send_here(T message) noexcept {
    if (closed_) return;
    const std::uint64_t n = sent();
    kept_[n % capacity_].emplace(std::move(message));
    sent_.store(n + 1, std::memory_order_release);
    waiters_.for_each([](coro::waiter& w) { awaiter::of(w).take(); });
    coro::resume_all(waiters_);
  }
  void close_here() noexcept {
    closed_ = true;
    coro::resume_all(waiters_);
  }
  void called_from_elsewhere(std::uint64_t) noexcept { close_here(); }

  std::unique_ptr<std::optional<T>[]> kept_;
  const std::size_t capacity_;
  std::atomic<std::uint64_t> sent_{0};  // written at home
  coro::waiter_queue waiters_;  // they have heard everything
  bool closed_ = false;
};

}  // namespace coracle
