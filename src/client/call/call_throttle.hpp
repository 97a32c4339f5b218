// call_throttle: decides which calls a channel refuses by itself while its servers refuse many of them;
// without I/O, clock or randomness.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace coracle::client {

// Client-side throttling (Site Reliability Engineering, chapter 21, "Handling Overload"). A server that is
// overloaded spends its time on refusals, so its clients must send less. Of the attempts in a window that
// slides, those that servers accepted are counted; a call is refused with the probability
//
//   max(0, (requests - ratio * accepted) / (requests + padding))
//
// where requests are the attempts that ended and the calls that were refused here. As long as servers accept
// half of the attempts, no call is refused, and servers get at most twice as many attempts as they accept.
//
// The ratio and the padding, which keeps a few failures from mattering, are those of the throttle in gRPC's
// route lookup client. The window is shorter than its 30 s, for two reasons. The calls that are sent double
// in less than a window: after an outage, a channel with 1,000 calls per second would need two and a half
// minutes to send them all again, and needs some 6 s with a window of 2 s. And calls that were refused here
// count for a window: when their callers stop repeating them, too many others are refused until then, while
// servers are half idle.
//
// One per channel and loop, so that counting writes to no memory of others.
class call_throttle {
 public:
  static constexpr std::uint64_t ratio = 2;
  static constexpr std::uint64_t padding = 8;
  static constexpr duration window = std::chrono::seconds(2);

  // Whether a server that works ends attempts with this code. The others are those of servers that are
  // overloaded, or in front of which something is.
  [[nodiscard]] static bool is_accepted(status_code code) noexcept {
    return code != status_code::unavailable && code != status_code::resource_exhausted &&
           code != status_code::deadline_exceeded;
  }

  // An attempt that had a connection has ended, or its response headers have arrived.
  void count(time_point now, bool accepted) noexcept;
  // Whether a call may begin. A call that may not is counted. random: uniform over all values.
  [[nodiscard]] bool admits(time_point now, std::uint64_t random) noexcept;

  // In the window, at the time of the last call of a function.
  [[nodiscard]] std::uint64_t requests() const noexcept { return all_.requests; }
  [[nodiscard]] std::uint64_t accepted() const noexcept { return all_.accepted; }

 private:
  struct counts {
    std::uint64_t requests = 0;
    std::uint64_t accepted = 0;
  };
  static constexpr std::size_t parts = 10;
  // The counts of this part of the window; forgets those that are older than the window.
  counts& of(time_point now) noexcept;

  std::array<counts, parts> parts_{};
  counts all_;
  std::int64_t latest_ = 0;  // the number of the last part, from the epoch on
};

}  // namespace coracle::client
