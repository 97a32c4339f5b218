#include "coracle/base/impl/base64.hpp"

#include <array>
#include <cstdint>

namespace coracle::base {

namespace {

constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> make_values() {
  std::array<std::int8_t, 256> v{};
  for (auto& x : v) x = -1;
  for (int i = 0; i < 64; ++i) v[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  return v;
}
constexpr auto values = make_values();

}  // namespace

void base64_encode(std::string_view bytes, std::string& out) {
  std::uint32_t bits = 0;
  int held = 0;
  for (char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) out.push_back(alphabet[(bits >> (held - 6)) & 63]);
  }
  if (held > 0) out.push_back(alphabet[(bits << (6 - held)) & 63]);
}

std::string padded_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  base64_encode(bytes, text);
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

bool base64_decode(std::string_view text, std::string& out) {
  out.clear();
  std::size_t padding = 0;
  while (padding < 2 && !text.empty() && text.back() == '=') {
    text.remove_suffix(1);
    ++padding;
  }
  if (text.size() % 4 == 1) return false;
  if (padding != 0 && (text.size() + padding) % 4 != 0) return false;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int held = 0;
  for (char c : text) {
    const int v = values[static_cast<unsigned char>(c)];
    if (v < 0) return false;
    bits = (bits << 6) | static_cast<std::uint32_t>(v);
    held += 6;
    if (held >= 8) {
      held -= 8;
      out.push_back(static_cast<char>((bits >> held) & 0xff));
    }
  }
  return true;
}

}  // namespace coracle::base
