// channel<T>: messages from tasks to tasks, with room for so many in between.
#pragma once

#include "coracle/base/assert.hpp"
#include "coracle/coro/waiter.hpp"

#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle::coro {

template <class T>
struct kept_message {
  T kept;
};

// Lives on one loop, whose tasks alone may call it; nothing is atomic. Any number of senders and
// receivers. Not to be mixed up with coracle::channel, which leads to a server.
//
//   if (!co_await jobs.send(std::move(job))) ...               // closed: `job` is as it was
//   while (true) {
//     std::optional<job> next = co_await jobs.receive();
//     if (!next) break;                                        // closed and drained
//
// Capacity 0 is a rendezvous: a send waits until a receiver takes the message. Otherwise it waits
// only while the channel is full.
//
// Order: messages arrive in the order of the sends; waiting senders and receivers take turns first
// come first served, and try_send() and try_receive() do not get between. Waiters resume through
// the loop's queue, after the current work. A message is moved out of the sender's object when it is sent.
//
// A stop of a waiter's environment throws coro::cancelled out of its await: a send that was stopped
// has not moved its message, a receive that was stopped has taken none. A stop after the message
// was passed on does not undo that: the await ends well.
//
// close(): sends give false from then on, the waiting ones included, whose messages stay theirs.
// Receives give what is in the channel, then std::nullopt. The memory for `capacity` messages is
// taken in the constructor, none after it.
template <class T>
class channel {
  static_assert(std::is_nothrow_move_constructible_v<T>, "a message must not be lost in a throwing move");

 public:
  explicit channel(std::size_t capacity)
      : slots_(capacity ? std::allocator<T>().allocate(capacity) : nullptr), capacity_(capacity) {}
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  ~channel() {
    CORACLE_ASSERT(senders_.empty() && receivers_.empty(),
                   "a channel was destroyed while tasks wait in it: close() it and join them first");
    while (size_) pop();
    if (slots_) std::allocator<T>().deallocate(slots_, capacity_);
  }

  class [[nodiscard]] send_awaiter {
   public:
    send_awaiter(channel& c, T& message) noexcept : channel_(c), message_(message) {}
    [[nodiscard]] bool await_ready() noexcept {
      sent_ = channel_.try_send(std::move(message_));
      return sent_ || channel_.closed_;
    }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      return wait_.emplace(*this).start(channel_.senders_, h, environment_of(h).stop);
    }
    // Whether it was sent; false: the channel is closed.
    [[nodiscard]] bool await_resume() const {
      if (wait_) wait_->throw_if_stopped();
      return sent_;
    }

   private:
    friend class channel;
    struct turn : waiter {
      explicit turn(send_awaiter& s) noexcept : send(s) {}
      send_awaiter& send;
    };
    channel& channel_;
    T& message_;
    bool sent_ = false;
    std::optional<turn> wait_;
  };
  // Of a copy, which the awaiter keeps.
  class [[nodiscard]] copy_send_awaiter : kept_message<T>, public send_awaiter {
   public:
    copy_send_awaiter(channel& c, const T& message)
        : kept_message<T>{message}, send_awaiter(c, kept_message<T>::kept) {}
  };

  class [[nodiscard]] receive_awaiter {
   public:
    explicit receive_awaiter(channel& c) noexcept : channel_(c) {}
    [[nodiscard]] bool await_ready() noexcept { return channel_.take(message_) || channel_.closed_; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> h) noexcept {
      return wait_.emplace(*this).start(channel_.receivers_, h, environment_of(h).stop);
    }
    std::optional<T> await_resume() {
      if (wait_) wait_->throw_if_stopped();
      return std::move(message_);
    }

   private:
    friend class channel;
    struct turn : waiter {
      explicit turn(receive_awaiter& r) noexcept : receive(r) {}
      receive_awaiter& receive;
    };
    channel& channel_;
    std::optional<T> message_;
    std::optional<turn> wait_;
  };
  // Of an rvalue: it has to stay where it is until the await ends, and is moved from when it is sent.
  send_awaiter send(T&& message) noexcept { return send_awaiter(*this, message); }
  copy_send_awaiter send(const T& message)
    requires std::is_copy_constructible_v<T>
  {
    return copy_send_awaiter(*this, message);
  }
  receive_awaiter receive() noexcept { return receive_awaiter(*this); }

  // False, and `message` is as it was, where send() would wait or the channel is closed.
  [[nodiscard]] bool try_send(T&& message) noexcept {
    if (closed_) return false;
    if (waiter* w = receivers_.pop_front()) {
      static_cast<typename receive_awaiter::turn*>(w)->receive.message_.emplace(std::move(message));
      w->resume_soon();
      return true;
    }
    if (size_ == capacity_) return false;
    push(std::move(message));
    return true;
  }
  // Nothing where receive() would wait or the channel is closed and drained.
  [[nodiscard]] std::optional<T> try_receive() noexcept {
    std::optional<T> message;
    take(message);
    return message;
  }

  // Idempotent.
  void close() noexcept {
    closed_ = true;
    while (waiter* w = senders_.pop_front()) w->resume_soon();
    while (waiter* w = receivers_.pop_front()) w->resume_soon();
  }
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  // Receivers wait only while the channel is empty, senders only while it is full.
  bool take(std::optional<T>& into) noexcept {
    if (size_) {
      into.emplace(std::move(slots_[first_]));
      pop();
      if (waiter* w = senders_.pop_front()) push(sent_by(*w));
      return true;
    }
    waiter* w = senders_.pop_front();
    if (w) into.emplace(sent_by(*w));
    return w != nullptr;
  }
  static T&& sent_by(waiter& w) noexcept {
    send_awaiter& s = static_cast<typename send_awaiter::turn&>(w).send;
    s.sent_ = true;
    w.resume_soon();
    return std::move(s.message_);
  }
  void push(T&& message) noexcept {
    std::size_t at = first_ + size_;
    if (at >= capacity_) at -= capacity_;
    std::construct_at(slots_ + at, std::move(message));
    ++size_;
  }
  void pop() noexcept {
    std::destroy_at(slots_ + first_);
    if (++first_ == capacity_) first_ = 0;
    --size_;
  }
  T* slots_;
  std::size_t capacity_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  bool closed_ = false;
  waiter_queue senders_;
  waiter_queue receivers_;
};

}  // namespace coracle::coro
