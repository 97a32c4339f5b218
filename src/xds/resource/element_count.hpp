// element_count: how many elements a serialized resource has, before memory for them is allocated.
#pragma once

#include <cstddef>
#include <string_view>

namespace coracle::xds {

enum class resource_kind : unsigned char;

// How many elements the lists of a serialized resource have, those of contained lists included. Does not
// allocate. Of what is malformed, it counts what is before the damage.
[[nodiscard]] std::size_t element_count(resource_kind kind, std::string_view bytes);

// The occurrences of the field `number` in a serialized message, and the last text of such a field.
struct field_occurrences {
  std::size_t count = 0;
  std::string_view last;
};
[[nodiscard]] field_occurrences occurrences(std::string_view message, int number);

}  // namespace coracle::xds
