#include "server/call/server_timing.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>

namespace coracle::server_internal {

namespace {

// In milliseconds, to the nanosecond.
void add_time(std::string& to, std::string_view name, duration d) {
  const double ms = std::chrono::duration<double, std::milli>(d).count();
  char digits[32];
  const auto written = std::to_chars(digits, digits + sizeof digits, ms, std::chars_format::fixed, 6);
  to.append(name).append(";dur=").append(digits, written.ptr).append(", ");
}

void add_count(std::string& to, std::string_view name, std::uint64_t n) {
  to.append(name).append(";desc=").append(std::to_string(n)).append(", ");
}

}  // namespace

std::string server_timing(const call_cost& c) {
  std::string text;
  add_time(text, "running", c.running);
  add_time(text, "messages", c.waiting_for_messages);
  add_time(text, "room", c.waiting_for_room);
  add_time(text, "calls", c.waiting_for_calls);
  add_time(text, "other", c.waiting_otherwise);
  add_count(text, "runs", c.runs);
  add_count(text, "frames", c.frames);
  add_count(text, "heap-blocks", c.heap_blocks);
  add_count(text, "received", c.traffic.bytes_received);
  add_count(text, "sent", c.traffic.bytes_sent);
  text.resize(text.size() - 2);
  return text;
}

}  // namespace coracle::server_internal
