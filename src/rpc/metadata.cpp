#include "coracle/rpc/metadata.hpp"

#include "protocol/grpc/wire_metadata.hpp"

#include <algorithm>

namespace coracle {

namespace {

bool printable(std::string_view value) noexcept {
  return std::all_of(value.begin(), value.end(), [](char c) { return c >= 0x20 && c <= 0x7e; });
}

}  // namespace

bool metadata::add(std::string_view key, std::string_view value) {
  if (!protocol::grpc::is_valid_key(key) || protocol::grpc::is_reserved_key(key)) return false;
  if (!protocol::grpc::is_binary_key(key)) {
    if (!printable(value)) return false;
    // HTTP/2 forbids spaces around a value (RFC 9113 8.2.1), and they have no meaning in gRPC.
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

}  // namespace coracle
