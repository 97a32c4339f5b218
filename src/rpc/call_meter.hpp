// call_meter: measures what one call costs. call_clock: divides the time of a loop among its measured calls.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/impl/run_observer.hpp"
#include "coracle/rpc/call_cost.hpp"
#include "coracle/runtime/loop.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace coracle::rpc {

class call_clock;
class propagated_context;

// What a measured call waits for while none of its code runs.
enum class call_wait : std::uint8_t { messages, room, calls, other };

// Part of a measured call, on its loop; few calls are measured, and the others have none.
//
// The time of a call is divided into runs and waits. A run begins with a call_clock::run, or when a coroutine
// resumes that works for the call. It ends with the call_clock::run, when another call's coroutine resumes,
// or when control is back at the loop.
class call_meter {
 public:
  // The call has just arrived.
  explicit call_meter(loop& on);
  call_meter(const call_meter&) = delete;
  call_meter& operator=(const call_meter&) = delete;

  // Everything but the traffic, up to now.
  [[nodiscard]] call_cost cost() const noexcept;
  [[nodiscard]] call_clock& clock() const noexcept { return clock_; }

 protected:
  virtual ~call_meter();
  // Asked when a run ends.
  [[nodiscard]] virtual call_wait waits_for() const noexcept = 0;
  [[nodiscard]] bool has_open_calls() const noexcept { return calls_->open != 0; }

 private:
  friend class call_clock;
  friend class child_call;
  // How many calls the handler has open. The meter shares it with them, because they may outlive it.
  struct child_calls : coro::pooled {
    std::size_t references = 1;
    std::size_t open = 0;
  };
  void begin_run(time_point now) noexcept;
  void end_run(time_point now) noexcept;
  static void add_wait(call_cost& to, call_wait kind, duration d) noexcept;

  call_clock& clock_;
  child_calls* calls_;
  call_cost cost_;  // up to `since_`
  time_point since_;  // when the run or the wait began
  coro::frame_pool::counters blocks_;  // at the beginning of the run
  call_wait wait_ = call_wait::messages;
  bool runs_ = false;
};

// Belongs to a loop. It observes the loop's coroutines while there is a measured call.
class call_clock final : public coro::executor_local, private coro::run_observer {
 public:
  // A scope in which the thread works for one call, which may be destroyed within it. Null: the call is not
  // measured, and nothing happens.
  class run {
   public:
    explicit run(call_meter* of) noexcept {
      if (of) [[unlikely]]
        begin(*of);
    }
    run(const run&) = delete;
    run& operator=(const run&) = delete;
    ~run() {
      if (clock_) [[unlikely]]
        end();
    }

   private:
    friend class call_clock;
    void begin(call_meter& of) noexcept;
    void end() noexcept;
    call_clock* clock_ = nullptr;
    call_meter* before_ = nullptr;
    run* outer_ = nullptr;
  };

 private:
  friend class call_meter;
  friend class child_call;
  void switch_to(call_meter* m) noexcept;
  [[nodiscard]] bool on_loop() const noexcept { return loop_->is_current(); }
  void add(loop& on) noexcept;
  void remove(call_meter& m) noexcept;
  [[nodiscard]] time_point now() const noexcept;

  // coro::run_observer
  void resumed(const coro::tree_node& node) noexcept override;
  void returned() noexcept override { switch_to(nullptr); }

  loop* loop_ = nullptr;
  std::size_t meters_ = 0;
  call_meter* running_ = nullptr;
  run* innermost_ = nullptr;
};

// Part of a client's call: while it is set, a measured call of a server on this loop has this call open.
class child_call {
 public:
  child_call() noexcept = default;
  child_call(const child_call&) = delete;
  child_call& operator=(const child_call&) = delete;
  ~child_call() { end(); }
  // The call that `parent` serves makes this call. Does nothing if that call is not measured, or is of
  // another loop.
  void begin(const propagated_context& parent) noexcept;
  void end() noexcept {
    if (of_) [[unlikely]]
      leave();
  }

 private:
  void leave() noexcept;
  call_meter::child_calls* of_ = nullptr;
};

}  // namespace coracle::rpc
