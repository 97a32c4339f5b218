#include "protocol/grpc_web/text_body.hpp"

#include "coracle/base/impl/base64.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace coracle::protocol::grpc_web {

namespace {

constexpr std::array<std::int8_t, 256> make_values() {
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<std::int8_t, 256> v{};
  v.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    v[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  return v;
}
constexpr auto values = make_values();

}  // namespace

bool text_decoder::decode(std::string_view text, std::string& out) {
  if (failed_) return false;
  for (const char c : text) {
    if (c == '=') {
      // RFC 4648 4: one or two, and only as the last characters of a group.
      if (held_ < 2) return failed_ = true, false;
      ++padding_;
    } else {
      const int v = values[static_cast<unsigned char>(c)];
      if (v < 0 || padding_ != 0) return failed_ = true, false;
      bits_ = (bits_ << 6) | static_cast<std::uint32_t>(v);
    }
    if (++held_ < 4) continue;
    const std::uint32_t group = bits_ << (6 * padding_);
    out.push_back(static_cast<char>(group >> 16));
    if (padding_ < 2) out.push_back(static_cast<char>(group >> 8));
    if (padding_ < 1) out.push_back(static_cast<char>(group));
    bits_ = 0;
    held_ = padding_ = 0;
  }
  return true;
}

void text_encoder::encode(bytes_view bytes, std::string& out) {
  if (held_bytes_ != 0) {
    char group[3] = {static_cast<char>(held_[0]), static_cast<char>(held_[1])};
    while (held_bytes_ < 3 && !bytes.empty()) {
      group[held_bytes_] = static_cast<char>(bytes.front());
      if (held_bytes_ < 2) held_[held_bytes_] = bytes.front();
      ++held_bytes_;
      bytes = bytes.subspan(1);
    }
    if (held_bytes_ < 3) return;
    base::base64_encode(std::string_view(group, 3), out);
    held_bytes_ = 0;
  }
  const std::size_t whole = bytes.size() / 3 * 3;
  base::base64_encode(as_text(bytes.first(whole)), out);
  const bytes_view rest = bytes.subspan(whole);
  std::copy(rest.begin(), rest.end(), held_);
  held_bytes_ = static_cast<std::uint8_t>(rest.size());
}

void text_encoder::flush(std::string& out) {
  if (held_bytes_ == 0) return;
  base::base64_encode(as_text(bytes_view(held_, held_bytes_)), out);
  out.append(3u - held_bytes_, '=');
  held_bytes_ = 0;
}

}  // namespace coracle::protocol::grpc_web
