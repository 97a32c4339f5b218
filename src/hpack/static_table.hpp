// static_table: the static table (RFC 7541 Appendix A).
#pragma once

#include "hpack/field.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace coracle::hpack {

inline constexpr std::uint32_t static_entry_count = 61;

// Entries by HPACK index, from 1 to static_entry_count; [0] is empty.
extern const std::array<field, static_entry_count + 1> static_table;

struct static_match {
  std::uint8_t name_index = 0;   // the first entry with this name; 0 if there is none
  std::uint8_t field_index = 0;  // the entry with this name and value; 0 if there is none
};

[[nodiscard]] static_match find_static(std::string_view name, std::string_view value) noexcept;

}  // namespace coracle::hpack
