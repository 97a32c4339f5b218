// queue<T>: a bounded multi-producer, multi-consumer queue of messages between tasks.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/ring.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

/// @cond
namespace coro {

template <class T>
struct kept_message {
  T kept;
};

}  // namespace coro
/// @endcond

/// A bounded queue for any number of senders and receivers. It has an owner loop (coro/impl/primitive.hpp):
/// any task may await send() and receive(), post() and close() may be called on any thread, and try_send()
/// and try_receive() are for the owner loop.
///
///     if (!co_await jobs.send(std::move(job))) ...               // closed: `job` is unchanged
///     while (true) {
///       std::optional<job> next = co_await jobs.receive();
///       if (!next) break;                                        // closed and drained
///
/// A queue of capacity 0 is a rendezvous: a send waits until a receiver takes the message. Otherwise a send
/// waits only while the queue is full.
///
/// Order: messages are received in the order in which they were sent. Waiting senders and receivers are
/// served first come, first served, and try_send() and try_receive() do not overtake them. Waiters resume
/// through their own loop's queue, after the current work item. A message is moved out of the sender's object
/// when it is sent.
///
/// If a waiter's environment is stopped, its await throws coro::cancelled: a stopped send has not moved its
/// message, and a stopped receive has taken none. A stop after the message was passed on does not undo that:
/// the await succeeds.
///
/// After close(), sends return false, also those that wait, and their messages stay with the senders.
/// Receives return the messages in the queue, then std::nullopt. The constructor allocates the memory for
/// `capacity` messages; the queue never grows.
template <class T>
class queue : public coro::primitive<queue<T>> {
  static_assert(std::is_nothrow_move_constructible_v<T>, "a message must not be lost in a throwing move");
  using base = coro::primitive<queue<T>>;

 public:
  /// A queue for up to `capacity` messages; 0 makes it a rendezvous. Owned by the loop it is made on, or,
  /// made on a plain thread, by the first loop whose task uses it.
  explicit queue(std::size_t capacity) : messages_(capacity) {}
  /// The same, owned by `owner_loop`.
  queue(std::size_t capacity, coro::executor& owner_loop) : base(owner_loop), messages_(capacity) {}
  ~queue() {
    this->close_remote_calls();
    CORACLE_ASSERT(senders_.empty() && receivers_.empty(),
                   "a queue was destroyed while tasks wait in it: close() it and join them first");
  }

  /// @cond
  class [[nodiscard]] send_awaiter : public coro::waiting_call<send_awaiter, queue> {
   public:
    send_awaiter(queue& c, T& message) noexcept
        : coro::waiting_call<send_awaiter, queue>(c), message_(message) {}
    /// Returns whether the message was sent; false when the queue is closed.
    [[nodiscard]] bool await_resume() const {
      this->throw_if_stopped();
      return sent_;
    }

   private:
    friend class queue;
    friend coro::waiting_call<send_awaiter, queue>;
    bool attempt() noexcept {
      sent_ = this->at().take_in(std::move(message_));
      return sent_ || this->at().closed_;
    }
    void enqueue(coro::waiter& w) noexcept { this->at().senders_.push_back(w); }
    void resume(coro::waiter& w) noexcept {
      sent_ = true;
      w.resume_soon();
    }
    T& message_;
    bool sent_ = false;
  };
  // Sends a copy, which the awaiter keeps.
  class [[nodiscard]] copy_send_awaiter : coro::kept_message<T>, public send_awaiter {
   public:
    copy_send_awaiter(queue& c, const T& message)
        : coro::kept_message<T>{message}, send_awaiter(c, coro::kept_message<T>::kept) {}
  };

  class [[nodiscard]] receive_awaiter : public coro::waiting_call<receive_awaiter, queue> {
   public:
    using coro::waiting_call<receive_awaiter, queue>::waiting_call;
    // On the owner loop, a message that is present is not taken before await_resume(), directly from its
    // slot: moving an optional right after filling it costs more than everything else.
    [[nodiscard]] bool await_ready() noexcept {
      return this->at().on_owner_loop() && (this->at().has_message() || this->at().closed_);
    }
    std::optional<T> await_resume() {
      std::optional<T> message;
      if (this->waited()) granted(message);
      else this->at().hand_out(message);
      return message;
    }

