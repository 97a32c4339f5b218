// operations: the part of reading and writing one message of a call that does not depend on its type.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/rpc/impl/codec.hpp"
#include "coracle/rpc/write_options.hpp"

#include <coroutine>
#include <cstdint>
#include <utility>

namespace coracle::rpc {

class call;  // private: src/rpc/call.hpp

// Lives in the frame of the waiting coroutine. A call supports one read at a time, next to one write. A stop
// of the waiter's environment ends only the wait, with CANCELLED: the call continues, and the next read gets
// the message.
class read_operation : private coro::runnable, private coro::stop_callback {
 public:
  enum class outcome : std::uint8_t { pending, message, end, failed };
  // reuses: the message belongs to the caller, who also reads other messages into it.
  explicit read_operation(const codec& c, bool reuses = false) noexcept
      : stop_callback(&read_operation::stopped), codec_(&c), reuses_(reuses) {}
  // Only before start().
  read_operation(read_operation&& other) noexcept : read_operation(*other.codec_, other.reuses_) {}
  read_operation& operator=(read_operation&&) = delete;
  // Cancels a pending read; no message is lost.
  ~read_operation();

  [[nodiscard]] outcome state() const noexcept { return outcome_; }
  [[nodiscard]] const status& failure() const noexcept { return failure_; }

 protected:
  // Returns true if the coroutine has to wait. A null `c` is a call that has ended.
  bool start(call* c, void* into, std::coroutine_handle<> waiter, const coro::stop_token& stop) noexcept;

 private:
  friend class call;
  static void stopped(coro::stop_callback& self) noexcept;
  // Runs when the owner loop reaches this operation in its queue.
  void resume() noexcept {
    stop_callback::unlink();
    waiter_.resume();
  }
  const codec* codec_;
  void* into_ = nullptr;
  call* call_ = nullptr;  // while pending
  std::coroutine_handle<> waiter_;
  outcome outcome_ = outcome::pending;
  bool reuses_;
  status failure_;
};

// A call supports one write at a time. It serializes the message at once, and waits only for room. A stop of
// the waiter's environment ends only the wait: with OK if the message has been queued, with CANCELLED if it
// will never be sent.
class write_operation : private coro::runnable, private coro::stop_callback {
 public:
  // last: no message follows; the frame of this one also ends this side of the stream.
  write_operation(const codec& c, const void* message, const write_options& options,
                  bool last = false) noexcept
      : stop_callback(&write_operation::stopped),
        codec_(&c),
        message_(message),
        compress_(options.compress),
        last_(last) {}
  // Only before start(). The other one has no message any more: to start it is misuse.
  write_operation(write_operation&& other) noexcept
      : stop_callback(&write_operation::stopped),
        codec_(other.codec_),
        message_(std::exchange(other.message_, nullptr)),
        compress_(other.compress_),
        last_(other.last_) {}
  write_operation& operator=(write_operation&&) = delete;
  ~write_operation();

  // OK means that the message is in the output or in a queue; it does not mean that it has arrived.
  [[nodiscard]] const status& outcome() const noexcept { return outcome_; }

 protected:
  bool start(call* c, std::coroutine_handle<> waiter, const coro::stop_token& stop) noexcept;
  // Only before start().
  [[nodiscard]] const void* message() const noexcept { return message_; }
  void set_message(const void* message) noexcept { message_ = message; }

 private:
  friend class call;
  static void stopped(coro::stop_callback& self) noexcept;
  void resume() noexcept {
    stop_callback::unlink();
    waiter_.resume();
  }
  const codec* codec_;
  const void* message_;
  call* call_ = nullptr;  // while it waits for room
  std::coroutine_handle<> waiter_;
  status outcome_;
  bool compress_;
  bool last_;
};

}  // namespace coracle::rpc
