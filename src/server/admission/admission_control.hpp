// admission_control: decides which calls of a loop run, wait and are rejected.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/rpc/criticality.hpp"
#include "coracle/server/admission_options.hpp"
#include "server/admission/concurrency_limit.hpp"
#include "server/admission/waiting_line.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace coracle::server_internal {

// Sans-I/O, for one loop: the owner passes the time, and calls advance() when next_event() comes.
class admission_control {
 public:
  // `methods`: their indexes are below this.
  admission_control(const admission_options& o, std::size_t methods, std::uint64_t seed);

  // tried: it is probably too late, and permitted all the same. Its deadline must not be tested again.
  enum class verdict : std::uint8_t { permitted, tried, overloaded, too_late };
  // Whether calls need not wait. If not, check() and enter() ask for the client (see client_key()).
  [[nodiscard]] bool is_free() const noexcept { return line_.empty() && has_free_place(); }
  // The request headers of a call have arrived: whether it is worth to read its message.
  [[nodiscard]] verdict check(std::uint32_t method, criticality level, std::uint64_t client,
                              time_point deadline, time_point now) noexcept;

  enum class entry : std::uint8_t { runs, waits, rejected };
  // The request of a call is complete. Sets `since`. If the call waits, one of its functions is called later.
  [[nodiscard]] entry enter(limited_call& c, time_point now) noexcept;
  // A call that runs has ended. ok: see concurrency_limit::call_ended().
  void ended(const limited_call& c, bool ok, time_point now) noexcept;
  // The same without a latency that counts: the call cannot go on yet.
  void released() noexcept { --running_; }
  void set_bounds(const admission_options& o) noexcept {
    limit_.set_bounds(o.min_concurrency, o.max_concurrency);
  }
  // A call that waits has ended.
  void gave_up(limited_call& c) noexcept { line_.remove(c); }

  // Admits calls that wait, and rejects those that have waited for too long. Calls may begin and end within.
  void advance(time_point now) noexcept;
  // When advance() has something to do, if nothing happens until then.
  [[nodiscard]] time_point next_event(time_point now) noexcept;

  [[nodiscard]] std::size_t running() const noexcept { return running_; }
  [[nodiscard]] std::size_t waiting() const noexcept { return line_.size(); }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_.limit(); }

 private:
  // The latency that nine of ten calls of a method exceed.
  struct quick_latency {
    double seconds = 0;
    std::uint32_t calls = 0;  // up to calls_min
    time_point tried{};  // when a call was last permitted that has less time
  };
  // A tenth of the latencies is below if each of these multiplies it by this, and each other one by 1.01.
  static constexpr double decreases_to = 0.91;
  // Little, because most tries of a slow method end at their deadline.
  static constexpr double try_decreases_to = 0.99;
  // Before, no call is too late.
  static constexpr std::uint32_t calls_min = 100;
  // A call that has less time is permitted once in this time: its latency shows whether calls are fast again.
  static constexpr duration try_interval = std::chrono::milliseconds(100);

  [[nodiscard]] verdict check_deadline(std::uint32_t method, time_point deadline, time_point now) noexcept;
  [[nodiscard]] bool has_free_place() const noexcept { return running_ < limit_.limit(); }

  concurrency_limit limit_;
  waiting_line line_;
  std::vector<quick_latency> quick_;  // by method
  std::size_t running_ = 0;
};

}  // namespace coracle::server_internal
