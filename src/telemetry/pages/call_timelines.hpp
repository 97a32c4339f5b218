// call_timelines: the slowest, the failed and the latest calls of each method, as the recorder has them.
#pragma once

#include "coracle/coro/task.hpp"
#include "services/json_text.hpp"

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace coracle {
class recording;
class runtime;
}  // namespace coracle

namespace coracle::telemetry_internal {

// Chooses the calls of a recording and returns the JSON of the page "rpcz". With a method, such as
// "package.Service/Method", only its calls. Takes time in proportion to the recording: not on a loop.
[[nodiscard]] services::ordered_json timelines_of_calls(const recording& from, std::string_view only = {});

// The page of a runtime. Each loop copies its ring, 1 MiB, and goes on; everything else happens on a thread
// of the blocking pool. Any loop.
class call_timelines {
 public:
  // The maximum number of methods of one answer, where those of a client count by themselves. Calls of
  // methods that are not registered are calls of "other"; the ring cuts their paths after text_bytes_max.
  static constexpr std::size_t methods_max = 100;
  // The maximum number of calls of a method in each of its three lists: slowest, failed and latest.
  static constexpr std::size_t calls_max = 8;
  // The maximum number of events of a call: half of them are its first ones, half its last ones.
  static constexpr std::size_t events_max = 60;
  // The maximum number of recordings that are read at the same time: each takes up to 20 MB for each loop.
  static constexpr std::size_t readings_max = 2;

  // Returns the text of the JSON; nothing if as many readings as possible are in progress.
  [[nodiscard]] task<std::optional<std::string>> take(runtime& of, std::string only);

 private:
  std::mutex mutex_;
  std::size_t readings_ = 0;
};

}  // namespace coracle::telemetry_internal
