#include "runtime/timer_wheel.hpp"

#include "runtime/stall_detector.hpp"

#include "coracle/base/impl/assert.hpp"

#include <algorithm>
#include <bit>

namespace coracle::runtime_internal {

void timer_wheel::list::push(coro::timer& t) noexcept {
  t.next = nullptr;
  t.prev = last;
  (last ? last->next : first) = &t;
  last = &t;
}

void timer_wheel::list::remove(coro::timer& t) noexcept {
  (t.prev ? t.prev->next : first) = t.next;
  (t.next ? t.next->prev : last) = t.prev;
  t.next = t.prev = nullptr;
}

timer_wheel::~timer_wheel() {
  for (std::uint32_t place = 0; place <= place_due; ++place)
    while (coro::timer* t = list_of(place).first) {
      list_of(place).remove(*t);
      t->holder = nullptr;
    }
}

std::uint64_t timer_wheel::tick_of(time_point when) noexcept {
  const auto ns = when.time_since_epoch().count();
  return ns <= 0 ? 0 : static_cast<std::uint64_t>(ns) >> tick_bits;
}

void timer_wheel::arm(coro::timer& t, time_point when) noexcept {
  disarm(t);
  t.when = when;
  t.holder = this;
  insert(t);
}

void timer_wheel::insert(coro::timer& t) noexcept {
  const std::uint64_t tick = std::max(tick_of(t.when), tick_);
  const auto highest = static_cast<unsigned>(std::bit_width((tick ^ tick_) | 1) - 1);
  const unsigned level = highest / digit_bits;
  const unsigned slot = static_cast<unsigned>(tick >> (level * digit_bits)) % slots;
  t.place = level * slots + slot;
  table_[level][slot].push(t);
  used_slots_[level] |= std::uint64_t{1} << slot;
  used_levels_ |= 1u << level;
}

void timer_wheel::disarm(coro::timer& t) noexcept {
  if (!t.holder) return;
  CORACLE_ASSERT(t.holder == this, "a timer is disarmed on the loop that it was armed on");
  list& in = list_of(t.place);
  in.remove(t);
  t.holder = nullptr;
  if (in.first || t.place == place_due) return;
  const unsigned level = t.place / slots;
  used_slots_[level] &= ~(std::uint64_t{1} << (t.place % slots));
  if (used_slots_[level] == 0) used_levels_ &= ~(1u << level);
}

timer_wheel::found timer_wheel::first_slot() const noexcept {
  // The timers of a level share all higher digits with the current time, so the lowest level comes first, and
  // within a level the lowest slot.
  const auto level = static_cast<unsigned>(std::countr_zero(used_levels_));
  const auto slot = static_cast<unsigned>(std::countr_zero(used_slots_[level]));
  const unsigned shift = level * digit_bits;
  const std::uint64_t above = tick_ >> (shift + digit_bits) << (shift + digit_bits);
  return {level, slot, above | std::uint64_t{slot} << shift};
}

time_point timer_wheel::next_deadline() const noexcept {
  if (due_.first) return time_point::min();
  if (!used_levels_) return never;
  const found next = first_slot();
  if (next.level > 0) return time_point(duration(static_cast<std::int64_t>(next.tick << tick_bits)));
  time_point earliest = never;
  for (const coro::timer* t = table_[0][next.slot].first; t; t = t->next)
    earliest = std::min(earliest, t->when);
  return earliest;
}

// Removes the timers of a slot: moves those that are due into due_, and the others at least one level down
// (or, on the lowest level, back into the slot).
void timer_wheel::empty_slot(unsigned level, unsigned slot, time_point now) noexcept {
  list taken = table_[level][slot];
  table_[level][slot] = {};
  used_slots_[level] &= ~(std::uint64_t{1} << slot);
  if (used_slots_[level] == 0) used_levels_ &= ~(1u << level);
  while (coro::timer* t = taken.first) {
    taken.remove(*t);
    if (t->when <= now) {
      t->place = place_due;
      due_.push(*t);
    } else {
      insert(*t);
    }
  }
}

void timer_wheel::advance(time_point now, stall_detector* stalls) noexcept {
  const std::uint64_t target = tick_of(now);
  while (used_levels_) {
    const found next = first_slot();
    if (next.tick > target) break;
    tick_ = std::max(tick_, next.tick);
    empty_slot(next.level, next.slot, now);
    if (next.level == 0 && next.tick == target) break;  // what remains there is due later in this tick
  }
  tick_ = std::max(tick_, target);
  while (coro::timer* t = due_.first) {  // what fire() arms goes into the table, never here
    due_.remove(*t);
    t->holder = nullptr;
    ++fired_;
    const stall_detector::watch held(stalls);
    t->fire(*t);
  }
}

}  // namespace coracle::runtime_internal
