// waiting_line: the calls of a loop that wait until they may run.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/rpc/criticality.hpp"
#include "server/admission/client_turns.hpp"
#include "server/admission/limited_call.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace coracle::server_internal {

// A queue with two states: sans-I/O, for one loop.
//
// Usually calls wait for at most `patience` and leave in the order in which they came, so that short bursts
// are absorbed. If the line has not been empty for that time, more calls come than can be served: it is
// pressed, and calls wait for at most `pressed_patience` until they are rejected, and the newest leaves
// first, because its client is the most likely to wait still (CoDel's target and interval, with adaptive
// LIFO; Ben Maurer, "Fail at Scale", ACM Queue 13, 2015). It stays so until it is empty for half of an
// interval: calls that began together end together, and the places of many of them empty a short line for a
// moment even if far too many calls come. Calls of a higher criticality always leave before
// those of lower ones, and among calls of one criticality, clients take turns. In a full line, a call of the
// lowest criticality gives its place to one of a higher criticality, and the client with the most calls gives
// a place to one with fewer. A client without a call gets a place beyond the last one, unless more critical
// calls wait, so that many clients with a call each do not keep others out.
class waiting_line {
 public:
  static constexpr duration patience = std::chrono::milliseconds(100);
  static constexpr duration pressed_patience = std::chrono::milliseconds(5);
  static constexpr std::size_t calls_max = 1'000;
  // A pressed line is as long as what leaves it within pressed_patience, but at least this.
  static constexpr std::size_t pressed_calls_min = 10;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool is_pressed(time_point now) const noexcept {
    return size_ != 0 && (stays_pressed_ || now - nonempty_since_ >= patience);
  }
  // Whether push() would keep a call of this criticality and client.
  [[nodiscard]] bool has_room(criticality level, std::uint64_t client, time_point now) const noexcept;
  // Adds a call, and sets its `since`. Requires has_room(). Returns the call that has lost its place to it,
  // or null.
  [[nodiscard]] limited_call* push(limited_call& c, time_point now) noexcept;
  // Removes the call that is next; null if there is none.
  [[nodiscard]] limited_call* take(time_point now) noexcept;
  // The call that take() has returned last does not run.
  void give_back(const limited_call& c) noexcept;
  // Removes a call that has waited for too long; null if there is none.
  [[nodiscard]] limited_call* take_expired(time_point now) noexcept;
  // The earliest time at which take_expired() may return a call.
  [[nodiscard]] time_point next_expiry(time_point now) const noexcept;
  // The call leaves by itself.
  void remove(limited_call& c) noexcept;

 private:
  [[nodiscard]] client_turns& turns_of(criticality c) noexcept {
    return levels_[static_cast<std::size_t>(c)];
  }
  [[nodiscard]] const client_turns& turns_of(criticality c) const noexcept {
    return levels_[static_cast<std::size_t>(c)];
  }
  [[nodiscard]] std::size_t capacity(time_point now) const noexcept;
  // Before anything changes.
  void pass_time(time_point now) noexcept;

  // With a place for each client beyond those of the line.
  static constexpr std::size_t of_level_max = calls_max + client_turns::clients_max;
  std::array<client_turns, 4> levels_{client_turns(of_level_max), client_turns(of_level_max),
                                      client_turns(of_level_max),
                                      client_turns(of_level_max)};  // by criticality
  std::size_t size_ = 0;
  time_point nonempty_since_{};
  // Of this interval, which is as long as `patience`, and of the one before.
  time_point interval_began_{};
  time_point passed_until_{};
  duration nonempty_{};  // up to passed_until_
  std::size_t taken_ = 0;  // calls that have left to run
  std::size_t taken_before_ = 0;
  bool stays_pressed_ = false;  // the line was not empty for most of the interval before
};

}  // namespace coracle::server_internal
