// What a coroutine waits for on a call: one message read, one message written. The parts that do not
// depend on the message's type.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/rpc/impl/codec.hpp"
#include "coracle/rpc/write_options.hpp"

#include <coroutine>
#include <cstdint>

namespace coracle::rpc {

class call;  // private: src/rpc/call.hpp

// Lives in the waiting coroutine's frame. One read at a time per call, beside one write. A stop of the
// waiter's environment ends the wait alone, with CANCELLED: the call goes on, and the next read has the message.
class read_operation : private coro::work, private coro::stop_callback {
 public:
  enum class outcome : std::uint8_t { pending, message, end, failed };
  // reuses: the message is the caller's, who reads others into it before and after.
  explicit read_operation(const codec& c, bool reuses = false) noexcept
      : stop_callback(&read_operation::stopped), codec_(&c), reuses_(reuses) {}
  // Before its start.
  read_operation(read_operation&& other) noexcept : read_operation(*other.codec_, other.reuses_) {}
  read_operation& operator=(read_operation&&) = delete;
  // Gives a pending read up; no message is lost.
  ~read_operation();

  [[nodiscard]] outcome how() const noexcept { return outcome_; }
  [[nodiscard]] const status& why() const noexcept { return why_; }

 protected:
  // True when the coroutine has to wait. c may be null: a call that has ended.
  bool start(call* c, void* into, std::coroutine_handle<> waiter, const coro::stop_token& stop) noexcept;

 private:
  friend class call;
  static void stopped(coro::stop_callback& self) noexcept;
  // The waiter's turn has come.
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
  status why_;
};

// One write at a time per call. The message is serialized at once; waiting is for room. A stop of the waiter's
// environment ends the wait alone: with ok when the message is on its way, with CANCELLED when it will never be.
class write_operation : private coro::work, private coro::stop_callback {
 public:
  // `last`: nothing is written after it, and its side of the stream ends with it, in the same frame.
  write_operation(const codec& c, const void* message, const write_options& options,
                  bool last = false) noexcept
      : stop_callback(&write_operation::stopped),
        codec_(&c),
        message_(message),
        compress_(options.compress()),
        last_(last) {}
  // Before its start.
  write_operation(write_operation&& other) noexcept
      : stop_callback(&write_operation::stopped),
        codec_(other.codec_),
        message_(other.message_),
        compress_(other.compress_),
        last_(other.last_) {}
  write_operation& operator=(write_operation&&) = delete;
  ~write_operation();

  // Ok: the message is on its way (in the output or a queue), which is no promise of arrival.
  [[nodiscard]] const status& how() const noexcept { return how_; }

 protected:
  bool start(call* c, std::coroutine_handle<> waiter, const coro::stop_token& stop) noexcept;

 private:
  friend class call;
  static void stopped(coro::stop_callback& self) noexcept;
  void resume() noexcept {
    stop_callback::unlink();
    waiter_.resume();
  }
  const codec* codec_;
  const void* message_;
  call* call_ = nullptr;  // while waiting for room
  std::coroutine_handle<> waiter_;
  status how_;
  bool compress_;
  bool last_;
};

}  // namespace coracle::rpc
