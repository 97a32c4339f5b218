#include "base/percent.hpp"

#include <cstddef>

namespace coracle::base {

namespace {

int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void percent_escape(char c, std::string& out) {
  static constexpr char digits[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out.push_back('%');
  out.push_back(digits[byte >> 4]);
  out.push_back(digits[byte & 15]);
}

std::string percent_decode(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && text.size() - i > 2) {
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high >= 0 && low >= 0) {
        plain.push_back(static_cast<char>(high * 16 + low));
        i += 2;
        continue;
      }
    }
    plain.push_back(text[i]);
  }
  return plain;
}

}  // namespace coracle::base
