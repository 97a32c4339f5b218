#include "coracle/base/log.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
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

std::string_view to_string(log_level level) noexcept { return level_names[static_cast<std::size_t>(level)]; }

logger& stderr_logger() noexcept {
  static to_stderr& only = *new to_stderr;  // never destroyed: destructors of static objects may log
  return only;
}

}  // namespace coracle
