// broadcast<T>: sends each message to every subscriber; slow subscribers learn how many messages they lost.
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

/// Sends each message to all subscribers. It has an owner loop (coro/impl/primitive.hpp): any task may await
/// subscriber::next(); send() and close() may be called, and a subscriber may be made, on any thread.
///
///     coracle::broadcast<quote>::subscriber mine(quotes);          // receives what is sent from here on
///     while (auto heard = co_await mine.next()) use(heard->message(), heard->lost());
///
/// Senders never wait. The broadcast keeps the last `capacity` messages; a subscriber that falls further
/// behind continues with the oldest of them, and lost() of that message returns how many it missed before it.
///
/// Order: all subscribers receive the messages in the order in which they reached the owner loop. Waiting
/// subscribers resume through their own loop's queue, first come, first served, after the current work item,
/// and already hold their message: messages that are sent before they run do not displace it. Each subscriber
/// gets a copy, made on the owner loop; a copy constructor that throws ends the program. Send large messages
/// as std::shared_ptr<const T>.
///
/// If a waiter's environment is stopped, its await throws coro::cancelled and has received nothing. A stop
/// after the waiter was given a message does not undo that. After close(), subscribers receive the messages
/// that are kept, then std::nullopt; messages sent after close() are dropped. The constructor allocates the
/// memory for `capacity` messages; send() allocates only when it is called off the owner loop.
template <class T>
class broadcast : public coro::primitive<broadcast<T>> {
  static_assert(std::is_copy_constructible_v<T>, "every subscriber receives a copy of the message");
  static_assert(std::is_nothrow_move_constructible_v<T>, "a message must not be lost in a throwing move");
  using base = coro::primitive<broadcast<T>>;

 public:
  /// `capacity` is the number of messages to keep, at least 1; 0 throws usage_error.
  explicit broadcast(std::size_t capacity) : kept_(memory(capacity)), capacity_(capacity) {}
  /// The same, owned by `owner_loop`.
  broadcast(std::size_t capacity, coro::executor& owner_loop)
      : base(owner_loop), kept_(memory(capacity)), capacity_(capacity) {}
  ~broadcast() {
    this->close_remote_calls();
    CORACLE_ASSERT(waiters_.empty(),
                   "a broadcast was destroyed while subscribers wait: close() it and join them first");
  }

  /// Sends a message to all subscribers. Does not wait.
  void send(T message) {
    if (this->on_owner_loop()) send_here(std::move(message));
    else this->run_on_owner_loop([this, m = std::move(message)]() mutable { send_here(std::move(m)); });
  }
  /// Closes the broadcast. Idempotent.
  void close() noexcept {
    if (this->on_owner_loop()) close_here();
    else this->post_remote_calls();
  }
  /// Returns the number of messages that have reached the owner loop so far. Any thread may call this.
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_acquire); }

  /// A message that a subscriber received.
  class received_message {
   public:
    /// @cond
    received_message(const T& message, std::uint64_t lost) : message_(message), lost_(lost) {}
    /// @endcond
    /// Returns the message, which this object owns.
    [[nodiscard]] T& message() noexcept { return message_; }
    /// Returns how many messages directly before this one the subscriber has missed.
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }

   private:
    T message_;
    std::uint64_t lost_;
  };

  class subscriber;
  /// @cond
  class [[nodiscard]] awaiter : public coro::waiting_call<awaiter, broadcast> {
   public:
    explicit awaiter(subscriber& s) noexcept : coro::waiting_call<awaiter, broadcast>(s.from_), to_(s) {}
    std::optional<received_message> await_resume() {
      this->throw_if_stopped();
      return std::move(received_);
    }

   private:
    friend class broadcast;
    friend coro::waiting_call<awaiter, broadcast>;
    bool attempt() noexcept {
      if (to_.next_ < this->at().sent()) take();
      return received_ || this->at().closed_;
    }
    void take() noexcept {
      const std::uint64_t lost = this->at().lost_from(to_.next_);
      to_.next_ += lost;
      received_.emplace(this->at().message(to_.next_++), lost);
    }
    subscriber& to_;
    std::optional<received_message> received_;
  };
  /// @endcond

  /// Receives the messages that are sent after its construction. For one task at a time. It must not outlive
  /// the broadcast and must not be destroyed while its next() waits. A copy continues from the position of
  /// the original.
  class subscriber {
   public:
    /// Subscribes to the messages that are sent from now on. On any thread.
    explicit subscriber(broadcast& b) noexcept : from_(b), next_(b.sent()) {}
    /// Returns the next message, or an empty optional when the broadcast is closed and all messages have been
    /// received.
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
    CORACLE_REQUIRE(capacity != 0, "a broadcast of capacity 0: pass a capacity of 1 or more");
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
  void on_remote_calls(std::uint64_t) noexcept { close_here(); }

  std::unique_ptr<std::optional<T>[]> kept_;
  const std::size_t capacity_;
  std::atomic<std::uint64_t> sent_{0};  // written on the owner loop
  coro::waiter_queue waiters_;  // they have received all messages
  bool closed_ = false;
};

}  // namespace coracle
