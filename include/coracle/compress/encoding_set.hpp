// encoding_set: which encodings a side of a call accepts.
#pragma once

#include "coracle/compress/encoding.hpp"

#include <cstdint>
#include <initializer_list>

namespace coracle {

// A value. identity is always in it: every peer may send messages that are not compressed.
class encoding_set {
 public:
  // identity alone.
  constexpr encoding_set() noexcept = default;
  constexpr encoding_set(std::initializer_list<encoding> those) noexcept {
    for (const encoding e : those) bits_ |= bit(e);
  }
  // All that are available().
  static encoding_set all() noexcept;

  [[nodiscard]] constexpr bool has(encoding e) const noexcept { return (bits_ & bit(e)) != 0; }
  // What is in both.
  [[nodiscard]] constexpr encoding_set common(encoding_set other) const noexcept {
    return from_bits(bits_ & other.bits_);
  }
  // The n-th bit is set where the encoding with the number n is in the set.
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }
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
