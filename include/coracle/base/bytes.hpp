// Names for borrowed bytes, and the two casts that go with them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace coracle {

using bytes_view = std::span<const std::uint8_t>;
using mutable_bytes = std::span<std::uint8_t>;

// The same bytes, seen as text or as octets. Borrows: valid as long as the argument's bytes are.
inline std::string_view as_text(bytes_view bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline bytes_view as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace coracle
