// A header field as HPACK sees it, and how it may be compressed.
#pragma once

#include <cstdint>
#include <string_view>

namespace coracle::hpack {

// Borrowed: whoever hands out a field says how long it lives.
struct field {
  std::string_view name;
  std::string_view value;
  // Sent as "never indexed" (RFC 7541 6.2.3): must be sent on the same way, and not be cached.
  bool never_index = false;
};

// How a field may be represented (RFC 7541 6.2).
enum class indexing : std::uint8_t {
  index,        // enter it into the dynamic table: it will come again
  name_only,  // its value will hardly come again: entered when its name is in no table yet, for the name's sake
  no_index,  // it will hardly come again
  never_index,  // a secret: no hop may ever compress it against others (RFC 7541 7.1.3)
};

// What an entry costs beside its bytes (RFC 7541 4.1).
inline constexpr std::uint32_t entry_overhead_bytes = 32;
// The table size that both sides start with (RFC 9113 6.5.2).
inline constexpr std::uint32_t default_table_bytes = 4096;
// The largest table that either side may be told to keep; larger is a mistake in the program.
inline constexpr std::uint32_t table_bytes_max = 1u << 28;

}  // namespace coracle::hpack
