// queue<T>: a bounded queue of messages between tasks, for any number of senders and receivers.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/base/usage_error.hpp"
#include "coracle/coro/impl/primitive.hpp"
#include "coracle/coro/impl/ring.hpp"
#include "coracle/coro/impl/unwatched.hpp"
#include "coracle/coro/impl/waiting_call.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace coracle {

namespace coro {

template <class T>
struct kept_message {
  T kept;
};

}  // namespace coro

// Has a home loop (coro/impl/primitive.hpp): send() and receive() from any task, post() and close() from any
// thread, try_send() and try_receive() at home. Any number of senders and receivers.
//
//   if (!co_await jobs.send(std::move(job))) ...               // closed: `job` is as it was
//   while (true) {
//     std::optional<job> next = co_await jobs.receive();
//     if (!next) break;                                        // closed and drained
//
// Capacity 0 is a rendezvous: a send waits until a receiver takes the message. Otherwise it waits
// only while the queue is full.
//
// Order: messages arrive in the order of the sends; waiting senders and receivers take turns first
// come first served, and try_send() and try_receive() do not get between. Waiters resume through
// their loop's queue, after the current work. A message is moved out of the sender's object when it is sent.
//
// A stop of a waiter's environment throws coro::cancelled out of its await: a send that was stopped
// has not moved its message, a receive that was stopped has taken none. A stop after the message
// was passed on does not undo that: the await ends well.
//
// close(): sends give false from then on, the waiting ones included, whose messages stay theirs.
// Receives give what is in the queue, then std::nullopt. The memory for `capacity` messages is
// taken in the constructor, none after it.
template <class T>
class queue : public coro::primitive<queue<T>> {
  static_assert(std::is_nothrow_move_constructible_v<T>, "a message must not be lost in a throwing move");
  using base = coro::primitive<queue<T>>;

 public:
  explicit queue(std::size_t capacity) : messages_(capacity) {}
  queue(std::size_t capacity, coro::executor& home) : base(home), messages_(capacity) {}
  ~queue() {
    this->leave_home();
    CORACLE_ASSERT(senders_.empty() && receivers_.empty(),
                   "a queue was destroyed while tasks wait in it: close() it and join them first");
  }

  class [[nodiscard]] send_awaiter : public coro::waiting_call<send_awaiter, queue> {
   public:
    send_awaiter(queue& c, T& message) noexcept
        : coro::waiting_call<send_awaiter, queue>(c), message_(message) {}
    // Whether it was sent; false: the queue is closed.
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
  // Of a copy, which the awaiter keeps.
  class [[nodiscard]] copy_send_awaiter : coro::kept_message<T>, public send_awaiter {
   public:
    copy_send_awaiter(queue& c, const T& message)
        : coro::kept_message<T>{message}, send_awaiter(c, coro::kept_message<T>::kept) {}
  };

  class [[nodiscard]] receive_awaiter : public coro::waiting_call<receive_awaiter, queue> {
   public:
    using coro::waiting_call<receive_awaiter, queue>::waiting_call;
    // What is there at home is not taken before await_resume(), straight out of its place: an optional that
    // is moved on right after it was filled costs more than all the rest.
    [[nodiscard]] bool await_ready() noexcept {
      return this->at().at_home() && (this->at().has_message() || this->at().closed_);
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
    // Apart, or g++ 12 sees a way on which an empty optional's inside is read.
    [[gnu::noinline]] void granted(std::optional<T>& into) {
      this->throw_if_stopped();
      if (message_) into.emplace(std::move(*message_));
    }
    std::optional<T> message_;
  };
  // Of an rvalue: it has to stay where it is until the await ends, and is moved from when it is sent.
  send_awaiter send(T&& message) noexcept { return send_awaiter(*this, message); }
  copy_send_awaiter send(const T& message)
    requires std::is_copy_constructible_v<T>
  {
    return copy_send_awaiter(*this, message);
  }
  receive_awaiter receive() noexcept { return receive_awaiter(*this); }

  // False, and `message` is as it was, where send() would wait or the queue is closed. On the queue's home loop only:
  // post() is what a plain thread or another loop calls that does not wait.
  [[nodiscard]] bool try_send(T&& message) {
    CORACLE_REQUIRE(this->at_home(),
                    "try_send() away from the queue's home loop: co_await send(), or post()");
    return take_in(std::move(message));
  }
  // Nothing where receive() would wait or the queue is closed and drained.
  [[nodiscard]] std::optional<T> try_receive() {
    CORACLE_REQUIRE(this->at_home(), "try_receive() away from the queue's home loop: co_await receive()");
    std::optional<T> message;
    hand_out(message);
    return message;
  }
  // From any thread, and without a wait: a send whose end is not awaited. While the queue is full the message waits in
  // the row of senders, and it is dropped when the queue is closed. Allocates away from home and while it waits, without
  // a bound: a thread that sends more than the receivers take needs a bound of its own, or calls block_on(c.send(...)).
  void post(T message) {
    if (this->at_home()) send_unwatched(std::move(message));
    else this->run_at_home([this, m = std::move(message)]() mutable { send_unwatched(std::move(m)); });
  }

  // Idempotent.
  void close() noexcept {
    if (this->at_home()) close_here();
    else this->call_home();
  }
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }
  [[nodiscard]] std::size_t size() const noexcept { return messages_.size(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return messages_.capacity(); }

 private:
  friend base;
  template <class, class>
  friend class coro::waiting_call;
  // Receivers wait only while the queue is empty, senders only while it is full.
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
  // Into an empty one, in place: g++ 12 copies an optional that is returned, through memory and with a stall.
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
    // Last, when its message is out of its frame: it may run on another thread at once.
    if (sender) send_awaiter::of(*sender).resume(*sender);
  }
  void send_unwatched(T message) {
    if (!take_in(std::move(message)) && !closed_) wait_to_send(*this, std::move(message));
  }
  static coro::unwatched wait_to_send(queue& to, T message) { (void)co_await to.send(std::move(message)); }
  void close_here() noexcept {
    closed_ = true;
    coro::waiter_queue all;
    all.take(senders_);
    all.take(receivers_);
    coro::resume_all(all);
  }
  void called_from_elsewhere(std::uint64_t) noexcept { close_here(); }

  coro::ring<T> messages_;
  bool closed_ = false;
  coro::waiter_queue senders_;
  coro::waiter_queue receivers_;
};

}  // namespace coracle
