// repeated_line: a rate limit for a log line that may occur often; repeated_lines: for one about each of many
// subjects.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

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
  // Whether the next line is written.
  [[nodiscard]] bool is_due(time_point now) const noexcept { return now >= next_; }

 private:
  duration interval_;
  time_point next_ = time_point::min();
  std::uint64_t suppressed_ = 0;
};

// A repeated_line for each subject, such as a method, so that one that fails at every call does not hide
// another. Peers may choose the subjects, so their number is limited: at the limit, the subjects whose next
// line would be written anyway are forgotten, and if there are none, new subjects share one line. Belongs to
// one loop.
class repeated_lines {
 public:
  static constexpr std::size_t subjects_max = 256;  // more methods than a service has; 30 KiB

  void write(logger& to, log_level level, time_point now, std::string_view subject, std::string text) {
    line_of(std::string(subject), now).write(to, level, now, std::move(text));
  }
  [[nodiscard]] std::size_t subjects() const noexcept { return lines_.size(); }

 private:
  repeated_line& line_of(std::string subject, time_point now) {
    if (const auto known = lines_.find(subject); known != lines_.end()) return known->second;
    if (lines_.size() >= subjects_max)
      std::erase_if(lines_, [now](const auto& line) { return line.second.is_due(now); });
    if (lines_.size() >= subjects_max) return others_;
    return lines_[std::move(subject)];
  }
  std::unordered_map<std::string, repeated_line> lines_;
  repeated_line others_;
};

}  // namespace coracle
