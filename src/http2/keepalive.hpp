// keepalive: checks with PINGs whether a silent peer is still alive (gRFC A8).
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
      : options_(o), heard_(now), next_(deadline_after(now, o.time)) {}

  void heard(time_point now) noexcept { heard_ = now; }
  // Call when a stream is opened. Resumes the checks if they were suspended because no stream was open.
  void call_begins() noexcept {
    if (asleep_) [[unlikely]]
      wake();
  }
  [[nodiscard]] time_point next() const noexcept { return next_; }
  // Call when a keepalive PING is acknowledged. Returns false if none was outstanding.
  [[nodiscard]] bool answered() noexcept { return std::exchange(asking_, false); }
  [[nodiscard]] verdict on_time(time_point now, bool calls_open) noexcept;
  [[nodiscard]] std::uint64_t pings() const noexcept { return pings_; }

 private:
  void wake() noexcept;
  keepalive_options options_;
  time_point heard_;
  time_point next_;
  time_point asked_{};
  std::uint64_t pings_ = 0;
  bool asking_ = false;  // a PING is outstanding
  bool asleep_ = false;  // checks are suspended because no stream is open
};

}  // namespace coracle::http2
