// Slots: numbers that whoever reads header fields leaves with HPACK's table entries.
#pragma once

#include <cstdint>

namespace coracle::http {

// A field that comes again as the same entry brings its slot, so that its text is read once per connection. 0: none was left.
inline constexpr std::uint32_t field_slot_max = (1u << 23) - 1;

// The slots of the fields in HPACK's static table (RFC 7541 Appendix A), by index. They never change.
constexpr std::uint32_t static_field_slot(std::uint32_t index) noexcept {
  return (field_slot_max + 1) | index;
}

}  // namespace coracle::http