   private:
    friend class queue;
    friend coro::waiting_call<receive_awaiter, queue>;
    bool attempt() noexcept {
      this->at().hand_out(message_);
      return message_ || this->at().closed_;
    }
    void enqueue(coro::waiter& w) noexcept { this->at().receivers_.push_back(w); }
    // Not inlined, or g++ 12 warns about a path on which the content of an empty optional is read.
    [[gnu::__noinline__]] void granted(std::optional<T>& into) {
      this->throw_if_stopped();
      if (message_) into.emplace(std::move(*message_));
    }
    std::optional<T> message_;
  };
  /// @endcond
  /// Sends an rvalue: `bool`, false if the queue is closed. The message must stay where it is until the await
  /// ends, and is moved from when it is sent.
  send_awaiter send(T&& message) noexcept { return send_awaiter(*this, message); }
  /// Sends a copy of `message`: `bool`, false if the queue is closed.
  copy_send_awaiter send(const T& message)
    requires std::is_copy_constructible_v<T>
  {
    return copy_send_awaiter(*this, message);
  }
  /// Waits for the next message; returns std::nullopt when the queue is closed and drained.
  receive_awaiter receive() noexcept { return receive_awaiter(*this); }

  /// Sends the message if send() would not wait. Otherwise, or if the queue is closed, returns false and
  /// leaves `message` unchanged. Throws usage_error off the owner loop; plain threads and other loops that do
  /// not want to wait call post().
  [[nodiscard]] bool try_send(T&& message) {
    CORACLE_REQUIRE(this->on_owner_loop(),
                    "try_send() on another loop than the queue's owner loop: use co_await send(), or post()");
    return take_in(std::move(message));
  }
  /// Returns the next message; nothing if receive() would wait or the queue is closed and drained. Throws
  /// usage_error off the owner loop.
  [[nodiscard]] std::optional<T> try_receive() {
    CORACLE_REQUIRE(this->on_owner_loop(),
                    "try_receive() on another loop than the queue's owner loop: use co_await receive()");
    std::optional<T> message;
    hand_out(message);
    return message;
  }
  /// Sends a message from any thread, without waiting for the end of the send. While the queue is full, the
  /// message waits among the senders; close() drops it. Allocates off the owner loop and while the message
  /// waits, without a bound: a thread that sends faster than the receivers take needs its own limit, or
  /// calls block_on(c.send(...)).
  void post(T message) {
    if (this->on_owner_loop()) send_detached(std::move(message));
    else this->run_on_owner_loop([this, m = std::move(message)]() mutable { send_detached(std::move(m)); });
  }

  /// Closes the queue. Idempotent.
  void close() noexcept {
    if (this->on_owner_loop()) close_here();
    else this->post_remote_calls();
  }
  /// Returns whether close() has reached the owner loop. For the owner loop.
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }
  /// Returns the number of messages in the queue, without those of senders that wait. For the owner loop.
  [[nodiscard]] std::size_t size() const noexcept { return messages_.size(); }
  /// Returns the capacity that the queue was made with. Any thread may call this.
  [[nodiscard]] std::size_t capacity() const noexcept { return messages_.capacity(); }

 private:
  friend base;
  template <class, class>
  friend class coro::waiting_call;
  // Receivers wait only while the queue is empty, and senders only while it is full.
  bool take_in(T&& message) noexcept {
    if (closed_) return false;
    if (coro::waiter* w = receivers_.pop_front()) {
      receive_awaiter::of(*w).message_.emplace(std::move(message));
      w->resume_soon();
      return true;
    }
    if (messages_.full()) return false;
    messages_.push(std::move(message));
    return true;
  }
  [[nodiscard]] bool has_message() noexcept { return !messages_.empty() || !senders_.empty(); }
  // Fills `into`, which is empty, in place: g++ 12 copies a returned optional through memory, with a stall.
  void hand_out(std::optional<T>& into) noexcept {
    coro::waiter* const sender = senders_.pop_front();
    if (messages_.empty()) {
      if (!sender) return;
      into.emplace(std::move(send_awaiter::of(*sender).message_));
    } else {
      into.emplace(std::move(messages_.front()));
      messages_.pop();
      if (sender) messages_.push(std::move(send_awaiter::of(*sender).message_));
    }
    // Last, after its message was moved out of its frame: the sender may run on another thread at once.
    if (sender) send_awaiter::of(*sender).resume(*sender);
  }
  void send_detached(T message) {
    if (!take_in(std::move(message)) && !closed_) wait_to_send(*this, std::move(message));
  }
  static coro::detached_task wait_to_send(queue& to, T message) {
    (void)co_await to.send(std::move(message));
  }
  void close_here() noexcept {
    closed_ = true;
    coro::waiter_queue all;
    all.take(senders_);
    all.take(receivers_);
    coro::resume_all(all);
  }
  void on_remote_calls(std::uint64_t) noexcept { close_here(); }

  coro::ring<T> messages_;
  bool closed_ = false;
  coro::waiter_queue senders_;
  coro::waiter_queue receivers_;
};

}  // namespace coracle
