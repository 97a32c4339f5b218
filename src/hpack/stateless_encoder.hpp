// stateless_encoder: encodes header blocks that can be reused on any connection.
#pragma once

#include "hpack/field.hpp"
#include "hpack/string_literal.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace coracle::hpack {

// Encodes fields with references to the static table and literals without indexing only, so that the bytes
// are valid for every peer at any time and do not change its dynamic table. A block must still begin with
// encoder::begin_block(), which writes a pending size update.
struct stateless_encoder {
  static constexpr std::size_t bound(std::size_t name_bytes, std::size_t value_bytes) noexcept {
    return literal_bound(name_bytes, value_bytes);
  }
  // Writes at most bound() bytes; returns the end of the field.
  [[nodiscard]] static std::uint8_t* encode(std::uint8_t* out, std::string_view name, std::string_view value,
                                            bool never_index = false) noexcept;
  [[nodiscard]] static std::vector<std::uint8_t> encode_block(std::span<const field> fields);
  [[nodiscard]] static std::vector<std::uint8_t> encode_block(std::initializer_list<field> fields) {
    return encode_block(std::span<const field>(fields.begin(), fields.size()));
  }
};

}  // namespace coracle::hpack
