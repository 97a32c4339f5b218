// What a coroutine waits for on a call: one message read, one message written. The parts that do not
// depend on the message's type.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/rpc/codec.hpp"

#include <coroutine>
#include <cstdint>

namespace coracle::calls {

class call;  // private: src/rpc/call.hpp

// Lives in the waiting coroutine's frame. One read at a time per call, beside one write.
class read_operation : private coro::work {
 public:
  enum class outcome : std::uint8_t { pending, message, end, failed };
  read_operation(const codec& c, void* into) noexcept : codec_(&c), into_(into) {}
  read_operation(const read_operation&) = delete;
  read_operation& operator=(const read_operation&) = delete;
  // Gives a pending read up; no message is lost.
  ~read_operation();

  [[nodiscard]] outcome how() const noexcept { return outcome_; }
  [[nodiscard]] const status& why() const noexcept { return why_; }

 protected:
  // True when the coroutine has to wait. c may be null: a call that has ended.
  bool start(call* c, std::coroutine_handle<> waiter) noexcept;

 private:
  friend class call;
  const codec* codec_;
  void* into_;
  call* call_ = nullptr;  // while pending
  std::coroutine_handle<> waiter_;
  outcome outcome_ = outcome::pending;
  status why_;
};

// One write at a time per call. The message is serialized at once; waiting is for room.
class write_operation : private coro::work {
 public:
  write_operation(const codec& c, const void* message) noexcept : codec_(&c), message_(message) {}
  write_operation(const write_operation&) = delete;
  write_operation& operator=(const write_operation&) = delete;
  ~write_operation();

  // Ok: the message is on its way (in the output or a queue), which is no promise of arrival.
  [[nodiscard]] const status& how() const noexcept { return how_; }

 protected:
  bool start(call* c, std::coroutine_handle<> waiter) noexcept;

 private:
  friend class call;
  const codec* codec_;
  const void* message_;
  call* call_ = nullptr;  // while waiting for room
  std::coroutine_handle<> waiter_;
  status how_;
};

}  // namespace coracle::calls
