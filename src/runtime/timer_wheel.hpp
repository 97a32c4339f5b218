// timer_wheel: a loop's timers; arming and disarming take constant time.
#pragma once

#include "coracle/coro/executor.hpp"

#include <cstdint>

namespace coracle::runtime_internal {

class stall_detector;

// Hierarchical: eight levels of 64 slots; a slot of one level is as wide as the whole level below. The lowest
// slots are 2^16 ns (66 us) wide; together the levels reach beyond the end of time_point. A timer is stored
// on the level of the highest digit in which its time differs from the current time, and moves down when that
// digit comes due, at most seven times.
//
// Fires exactly: never before `when`, and in the turn whose time has reached it. The slot width only decides
// how closely the order of two late timers follows their times. For one thread.
class timer_wheel {
 public:
  timer_wheel() noexcept = default;
  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;
  // Disarms the remaining timers without firing them.
  ~timer_wheel();

  // Moves the timer when it is already armed. A time that has passed fires at the next advance().
  void arm(coro::timer& t, time_point when) noexcept;
  // Has no effect when the timer is not armed.
  void disarm(coro::timer& t) noexcept;
  // Fires the timers due at `now`, which never decreases. If these timers arm others for a time that has
  // passed, those wait for the next advance(), so that a timer that re-arms itself cannot monopolise the
  // loop. `stalls`, if not null, measures each timer.
  void advance(time_point now, stall_detector* stalls = nullptr) noexcept;
  // The number of timers that have fired so far.
  [[nodiscard]] std::uint64_t fired() const noexcept { return fired_; }
  // No timer is due before this time: exact within the lowest level, the beginning of a slot above it;
  // `never` when there are no timers.
  [[nodiscard]] time_point next_deadline() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return used_levels_ == 0 && !due_.first; }

 private:
  static constexpr unsigned tick_bits = 16;
  static constexpr unsigned digit_bits = 6;
  static constexpr unsigned slots = 1u << digit_bits;
  static constexpr unsigned levels = 8;
  static constexpr std::uint32_t place_due = levels * slots;

  struct list {
    coro::timer* first = nullptr;
    coro::timer* last = nullptr;
    void push(coro::timer& t) noexcept;
    void remove(coro::timer& t) noexcept;
  };
  struct found {
    unsigned level;
    unsigned slot;
    std::uint64_t tick;  // the beginning of the slot
  };
  static std::uint64_t tick_of(time_point when) noexcept;
  [[nodiscard]] found first_slot() const noexcept;
  void insert(coro::timer& t) noexcept;
  void empty_slot(unsigned level, unsigned slot, time_point now) noexcept;
  list& list_of(std::uint32_t place) noexcept {
    return place == place_due ? due_ : table_[place / slots][place % slots];
  }

  std::uint64_t tick_ = 0;  // the current time; no timer in the table is earlier
  std::uint64_t fired_ = 0;
  std::uint32_t used_levels_ = 0;
  std::uint64_t used_slots_[levels] = {};
  list table_[levels][slots];
  list due_;
};

}  // namespace coracle::runtime_internal
