#include "telemetry/profiles/heap_profile.hpp"

#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/offload.hpp"
#include "runtime/heap_dump.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace coracle::telemetry_internal {

namespace {

constexpr std::string_view jemalloc_header = "heap_v2/";
constexpr std::string_view gperftools_header = "heap profile:";
constexpr std::string_view end_of_samples = "MAPPED_LIBRARIES:";

// Reads a text from its front.
class scanner {
 public:
  explicit scanner(std::string_view text) noexcept : left_(text) {}

  // Passes over blanks, and then over the word, if it is next.
  bool take(std::string_view word) noexcept {
    skip_blanks();
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }
  bool take_number(std::uint64_t& n, int base = 10) noexcept {
    skip_blanks();
    const auto [end, wrong] = std::from_chars(left_.data(), left_.data() + left_.size(), n, base);
    if (wrong != std::errc()) return false;
    left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    return true;
  }
  bool next_line(std::string_view& line) noexcept {
    if (left_.empty()) return false;
    line = left_.substr(0, left_.find('\n'));
    left_.remove_prefix(std::min(left_.size(), line.size() + 1));
    return true;
  }

 private:
  void skip_blanks() noexcept { left_.remove_prefix(std::min(left_.find_first_not_of(' '), left_.size())); }
  std::string_view left_;
};

// Objects and bytes in use, objects and bytes that were ever allocated: "1: 100 [5: 500]".
using heap_values = std::array<std::uint64_t, 4>;

bool take_values(scanner& from, heap_values& to) noexcept {
  return from.take_number(to[0]) && from.take(":") && from.take_number(to[1]) && from.take("[") &&
         from.take_number(to[2]) && from.take(":") && from.take_number(to[3]) && from.take("]");
}

// Each address is that of the instruction after a call.
std::vector<std::uintptr_t> take_addresses(scanner& from) {
  std::vector<std::uintptr_t> all;
  std::uint64_t address = 0;
  while (from.take("0x") && from.take_number(address, 16))
    if (address != 0) all.push_back(static_cast<std::uintptr_t>(address - 1));
  return all;
}

// jemalloc records a byte in `interval` at random, so that a large block is recorded more often than a small
// one.
void scale(std::uint64_t& objects, std::uint64_t& bytes, std::uint64_t interval) noexcept {
  if (objects == 0 || interval <= 1) return;
  const double mean_bytes = static_cast<double>(bytes) / static_cast<double>(objects);
  const double recorded_part = -std::expm1(-mean_bytes / static_cast<double>(interval));
  if (!(recorded_part > 0)) return;
  objects = static_cast<std::uint64_t>(std::llround(static_cast<double>(objects) / recorded_part));
  bytes = static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes) / recorded_part));
}

void add_sample(profile_content& to, std::vector<std::uintptr_t> addresses, heap_values values,
                std::uint64_t interval) {
  scale(values[0], values[1], interval);
  scale(values[2], values[3], interval);
  to.samples.push_back({std::move(addresses), {values.begin(), values.end()}, {}});
}

// A line with the stack, then lines with the values of all threads ("t*:") and of each.
void read_jemalloc(scanner lines, std::uint64_t interval, profile_content& to) {
  std::vector<std::uintptr_t> addresses;
  for (std::string_view line; lines.next_line(line) && line != end_of_samples;) {
    scanner words(line);
    heap_values values{};
    if (words.take("@")) addresses = take_addresses(words);
    else if (!addresses.empty() && words.take("t*:") && take_values(words, values))
      add_sample(to, std::exchange(addresses, {}), values, interval);
  }
}

// A line for each stack. Every block is recorded.
void read_gperftools(scanner lines, profile_content& to) {
  for (std::string_view line; lines.next_line(line) && line != end_of_samples;) {
    scanner words(line);
    heap_values values{};
    if (take_values(words, values) && words.take("@")) add_sample(to, take_addresses(words), values, 1);
  }
}

result<std::string> make_profile(wall_time now) {
  const result<std::string> dump = runtime_internal::dump_heap();
  if (!dump.ok()) return dump.status();
  std::optional<profile_content> content = read_heap_dump(*dump);
  if (!content) return status::unavailable("the allocator's heap profile has an unknown format");
  content->times.begun = now;
  return compressed_profile(*content);
}

}  // namespace

std::optional<profile_content> read_heap_dump(std::string_view text) {
  profile_content made;
  made.types = {{"inuse_objects", "count"},
                {"inuse_space", "bytes"},
                {"alloc_objects", "count"},
                {"alloc_space", "bytes"}};
  made.period_type = {"space", "bytes"};
  made.default_type = "inuse_space";
  scanner lines(text);
  std::string_view first;
  if (!lines.next_line(first)) return std::nullopt;
  scanner header(first);
  std::uint64_t interval = 0;
  if (header.take(jemalloc_header) && header.take_number(interval)) {
    read_jemalloc(lines, interval, made);
    made.period = interval;
    return made;
  }
  if (!header.take(gperftools_header)) return std::nullopt;
  read_gperftools(lines, made);
  made.period = 1;
  return made;
}

task<result<std::string>> take_heap_profile() {
  offload making(&make_profile, loop::current()->wall_now());
  result<std::string> made = co_await making;
  co_return made;
}

}  // namespace coracle::telemetry_internal
