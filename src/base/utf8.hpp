// utf8: whether bytes are UTF-8 (RFC 3629).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::base {

// Returns the number of bytes before the first one that is not part of a valid character: overlong forms,
// surrogates and characters above U+10FFFF are not. It is text.size() if all of them are.
[[nodiscard]] std::size_t valid_utf8_bytes(std::string_view text) noexcept;

[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
  return valid_utf8_bytes(text) == text.size();
}

// Appends a character, which must not be a surrogate.
void append_utf8(std::string& to, std::uint32_t code);

}  // namespace coracle::base
