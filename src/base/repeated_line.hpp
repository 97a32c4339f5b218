// repeated_line: a rate limit for a log line that may occur often.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace coracle {

// One object for each place that logs; belongs to one loop. Writes the first line at once, and later lines at
// most once per `interval`, with the number of lines that were omitted before.
class repeated_line {
 public:
  explicit repeated_line(duration interval = std::chrono::seconds(10)) noexcept : interval_(interval) {}
  void write(logger& to, log_level level, time_point now, std::string text) {
    if (now < next_) {
      ++suppressed_;
      return;
    }
    next_ = deadline_after(now, interval_);
    if (suppressed_ != 0) text.append(" (and ").append(std::to_string(suppressed_)).append(" times before)");
    suppressed_ = 0;
    to.write(level, text);
  }

 private:
  duration interval_;
  time_point next_ = time_point::min();
  std::uint64_t suppressed_ = 0;
};

}  // namespace coracle
