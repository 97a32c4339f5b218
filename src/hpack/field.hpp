// field: a header field with its HPACK representation, and the indexing policies.
#pragma once

#include <cstdint>
#include <string_view>

namespace coracle::hpack {

// The views are borrowed; the function that returns a field documents how long they are valid.
struct field {
  std::string_view name;
  std::string_view value;
  // Whether it was sent as "never indexed" (RFC 7541 6.2.3). It must then be forwarded in the same way, and
  // must not be cached.
  bool never_index = false;
};

// How a field may be represented (RFC 7541 6.2).
enum class indexing : std::uint8_t {
  index,  // insert it into the dynamic table: the field is expected to repeat
  name_only,  // the value rarely repeats: insert the field only if no table has its name yet
  no_index,  // the field rarely repeats
  never_index,  // secret: no hop may compress it (RFC 7541 7.1.3)
};

// The overhead that each entry adds to its bytes (RFC 7541 4.1).
inline constexpr std::uint32_t entry_overhead_bytes = 32;
// The initial table size of both sides (RFC 9113 6.5.2).
inline constexpr std::uint32_t default_table_bytes = 4096;
// The largest table size that the program may configure for either side; a larger one is a programming error.
inline constexpr std::uint32_t table_bytes_max = 1u << 28;

}  // namespace coracle::hpack
