// decode_budget: how much of one iteration of a loop may go into making messages of what peers have sent.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/attachment.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace coracle::transport {

// A connection or a call that has work left when the budget is spent. It waits in one list at a time: that of its
// connection, or that of the loop's budget.
class deferred_decode : public base::list_hook {
 public:
  // Continues until the work is done or decode_budget::spent(). Called when it has left its list. True: work is left,
  // and the object is to wait again. False: there is none, and the object may be gone.
  virtual bool continue_decoding() noexcept = 0;

 protected:
  ~deferred_decode() = default;
};

// One for each loop, shared by its connections. A few bytes can decompress to megabytes, and a kilobyte can hold hundreds
// of messages: without a bound, one peer's input would keep the loop from its timers, its listeners and its other
// connections. The unit is a byte: an event of a connection costs message_cost_bytes, as does a message that its reader
// finds waiting; a message also costs its size, a small one a quarter of it. The costs depend on nothing but the input, so that a simulation replays them exactly.
//
// Work that exceeds the budget is deferred. Each later iteration grants one share to each waiter in turn, after I/O, timers and
// output; at least one, so that nothing waits forever. Some libraries do not stop where they are asked to (brotli's fills its
// window first), and some messages take longer than their size says: then the loop's clock ends the iteration's decoding early.
// A simulation's clock stands still meanwhile.
//
// Everything here happens on the loop.
class decode_budget final : public coro::attachment, private coro::work {
 public:
  // Chosen so that an iteration decodes for about a millisecond; docs/reference/limits.md has the measurements.
  static constexpr std::int64_t iteration_bytes = 256 << 10;
  static constexpr std::int64_t share_bytes = 64 << 10;
  static constexpr duration iteration_time = std::chrono::milliseconds(1);
  // Many small messages take longer than their bytes say when they are made for it.
  static constexpr duration small_messages_time = std::chrono::milliseconds(4);
  // What a connection may decode of each read, whatever others have spent: small calls beside a heavy connection need
  // not wait.
  static constexpr std::int64_t allowance_bytes = 8 << 10;
  static constexpr std::int64_t message_cost_bytes = 32;
  // Decompressing has a fixed cost per message: a context is reset, or made.
  static constexpr std::int64_t compressed_message_cost_bytes = 2 << 10;
  decode_budget() noexcept;
  static decode_budget& here() { return coro::this_executor().attached<decode_budget>(); }

  void charge(std::int64_t bytes) noexcept {
    left_ -= bytes;
    refill_soon();
  }
  // What is under way stops here, and defers the rest.
  [[nodiscard]] bool spent() const noexcept { return left_ <= floor_; }
  // Work of unknown size may begin or continue: something is left, and nothing waits that came earlier.
  [[nodiscard]] bool may_begin_large() const noexcept {
    return in_share_ ? !spent() : left_ > 0 && waiting_.empty();
  }
  // The same for work whose cost is known: it may overtake what waits if the present iteration, or the allowance, covers it.
  [[nodiscard]] bool may_begin(std::size_t bytes) const noexcept {
    return may_begin_large() || (!in_share_ && left_ - static_cast<std::int64_t>(bytes) > floor_);
  }
  // Call between two steps of work. Ends this iteration's decoding when `limit` has passed since the iteration began.
  void look_at_clock(duration limit = iteration_time) noexcept;
  // How much the work under way may cost before it looks at spent() again.
  [[nodiscard]] std::size_t step_bytes() const noexcept {
    constexpr std::int64_t step_min = 4 << 10;
    return static_cast<std::size_t>(std::max(left_ - floor_, step_min));
  }

  // Appends `d` to the waiting list. Does nothing if `d` is in a list already.
  void defer(deferred_decode& d) noexcept;

  // A small message of `bytes` was decoded.
  void charge_small(std::size_t bytes) noexcept { left_ -= static_cast<std::int64_t>(bytes / 4); }
  // An event has been handled. True: ask spent_at_checkpoint().
  [[nodiscard]] bool charge_event() noexcept { return (left_ -= message_cost_bytes) <= checkpoint_; }
  // True: as spent(). The clock is read at a checkpoint, not at each event.
  [[nodiscard]] bool spent_at_checkpoint() noexcept;

  // While a connection handles what it has read.
  class reading {
   public:
    explicit reading(decode_budget& b) noexcept : budget_(b), before_(b.floor_) {
      b.refill_soon();
      if (!b.in_share_) b.floor_ = std::min<std::int64_t>(b.left_, 0) - allowance_bytes;
      b.checkpoint_ = std::max(b.floor_, b.left_ - checkpoint_bytes);
    }
    reading(const reading&) = delete;
    reading& operator=(const reading&) = delete;
    ~reading() {
      budget_.floor_ = before_;
      budget_.checkpoint_ = before_;
    }

   private:
    decode_budget& budget_;
    std::int64_t before_;
  };

 private:
  static constexpr std::int64_t checkpoint_bytes = 16 << 10;
  // When the next iteration begins; while little is spent, a later one.
  void refill_soon() noexcept {
    if (left_ < iteration_bytes / 2 && !refill_queued_) [[unlikely]]
      queue_refill();
  }
  void queue_refill() noexcept;
  void grant_shares() noexcept;

  // Two of the things that a loop does for the budget, beside beginning to grant shares.
  struct hook : coro::work {
    hook(decode_budget& b, void (*f)(coro::work&) noexcept) noexcept : budget(b) { run = f; }
    decode_budget& budget;
  };
  base::intrusive_list<deferred_decode> waiting_;
  hook refill_;
  hook grant_;
  std::int64_t left_ = iteration_bytes;
  std::int64_t floor_ = 0;  // where what is under way stops
  std::int64_t checkpoint_ = 0;  // where it looks at the clock; at or above the floor
  bool in_share_ = false;
  bool refill_queued_ = false;
  bool shares_queued_ = false;
  bool lets_others_go_ = false;
};

}  // namespace coracle::transport
