// accepted_encodings: a set of encodings, as grpc-accept-encoding names them.
#pragma once

#include "coracle/compress/encoding.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::calls {

class accepted_encodings {
 public:
  // identity alone, which everybody accepts.
  constexpr accepted_encodings() noexcept = default;
  // From bits(), which fit into a slot of the HPACK table.
  constexpr explicit accepted_encodings(std::uint32_t bits) noexcept
      : bits_(static_cast<std::uint8_t>(bits)) {}
  // "gzip, deflate"; names that are not known here are passed over.
  static accepted_encodings named(std::string_view list) noexcept;

  [[nodiscard]] constexpr bool has(encoding e) const noexcept {
    return e == encoding::identity || ((bits_ >> static_cast<unsigned>(e)) & 1u) != 0;
  }
  [[nodiscard]] constexpr std::uint32_t bits() const noexcept { return bits_; }

 private:
  std::uint8_t bits_ = 0;
};
static_assert(encoding_count <= 8);

// Ours, for the wire: "identity,deflate,gzip,zstd,...".
const std::string& accepted_here();
// Nothing for one that is not known, or that the library was built without.
std::optional<encoding> available_encoding(std::string_view name) noexcept;

}  // namespace coracle::calls
