// field_slot: numbers that a reader of header fields stores with HPACK's table entries.
#pragma once

#include <cstdint>

namespace coracle::http {

// The largest slot. A field that is sent again as the same table entry comes with its slot, so its text is
// parsed once per connection. 0 means that no slot was stored.
inline constexpr std::uint32_t field_slot_max = (1u << 23) - 1;

// Returns the slot of a field in HPACK's static table (RFC 7541 Appendix A), by its index. These slots never
// change.
constexpr std::uint32_t static_field_slot(std::uint32_t index) noexcept {
  return (field_slot_max + 1) | index;
}

}  // namespace coracle::http
