// repeated_lines: a rate limit for log lines that may occur often.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/coro/executor.hpp"
#include "coracle/runtime/loop.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle {

// The log lines of one loop that a peer, or a mistake at every call, can cause in any number. Each subject
// has a limit of its own, so that one does not hide another: what it is about (a place in the code, a method)
// and the kind of its problem. The first line of a subject is written at once. Later ones are counted, and
// while there are any, the last one is written with their number at the end of each interval; also when the
// loop ends.
//
// Peers may choose the subjects, so their number is limited; more of them share one limit.
class repeated_lines final : public coro::executor_local, private coro::timer {
 public:
  static constexpr duration interval = std::chrono::seconds(10);
  static constexpr std::size_t subjects_max = 256;  // more than the methods of a service; 64 KiB

  repeated_lines() noexcept;
  ~repeated_lines() override;

  // Writes a line about `subject`. place: tells subjects of different objects apart, and is not dereferenced.
  // trace: the ids of the call that the line is about. On the thread of the loop.
  static void write(loop& here, log_room room, log_level level, const void* place, std::string_view subject,
                    std::string text, const std::optional<log_trace>& trace = {});
  // The number of subjects about which a line was written within the interval.
  [[nodiscard]] std::size_t subjects() const noexcept { return lines_.size(); }

 private:
  struct line {
    time_point due{};  // the end of its interval
    std::uint64_t suppressed = 0;
    log_room room = log_room::application;
    log_level level = log_level::info;
    std::string last;  // the last one of those that were suppressed
    std::optional<log_trace> trace;  // of the last one
  };
  void add(loop& here, log_room room, log_level level, std::pair<const void*, std::string> subject,
           std::string text, const std::optional<log_trace>& trace);
  void take_stock(time_point now) noexcept;
  void write_suppressed(line& of) noexcept;

  loop* loop_ = nullptr;  // since the first line
  logger* log_ = nullptr;
  std::map<std::pair<const void*, std::string>, line> lines_;
};

}  // namespace coracle
