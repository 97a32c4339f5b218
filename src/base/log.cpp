#include "coracle/base/log.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace coracle {

namespace {

class to_stderr final : public logger {
 public:
  to_stderr() noexcept {
    const char* text = std::getenv("CORACLE_LOG");
    const std::string_view level = text ? text : "warning";
    set_least(level == "debug"   ? log_level::debug
              : level == "info"  ? log_level::info
              : level == "error" ? log_level::error
                                 : log_level::warning);
  }
  void write(log_level level, std::string_view message) noexcept override {
    static constexpr const char* names[] = {"debug", "info", "warning", "error"};
    if (!wants(level)) return;
    std::fprintf(stderr, "coracle: %s: %.*s\n", names[static_cast<int>(level)],
                 static_cast<int>(message.size()), message.data());
  }
};

}  // namespace

logger& stderr_logger() noexcept {
  static to_stderr only;
  return only;
}

}  // namespace coracle
