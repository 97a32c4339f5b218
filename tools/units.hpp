// units: parses durations with a unit.
#pragma once

#include <coracle/base/clock.hpp>

#include <string_view>

namespace coracle::tools {

// Accepts "1.5s", "200ms", "50us" or "50µs", "2m", "1h"; throws usage_failure, which names the option.
[[nodiscard]] duration parse_duration(std::string_view text, std::string_view option);

}  // namespace coracle::tools
