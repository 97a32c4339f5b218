#include "tools/units.hpp"

#include "tools/failure.hpp"

#include <charconv>
#include <chrono>
#include <cmath>
#include <string>

namespace coracle::tools {

duration parse_duration(std::string_view text, std::string_view option) {
  struct unit {
    std::string_view name;
    double nanoseconds;
  };
  static constexpr unit units[] = {{"ms", 1e6}, {"us", 1e3}, {"µs", 1e3},
                                   {"s", 1e9},  {"m", 60e9}, {"h", 3600e9}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr double most = 9e18;  // nanoseconds in 64 bits
  if (error == std::errc() && number >= 0)
    for (const unit& u : units)
      if (name == u.name && number * u.nanoseconds < most)
        return std::chrono::duration_cast<duration>(
            std::chrono::nanoseconds(std::llround(number * u.nanoseconds)));
  throw usage_failure(std::string(option) + " is a time such as 5s, 200ms or 1.5m, not '" +
                      std::string(text) + "'");
}

}  // namespace coracle::tools
