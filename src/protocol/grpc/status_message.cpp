#include "protocol/grpc/status_message.hpp"

namespace coracle::protocol::grpc {

namespace {
int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
}  // namespace

void percent_encode(std::string_view text, std::string& out) {
  static constexpr char digits[] = "0123456789ABCDEF";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto u = static_cast<unsigned char>(c);
    const bool edge_blank = c == ' ' && (i == 0 || i + 1 == text.size());
    if (u >= 0x20 && u <= 0x7e && c != '%' && !edge_blank) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(digits[u >> 4]);
      out.push_back(digits[u & 15]);
    }
  }
}

std::string percent_decode(std::string_view wire) {
  std::string out;
  out.reserve(wire.size());
  for (std::size_t i = 0; i < wire.size(); ++i) {
    if (wire[i] == '%' && wire.size() - i > 2) {
      const int high = hex_value(wire[i + 1]);
      const int low = hex_value(wire[i + 2]);
      if (high >= 0 && low >= 0) {
        out.push_back(static_cast<char>(high * 16 + low));
        i += 2;
        continue;
      }
    }
    out.push_back(wire[i]);
  }
  return out;
}

}  // namespace coracle::protocol::grpc
