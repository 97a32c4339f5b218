#include "base/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace coracle::base {

std::size_t valid_utf8_bytes(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t at = 0;
  while (at < text.size()) {
    if (std::uint64_t eight = 0; text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080'8080'8080'8080) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const unsigned char first = byte(at);
    if (first < 0x80) {
      ++at;
      continue;
    }
    // RFC 3629 4: only the second byte has a range of its own, which excludes overlong forms, surrogates and
    // what is above U+10FFFF.
    std::size_t size = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    if (first >= 0xc2 && first <= 0xdf) {
      size = 2;
    } else if (first >= 0xe0 && first <= 0xef) {
      size = 3;
      if (first == 0xe0) low = 0xa0;
      if (first == 0xed) high = 0x9f;
    } else if (first >= 0xf0 && first <= 0xf4) {
      size = 4;
      if (first == 0xf0) low = 0x90;
      if (first == 0xf4) high = 0x8f;
    }
    if (size == 0 || text.size() - at < size || byte(at + 1) < low || byte(at + 1) > high) return at;
    for (std::size_t i = 2; i < size; ++i)
      if (byte(at + i) < 0x80 || byte(at + i) > 0xbf) return at;
    at += size;
  }
  return at;
}

void append_utf8(std::string& to, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { to.push_back(static_cast<char>(byte)); };
  const auto put_rest = [&](int bytes) {
    while (bytes-- > 0) put(0x80 | ((code >> (6 * bytes)) & 0x3f));
  };
  if (code < 0x80) return put(code);
  if (code < 0x800) return put(0xc0 | code >> 6), put_rest(1);
  if (code < 0x10000) return put(0xe0 | code >> 12), put_rest(2);
  put(0xf0 | code >> 18), put_rest(3);
}

}  // namespace coracle::base
