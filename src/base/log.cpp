#include "coracle/base/log.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>

namespace coracle {

namespace {

constexpr std::string_view level_names[] = {"debug", "info", "warning", "error"};

log_level level_of(std::string_view name) noexcept {
  for (unsigned char i = 0; i < std::size(level_names); ++i)
    if (level_names[i] == name) return static_cast<log_level>(i);
  return log_level::warning;
}

class to_stderr final : public logger {
 public:
  to_stderr() noexcept {
    const char* min_level = std::getenv("CORACLE_LOG");
    set_min_level(level_of(min_level ? min_level : ""));
  }

 private:
  // One stdio call writes each line, so that lines of several threads do not mix.
  void record(log_level level, std::string_view message) noexcept override {
    const std::string_view name = to_string(level);
    std::fprintf(stderr, "coracle: %.*s: %.*s\n", static_cast<int>(name.size()), name.data(),
                 static_cast<int>(message.size()), message.data());
  }
};

}  // namespace

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
  struct unit {
    long long ns;
    std::string_view name;
  };
  constexpr unit units[] = {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}};
  const long long ns = value.count();
  for (const unit& u : units) {
    if (ns > -u.ns && ns < u.ns) continue;
    append_number(line, static_cast<double>(ns) / static_cast<double>(u.ns));
    line += u.name;
    return;
  }
  append_number(line, ns);
  line += "ns";
}

}  // namespace base

void logger::record_failure(log_level level) noexcept {
  constexpr std::string_view text = "a log line was left out, because formatting it threw an exception";
  try {
    throw;
  } catch (const std::exception& e) {
    char line[256];
    const int size =
        std::snprintf(line, sizeof line, "%.*s: %s", static_cast<int>(text.size()), text.data(), e.what());
    record(level,
           std::string_view(line, std::min<std::size_t>(static_cast<std::size_t>(size), sizeof line - 1)));
  } catch (...) {
    record(level, text);
  }
}

std::string_view to_string(log_level level) noexcept { return level_names[static_cast<std::size_t>(level)]; }

logger& stderr_logger() noexcept {
  static to_stderr& only = *new to_stderr;  // never destroyed: destructors of static objects may log
  return only;
}

}  // namespace coracle
