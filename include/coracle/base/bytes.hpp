// bytes: names for borrowed bytes, and the casts between bytes and text.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace coracle {

/// Bytes that the caller only reads. Borrowed: valid as long as the memory behind them is.
using bytes_view = std::span<const std::uint8_t>;
/// Bytes that the caller may write. Borrowed, as `bytes_view`.
using mutable_bytes = std::span<std::uint8_t>;

/// Returns the same bytes as text. The result borrows: it is valid as long as the bytes of the argument are.
inline std::string_view as_text(bytes_view bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
/// Returns the bytes of a text, borrowed as as_text() borrows.
inline bytes_view as_bytes(std::string_view text) noexcept {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace coracle
