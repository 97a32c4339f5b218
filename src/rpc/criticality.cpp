#include "coracle/rpc/criticality.hpp"

#include <array>
#include <cstddef>

namespace coracle {

namespace {

constexpr std::array<std::string_view, 4> level_names{"SHEDDABLE", "SHEDDABLE_PLUS", "CRITICAL",
                                                      "CRITICAL_PLUS"};

}  // namespace

std::string_view to_string(criticality c) noexcept { return level_names[static_cast<std::size_t>(c)]; }

std::optional<criticality> parse_criticality(std::string_view name) noexcept {
  for (std::size_t i = 0; i < level_names.size(); ++i)
    if (level_names[i] == name) return static_cast<criticality>(i);
  return std::nullopt;
}

}  // namespace coracle
