#include "hpack/string_literal.hpp"

#include "hpack/huffman.hpp"
#include "hpack/integer.hpp"

#include <cstring>

namespace coracle::hpack {

std::uint8_t* write_string(std::uint8_t* out, std::string_view text) noexcept {
  const std::size_t encoded = huffman::encoded_bytes(text);
  if (encoded < text.size()) {
    out = write_integer(out, 7, 0x80, static_cast<std::uint32_t>(encoded));
    return huffman::encode(out, text);
  }
  out = write_integer(out, 7, 0, static_cast<std::uint32_t>(text.size()));
  if (!text.empty()) std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

std::uint8_t* write_literal(std::uint8_t* out, literal_form form, std::uint32_t name_index,
                            std::string_view name, std::string_view value) noexcept {
  out = write_integer(out, form.prefix_bits, form.pattern, name_index);
  if (name_index == 0) out = write_string(out, name);
  return write_string(out, value);
}

}  // namespace coracle::hpack
