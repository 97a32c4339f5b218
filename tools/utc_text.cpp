#include "tools/utc_text.hpp"

#include <cstdio>
#include <ctime>

namespace coracle::tools {

std::string utc_text(std::chrono::system_clock::time_point when, const char* format) {
  const auto second = std::chrono::floor<std::chrono::seconds>(when);
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(when - second).count();
  const std::time_t t = std::chrono::system_clock::to_time_t(second);
  std::tm utc{};
  char text[64];
  if (!gmtime_r(&t, &utc) || std::strftime(text, sizeof text, format, &utc) == 0) return "(invalid time)";
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%06d", static_cast<int>(us));
  return std::string(text) + fraction;
}

}  // namespace coracle::tools
