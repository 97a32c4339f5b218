// recording: calls recorded by the proxy, in a file with one JSON object per line; replay reads it.
#pragma once

#include <coracle/base/clock.hpp>

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle {
class metadata;
}

namespace coracle::tools {

// 73 years. A recording may come from anyone; with this limit, sums of its times fit a duration.
inline constexpr duration recorded_time_max = duration::max() / 4;

// A request of a call and its time.
struct recorded_step {
  duration at{};  // since the recording began
  std::string request;
};

struct recorded_call {
  std::uint64_t number = 0;
  duration at{};
  std::string path;
  std::string content_subtype;
  duration timeout = duration::max();  // the time left until the deadline
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<recorded_step> requests;
  std::vector<std::string> replies;
  int status = -1;  // of the call's end; -1: it was not recorded
  duration ended{};
};

// Writes into a new file, which only its owner may read; on one thread at a time. Throws failure if the file
// exists already or cannot be written.
class recorder {
 public:
  explicit recorder(const std::string& path);
  void call(const recorded_call& begun, const metadata& sent);
  void request(std::uint64_t number, duration at, std::string_view bytes);
  void reply(std::uint64_t number, duration at, std::string_view bytes);
  void end(std::uint64_t number, duration at, int status);

 private:
  void write(const std::string& line);
  std::string path_;
  std::ofstream file_;
};

// Reads the calls in the order in which they began. Throws failure, which names the invalid line.
[[nodiscard]] std::vector<recorded_call> read_recording(const std::string& path);

}  // namespace coracle::tools
