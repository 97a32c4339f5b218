// wire_metadata: metadata as header fields: valid names, and base64 for names that end in "-bin".
#pragma once

#include "coracle/base/impl/base64.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

// Returns true for "x-trace-bin" and the like.
constexpr bool is_binary_key(std::string_view key) noexcept {
  return key.size() > 4 && key.substr(key.size() - 4) == "-bin";
}

// Whether the key is not empty and consists of lower-case letters, digits, '-', '_' and '.' only.
bool is_valid_key(std::string_view key) noexcept;

// Whether a received field belongs to the protocol or to HTTP and is therefore not metadata.
bool is_protocol_field(std::string_view name) noexcept;

// Whether programs must not add metadata with this key: a field of the protocol, or one that gRPC or HTTP
// gives a meaning (grpc-..., host, user-agent). Peers may send the latter all the same.
bool is_reserved_key(std::string_view key) noexcept;

// Calls put(name, wire value) for each pair of `from`, a range of pairs {name, value}.
template <class Metadata, class Put>
void for_each_wire_field(const Metadata& from, Put&& put) {
  std::string encoded;
  for (const auto field : from) {
    if (is_binary_key(field.name)) {
      encoded.clear();
      base::base64_encode(field.value, encoded);
      put(field.name, std::string_view(encoded));
    } else {
      put(field.name, field.value);
    }
  }
}

// Calls put(name, value) for each value of a received field. Values of binary keys are decoded, and split at
// commas where a proxy has joined them. Returns false if one of them is not valid base64, or if splitting
// would multiply the field's size: each value repeats the name in memory, and a peer must not make this side
// hold a thousand times what it sends.
template <class Put>
bool read_wire_field(std::string_view name, std::string_view value, Put&& put) {
  // Sufficient: names are shorter than the values that are joined under them, or there are few values.
  constexpr std::size_t growth_max = 8;
  if (!is_binary_key(name)) {
    put(name, value);
    return true;
  }
  std::size_t budget_bytes = growth_max * (name.size() + value.size());
  std::string decoded;
  while (true) {
    const std::size_t comma = value.find(',');
    std::string_view one = value.substr(0, comma);
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
    if (!base::base64_decode(one, decoded)) return false;
    const std::size_t cost_bytes = name.size() + decoded.size();
    if (cost_bytes > budget_bytes) return false;
    budget_bytes -= cost_bytes;
    put(name, std::string_view(decoded));
    if (comma == std::string_view::npos) return true;
    value.remove_prefix(comma + 1);
  }
}

}  // namespace coracle::protocol::grpc
