// encoding_set: the encodings that one side of a call accepts.
#pragma once

#include "coracle/compress/encoding.hpp"

#include <cstdint>
#include <initializer_list>

namespace coracle {

/// A set of encodings. A value. identity is always a member: every peer may send uncompressed messages.
class encoding_set {
 public:
  /// Makes a set of identity alone.
  constexpr encoding_set() noexcept = default;
  /// Makes a set of the given encodings and identity.
  constexpr encoding_set(std::initializer_list<encoding> those) noexcept {
    for (const encoding e : those) bits_ |= bit(e);
  }
  /// Returns the set of all available() encodings.
  static encoding_set all() noexcept;

  /// Returns whether the set contains `e`.
  [[nodiscard]] constexpr bool has(encoding e) const noexcept { return (bits_ & bit(e)) != 0; }
  /// Returns the intersection of the two sets.
  [[nodiscard]] constexpr encoding_set common(encoding_set other) const noexcept {
    return from_bits(bits_ & other.bits_);
  }
  /// Returns the set as bits: bit n is set if the set contains the encoding with the number n.
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }
  /// Makes a set from bits(); adds identity.
  static constexpr encoding_set from_bits(std::uint32_t bits) noexcept {
    encoding_set s;
    s.bits_ = static_cast<std::uint8_t>(bits | bit(encoding::identity));
    return s;
  }

  friend constexpr bool operator==(encoding_set, encoding_set) noexcept = default;

 private:
  static constexpr std::uint8_t bit(encoding e) noexcept {
    return static_cast<std::uint8_t>(1u << static_cast<unsigned>(e));
  }
  std::uint8_t bits_ = bit(encoding::identity);
};
static_assert(encoding_count <= 8);

}  // namespace coracle
