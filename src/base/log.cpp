#include "coracle/base/log.hpp"

#include "base/log_line.hpp"
#include "base/log_time.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iterator>
#include <new>

namespace coracle {

namespace base {

namespace {

// The longest text is that of a double: "-2.2250738585072014e-308".
template <class Number>
void append_number(std::string& line, Number value) {
  char text[32];
  line.append(text, std::to_chars(std::begin(text), std::end(text), value).ptr);
}

}  // namespace

void append_to_line(std::string& line, long long value) { append_number(line, value); }
void append_to_line(std::string& line, unsigned long long value) { append_number(line, value); }
void append_to_line(std::string& line, double value) { append_number(line, value); }

void append_to_line(std::string& line, std::chrono::nanoseconds value) {
  char text[32];
  line.append(text, write_duration(value, text));
}

std::size_t write_duration(std::chrono::nanoseconds value, char (&to)[32]) noexcept {
  struct unit {
    long long ns;
    std::string_view name;
  };
  constexpr unit units[] = {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}};
  const long long ns = value.count();
  // A number of at most 24 bytes, and its unit.
  const auto with_unit = [&](char* end, std::string_view name) {
    return static_cast<std::size_t>(std::ranges::copy(name, end).out - to);
  };
  for (const unit& u : units) {
    if (ns > -u.ns && ns < u.ns) continue;
    const double in_units = static_cast<double>(ns) / static_cast<double>(u.ns);
    return with_unit(std::to_chars(std::begin(to), std::end(to), in_units).ptr, u.name);
  }
  return with_unit(std::to_chars(std::begin(to), std::end(to), ns).ptr, "ns");
}

}  // namespace base

void logger::accept_now(log_room room, log_level level, std::string_view text,
                        std::span<const log_field> fields, const log_trace* trace) noexcept {
  accept({level, room, base::log_time(), text, fields, trace});
}

void logger::accept(const log_record& line) noexcept {
  if (line.fields.empty() && !line.trace) return record(line.level, line.text);
  base::log_line fields;
  fields.format_fields(line);
  std::string_view added = fields.bytes();
  if (line.text.empty()) added.remove_prefix(std::min<std::size_t>(1, added.size()));
  try {
    std::string all;
    all.reserve(line.text.size() + added.size());
    all.append(line.text).append(added);
    record(line.level, all);
  } catch (const std::bad_alloc&) {
    record(line.level, line.text);
  }
}

void logger::record_failure(log_room room, log_level level, const log_trace* trace) noexcept {
  constexpr std::string_view text = "a log line was left out, because formatting it threw an exception";
  try {
    throw;
  } catch (const std::exception& e) {
    char line[256];
    const int size =
        std::snprintf(line, sizeof line, "%.*s: %s", static_cast<int>(text.size()), text.data(), e.what());
    const auto bytes = std::min<std::size_t>(static_cast<std::size_t>(size), sizeof line - 1);
    accept_now(room, level, std::string_view(line, bytes), {}, trace);
  } catch (...) {
    accept_now(room, level, text, {}, trace);
  }
}

void record_logger::record(log_level level, std::string_view message) noexcept {
  accept({.level = level, .time = base::log_time(), .text = message});
}

}  // namespace coracle
