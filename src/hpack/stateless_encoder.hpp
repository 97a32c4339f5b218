// Header blocks as constant bytes: encoded once, sent on any connection.
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

// Fields in terms of the static table and literals without indexing only: the bytes mean the same to
// every peer at any time and leave its table alone. A block still starts with encoder::begin_block(),
// which is where a pending size update goes.
struct stateless_encoder {
  static constexpr std::size_t bound(std::size_t name_bytes, std::size_t value_bytes) noexcept {
    return literal_bound(name_bytes, value_bytes);
  }
  // Writes at most bound() bytes; returns where the field ends.
  [[nodiscard]] static std::uint8_t* encode(std::uint8_t* out, std::string_view name, std::string_view value,
                                            bool never_index = false) noexcept;
  [[nodiscard]] static std::vector<std::uint8_t> encode_block(std::span<const field> fields);
  [[nodiscard]] static std::vector<std::uint8_t> encode_block(std::initializer_list<field> fields) {
    return encode_block(std::span<const field>(fields.begin(), fields.size()));
  }
};

}  // namespace coracle::hpack
