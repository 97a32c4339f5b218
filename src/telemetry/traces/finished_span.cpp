#include "coracle/telemetry/finished_span.hpp"

#include <algorithm>

namespace coracle {

const attribute_value* finished_span::find(std::string_view key) const noexcept {
  const auto at = std::ranges::find(attributes, key, &attribute_list::value_type::first);
  return at == attributes.end() ? nullptr : &at->second;
}

}  // namespace coracle
