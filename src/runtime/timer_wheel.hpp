// timer_wheel: a loop's timers: arming and disarming in constant time, however many there are.
#pragma once

#include "coracle/coro/executor.hpp"

#include <cstdint>

namespace coracle::runtime_internal {

class stall_detector;

// Hierarchical: eight levels of 64 slots, a level's slot as wide as the whole level below. The
// lowest slots are 2^16 ns (66 us) wide; together the levels reach past the end of time_point. A
// timer lies on the level of the highest digit in which its time differs from the present one and
// moves down as that digit comes due, at most seven times.
//
// Fires exactly: never before `when`, and in the turn whose time has reached it; the width only
// decides how close the order of two late timers follows their times. One thread.
class timer_wheel {
 public:
  timer_wheel() noexcept = default;
  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;
  // Timers that are still armed are let go of, unfired.
  ~timer_wheel();

  // Moves the timer when it is armed already. A time that has passed fires at the next advance().
  void arm(coro::timer& t, time_point when) noexcept;
  // Nothing when the timer is not armed.
  void disarm(coro::timer& t) noexcept;
  // Fires what is due at `now`, which never runs backwards. What these timers arm for a time that
  // has passed waits for the next advance(): a timer that re-arms itself cannot hold the loop.
  // Each is measured by `stalls`, if given.
  void advance(time_point now, stall_detector* stalls = nullptr) noexcept;
  // How many timers have fired so far.
  [[nodiscard]] std::uint64_t fired() const noexcept { return fired_; }
  // No timer is due before this: exact within the lowest level, a slot's beginning above; `never` when empty.
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
    std::uint64_t tick;  // where the slot begins
  };
  static std::uint64_t tick_of(time_point when) noexcept;
  [[nodiscard]] found first_slot() const noexcept;
  void insert(coro::timer& t) noexcept;
  void empty_slot(unsigned level, unsigned slot, time_point now) noexcept;
  list& list_of(std::uint32_t place) noexcept {
    return place == place_due ? due_ : table_[place / slots][place % slots];
  }

  std::uint64_t tick_ = 0;  // the present; all timers in the table lie at or after it
  std::uint64_t fired_ = 0;
  std::uint32_t used_levels_ = 0;
  std::uint64_t used_slots_[levels] = {};
  list table_[levels][slots];
  list due_;
};

}  // namespace coracle::runtime_internal
