#include "rpc/wire_metadata.hpp"

#include "protocol/grpc/base64.hpp"

#include <algorithm>
#include <array>

namespace coracle {

namespace {

bool valid_key(std::string_view key) noexcept {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

bool printable(std::string_view value) noexcept {
  return std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

}  // namespace

bool metadata::add(std::string_view key, std::string_view value) {
  if (!valid_key(key) || calls::is_reserved_key(key)) return false;
  if (!calls::is_binary_key(key)) {
    if (!printable(value)) return false;
    // HTTP/2 forbids blanks around a value (RFC 9113 8.2.1); they carry no meaning in gRPC either.
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
  }
  fields_.add(key, value);
  return true;
}

std::vector<std::string_view> metadata::find_all(std::string_view key) const {
  std::vector<std::string_view> found;
  for (const auto field : fields_)
    if (field.name == key) found.push_back(field.value);
  return found;
}

namespace calls {

bool is_reserved_key(std::string_view key) noexcept {
  static constexpr std::array<std::string_view, 10> fixed{
      "content-type", "te",   "connection",     "keep-alive",        "proxy-connection",
      "upgrade",      "host", "content-length", "transfer-encoding", "user-agent"};
  if (key.empty() || key.front() == ':' || key.substr(0, 5) == "grpc-") return true;
  return std::find(fixed.begin(), fixed.end(), key) != fixed.end();
}

// Names are shorter than what is joined under them, or there are not many values.
constexpr std::size_t binary_growth_max = 8;

bool add_wire_field(metadata& to, std::string_view name, std::string_view value) {
  if (!is_binary_key(name)) {
    to.add_received(name, value);
    return true;
  }
  // Each value behind a comma repeats the name: what a peer pays for once must not cost us a thousandfold.
  std::size_t room_bytes = binary_growth_max * (name.size() + value.size());
  std::string bytes;
  while (true) {
    const std::size_t comma = value.find(',');
    std::string_view one = value.substr(0, comma);
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
    if (!protocol::grpc::base64_decode(one, bytes)) return false;
    const std::size_t cost_bytes = name.size() + bytes.size();
    if (cost_bytes > room_bytes) return false;
    room_bytes -= cost_bytes;
    to.add_received(name, bytes);
    if (comma == std::string_view::npos) return true;
    value.remove_prefix(comma + 1);
  }
}

void encode_binary_value(std::string_view value, std::string& out) {
  protocol::grpc::base64_encode(value, out);
}

}  // namespace calls
}  // namespace coracle
