// keepalive: checks with PINGs whether a silent peer is still alive (gRFC A8), and enforces a minimum
// interval between the peer's PINGs.
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <cstdint>
#include <utility>

namespace coracle::http2 {

struct keepalive_options {
  // Send a PING after nothing was received for this long. max: never.
  duration time = duration::max();
  // Close the connection if nothing at all was received for this long after the PING.
  duration timeout = std::chrono::seconds(20);
  // Whether PINGs are also sent while no stream is open.
  bool without_calls = false;
};

// Uses no timer of its own: next() is the time at which on_time() must be called, and its result says what to
// do. Recording received bytes is a single store; whether they came in time is determined when the time has
// expired.
class keepalive {
 public:
  enum class verdict : std::uint8_t { nothing, ping, dead };

  keepalive(const keepalive_options& o, time_point now) noexcept
      : options_(o), last_input_(now), next_(deadline_after(now, o.time)) {}

  void on_input(time_point now) noexcept { last_input_ = now; }
  // Call when a stream is opened. Resumes the checks if they were suspended because no stream was open.
  void call_begins() noexcept {
    if (suspended_) [[unlikely]]
      resume();
  }
  [[nodiscard]] time_point next() const noexcept { return next_; }
  // Call when a keepalive PING is acknowledged. Returns false if none was outstanding.
  [[nodiscard]] bool answered() noexcept { return std::exchange(ping_pending_, false); }
  [[nodiscard]] verdict on_time(time_point now, bool calls_open) noexcept;
  [[nodiscard]] std::uint64_t pings() const noexcept { return pings_; }

 private:
  void resume() noexcept;
  keepalive_options options_;
  time_point last_input_;
  time_point next_;
  time_point pinged_at_{};
  std::uint64_t pings_ = 0;
  bool ping_pending_ = false;  // a PING is outstanding
  bool suspended_ = false;  // checks are suspended because no stream is open
};

struct ping_rules {
  // The minimum interval between two PINGs while we send nothing. 0: PINGs are only bounded like other
  // control frames.
  duration min_interval = duration::zero();
  // Whether min_interval also applies while no stream is open; otherwise the interval is then two hours.
  bool without_calls = false;
  // The number of early PINGs that are tolerated; the next one is a violation.
  std::uint32_t strikes = 2;
};

// Enforces a minimum interval between the peer's PINGs (gRFC A8, A9).
class ping_strikes {
 public:
  // Call when HEADERS or DATA are sent: the peer may then measure how long they take.
  void reset() noexcept { reset_at_ = true; }
  // Call when a PING arrives. Returns false if it exceeds the permitted strikes.
  [[nodiscard]] bool take(const ping_rules& rules, time_point now, bool calls_open) noexcept {
    if (rules.min_interval <= duration::zero()) return true;
    const bool first = last_ == time_point::min();
    const time_point before = last_;
    last_ = now;
    if (reset_at_ || first) {
      reset_at_ = false;
      strikes_ = 0;
      return true;
    }
    const duration interval = calls_open || rules.without_calls ? rules.min_interval : interval_without_calls;
    if (now - before >= interval) return true;
    return ++strikes_ <= rules.strikes;
  }

 private:
  static constexpr duration interval_without_calls = std::chrono::hours(2);
  time_point last_ = time_point::min();
  std::uint32_t strikes_ = 0;
  bool reset_at_ = false;
};

}  // namespace coracle::http2
