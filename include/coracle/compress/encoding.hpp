// encoding: a compression method for messages and its name in grpc-encoding.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace coracle {

/// A compression method for messages. The numbers are never sent. available() tells which encodings a program
/// supports.
enum class encoding : std::uint8_t {
  identity,  ///< not compressed
  deflate,  ///< zlib's format (RFC 1950), as gRPC specifies; not raw deflate
  gzip,  ///< RFC 1952
  zstd,  ///< RFC 8878
  brotli,  ///< "br", RFC 7932
  snappy,  ///< snappy's framing format
  lz4,  ///< LZ4's frame format
};
/// The number of encodings.
inline constexpr std::size_t encoding_count = 7;

/// Returns the name in grpc-encoding, such as "gzip"; "br" for brotli.
std::string_view name_of(encoding e) noexcept;
/// Returns the encoding with that name, or nothing if there is none. The comparison is case-sensitive.
std::optional<encoding> encoding_named(std::string_view name) noexcept;
/// Returns whether this program supports the encoding. identity, deflate and gzip are always available; zstd
/// is, and the others if Coracle was built with their libraries, unless a program that links Coracle
/// statically leaves them out: see the property CORACLE_ENCODINGS in docs/reference/cmake.md.
bool available(encoding e) noexcept;

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
