// decode_budget: limits how much of each loop iteration is spent on decoding received messages.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/impl/intrusive_list.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/coro/impl/executor_local.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace coracle::transport {

// A connection or a call with work left when the budget is spent. It is in one list at a time: that of its
// connection, or that of the loop's budget.
class deferred_decode : public base::list_hook {
 public:
  // Continues until the work is done or decode_budget::spent(). Called after it was removed from its list.
  // Returns true if work is left and the object must be queued again; false if there is none, and the object
  // may have been destroyed.
  virtual bool continue_decoding() noexcept = 0;

 protected:
  ~deferred_decode() = default;
};

// One per loop, shared by its connections. A few bytes can decompress to megabytes, and a kilobyte can hold
// hundreds of messages: without a limit, one peer's input would delay the loop's timers, listeners and other
// connections. The unit is a byte: an event of a connection costs message_cost_bytes, and so does a message
// that its reader finds waiting; a message also costs its size, a small one a quarter of its size. The costs
// depend only on the input, so that a simulation reproduces them exactly.
//
// Work that exceeds the budget is deferred. Each later iteration grants one share to each waiter in turn,
// after I/O, timers and output; at least one, so that nothing waits forever. Some libraries do not stop when
// requested (brotli fills its window first), and some messages take longer than their size suggests: then the
// loop's clock ends the iteration's decoding early. A simulation's clock does not advance meanwhile.
//
// All functions must be called on the loop.
class decode_budget final : public coro::executor_local, private coro::runnable {
 public:
  // Chosen so that an iteration decodes for about a millisecond; see the measurements in
  // docs/reference/limits.md.
  static constexpr std::int64_t iteration_bytes = 256 << 10;
  static constexpr std::int64_t share_bytes = 64 << 10;
  static constexpr duration iteration_time = std::chrono::milliseconds(1);
  // Specially crafted small messages take longer than their size suggests.
  static constexpr duration small_messages_time = std::chrono::milliseconds(4);
  // What a connection may decode of each read, regardless of what others have spent, so that small calls
  // beside a heavily loaded connection need not wait.
  static constexpr std::int64_t allowance_bytes = 8 << 10;
  static constexpr std::int64_t message_cost_bytes = 32;
  // Decompression has a fixed cost per message: a context is reset, or created.
  static constexpr std::int64_t compressed_message_cost_bytes = 2 << 10;
  decode_budget() noexcept;
  static decode_budget& here() { return coro::this_executor().local<decode_budget>(); }

  void charge(std::int64_t bytes) noexcept {
    left_ -= bytes;
    refill_soon();
  }
  // Whether the work in progress must stop here and defer the rest.
  [[nodiscard]] bool spent() const noexcept { return left_ <= floor_; }
  // Whether work of unknown size may begin or continue: budget is left, and no earlier work is waiting.
  [[nodiscard]] bool may_begin_large() const noexcept {
    return in_share_ ? !spent() : left_ > 0 && waiting_.empty();
  }
  // The same for work of known cost: it may overtake waiting work if the present iteration, or the allowance,
  // covers it.
  [[nodiscard]] bool may_begin(std::size_t bytes) const noexcept {
    return may_begin_large() || (!in_share_ && left_ - static_cast<std::int64_t>(bytes) > floor_);
  }
  // Call between two steps of work. Ends this iteration's decoding if `limit` has passed since the iteration
  // began.
  void read_clock(duration limit = iteration_time) noexcept;
  // How much the work in progress may cost before it checks spent() again.
  [[nodiscard]] std::size_t step_bytes() const noexcept {
    constexpr std::int64_t step_min = 4 << 10;
    return static_cast<std::size_t>(std::max(left_ - floor_, step_min));
  }

  // Appends `d` to the waiting list. Does nothing if `d` is in a list already.
  void defer(deferred_decode& d) noexcept;

  // Charges a small message of `bytes` that was decoded.
  void charge_small(std::size_t bytes) noexcept { left_ -= static_cast<std::int64_t>(bytes / 4); }
  // Charges an event that was handled. If it returns true, check spent_at_checkpoint().
  [[nodiscard]] bool charge_event() noexcept { return (left_ -= message_cost_bytes) <= checkpoint_; }
  // Returns spent(). Reads the clock, which therefore happens at checkpoints only and not at each event.
  [[nodiscard]] bool spent_at_checkpoint() noexcept;

  // Sets the floor and the checkpoint while a connection handles what it has read.
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
  // Refills the budget when the next iteration begins; does nothing while little is spent.
  void refill_soon() noexcept {
    if (left_ < iteration_bytes / 2 && !refill_queued_) [[unlikely]]
      queue_refill();
  }
  void queue_refill() noexcept;
  void grant_shares() noexcept;

  // The queue entries for refilling the budget and for granting shares; the budget itself is the third entry.
  struct hook : coro::runnable {
    hook(decode_budget& b, void (*f)(coro::runnable&) noexcept) noexcept : budget(b) { run = f; }
    decode_budget& budget;
  };
  base::intrusive_list<deferred_decode> waiting_;
  hook refill_;
  hook grant_;
  std::int64_t left_ = iteration_bytes;
  std::int64_t floor_ = 0;  // the work in progress stops here
  std::int64_t checkpoint_ = 0;  // where it checks the clock; at or above the floor
  bool in_share_ = false;
  bool refill_queued_ = false;
  bool shares_queued_ = false;
  bool yields_to_others_ = false;
};

}  // namespace coracle::transport
