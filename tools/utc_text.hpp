// utc_text: points of the wall clock as text.
#pragma once

#include <chrono>
#include <string>

namespace coracle::tools {

// UTC with microseconds, in a format of strftime(). What a damaged file says may be far from today.
std::string utc_text(std::chrono::system_clock::time_point when, const char* format);

}  // namespace coracle::tools
