// The Huffman code for strings (RFC 7541 5.2 and Appendix B).
#pragma once

#include "coracle/base/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::hpack::huffman {

// Bytes that encode() will write for this text.
[[nodiscard]] std::size_t encoded_bytes(std::string_view text) noexcept;
// Writes exactly encoded_bytes(text) bytes and returns their end.
[[nodiscard]] std::uint8_t* encode(std::uint8_t* out, std::string_view text) noexcept;

enum class error : std::uint8_t {
  none,
  end_of_string,  // the EOS symbol occurs
  padding,        // eight or more bits are left over, or some that are not ones
};

struct decoded {
  std::size_t bytes = 0;  // written to `out`; meaningless after an error
  huffman::error error = huffman::error::none;
};

// Bytes that decode() may write to for an input of so many, scribbling included: the shortest code has five
// bits, and two characters are stored at a time.
[[nodiscard]] constexpr std::size_t decoded_bound(std::size_t encoded) noexcept {
  return encoded * 8 / 5 + 2;
}

// Reads the whole input. `out` has room for decoded_bound(input.size()) bytes.
[[nodiscard]] decoded decode(bytes_view input, char* out) noexcept;

}  // namespace coracle::hpack::huffman
