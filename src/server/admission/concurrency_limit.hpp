// concurrency_limit: how many calls a loop of a server runs at a time.
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace coracle::server_internal {

// Adapts a limit to the latency of the calls that it admits: sans-I/O, for one loop.
//
// The limit shrinks while calls take more than `tolerance` times what they take without a queue, and grows
// while they do not and the limit is used up. What they take without a queue is measured at intervals, while
// the limit is reduced to the concurrency that served the highest rate without one: by Little's law, the
// product of rate and latency. An estimate that contained a queue is corrected so, step by step; one that
// follows the latency would grow with a lasting overload (docs/decisions/0021).
//
// A measurement that finds far longer latencies is doubted: what the calls use may be slow only for a while,
// and then a full limit would hide that it is fast again. The next measurements come soon, are short, and use
// the minimum, until one finds the former latencies, or many have confirmed the longer ones.
//
// Latencies count by method, so that dear and cheap methods share the limit: a window of calls is compared
// with what these calls would have taken without a queue.
class concurrency_limit {
 public:
  // A window of calls changes the limit once: after this time and with this many calls, or, at low rates,
  // after the longer time with fewer.
  static constexpr duration window_time = std::chrono::milliseconds(100);
  static constexpr std::uint32_t window_calls = 100;
  static constexpr duration long_window_time = std::chrono::seconds(1);
  static constexpr std::uint32_t long_window_calls = 20;
  // Latencies without a queue are measured for at least this time, and for four calls.
  static constexpr duration measuring_time = std::chrono::seconds(1);
  // From one measurement to the next: this, and at most as much again, by chance, so that the loops and
  // servers that a load balancer has do not measure together. The first one comes sooner, and so does one
  // that is due when the limit has not been used up for a while.
  static constexpr duration measuring_interval = std::chrono::seconds(20);
  static constexpr duration first_measurement = std::chrono::seconds(2);
  static constexpr double tolerance = 1.5;

  concurrency_limit(std::size_t min, std::size_t max, std::size_t methods, std::uint64_t seed);

  [[nodiscard]] std::size_t limit() const noexcept { return static_cast<std::size_t>(limit_); }
  // The limit stays if it is between them.
  void set_bounds(std::size_t min, std::size_t max) noexcept;
  // A call has ended that was admitted at `began`; `running` includes it. ok: it did its work. The latency of
  // others counts only if it is longer than usual: failures are often fast.
  void call_ended(std::uint32_t method, time_point began, time_point now, bool ok,
                  std::size_t running) noexcept;

 private:
  struct method_latency {
    double usual = 0;  // seconds, without a queue; 0: not known
    double before_doubt = 0;  // the former usual, while that is doubted
    double sum = 0;  // in this window
    std::uint32_t calls = 0;
  };
  void end_window(time_point now) noexcept;
  void end_measurement(time_point now) noexcept;
  void begin_measurement(time_point now, double latency) noexcept;
  // What is doubted seems to be right.
  void confirm(time_point now) noexcept;
  void leave_measurement(time_point now) noexcept;
  [[nodiscard]] bool is_slower() const noexcept;
  [[nodiscard]] bool is_doubted() const noexcept { return doubts_ != 0; }
  void begin_window(time_point now) noexcept;

  std::vector<method_latency> methods_;
  std::vector<std::uint32_t> seen_;  // the methods of this window
  double min_ = 1;
  double max_ = 1;
  double limit_ = 1;
  double limit_before_ = 0;  // this measurement
  double work_ = 0;  // the highest rate of calls times their latencies without a queue
  double work_before_doubt_ = 0;
  std::uint32_t calls_ = 0;  // in this window
  std::size_t running_max_ = 0;  // in this window
  duration measuring_for_{};
  time_point window_began_{};
  time_point measure_at_{};
  time_point admitted_from_{};  // calls that were admitted before do not count
  std::uint64_t random_;
  std::uint8_t windows_at_min_ = 0;
  std::uint8_t doubts_ = 0;  // measurements that found calls far slower than before; 0: the usual is trusted
  bool begun_ = false;
  bool measuring_ = false;
  bool measured_ = false;  // at least once, or idle
  bool leaps_ = true;  // until the first window with a queue
};

}  // namespace coracle::server_internal
