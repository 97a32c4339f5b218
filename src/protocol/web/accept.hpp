// accept: how much a client wants a media type, by the Accept fields of its request (RFC 9110 12.5.1).
#pragma once

#include <span>
#include <string_view>

namespace coracle::protocol::web {

inline constexpr int weight_max = 1000;

// RFC 9110 12.4.2: "0" to "1" with up to three decimals, in thousandths. A malformed weight is 0: the element
// is ignored.
[[nodiscard]] int parse_weight(std::string_view text) noexcept;

// The weight of `type/subtype`: that of the most specific range that includes it, and 0 if none does. A
// request without Accept, or whose Accept is empty, accepts everything. `values`: of all Accept fields.
[[nodiscard]] int accepted_weight(std::span<const std::string_view> values, std::string_view type,
                                  std::string_view subtype) noexcept;

}  // namespace coracle::protocol::web
