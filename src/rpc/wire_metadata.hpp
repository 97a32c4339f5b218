// wire_metadata: metadata as header fields, with base64 for -bin keys.
#pragma once

#include "coracle/rpc/metadata.hpp"

#include <string>
#include <string_view>

namespace coracle::calls {

// True for "x-trace-bin" and the like.
constexpr bool is_binary_key(std::string_view key) noexcept {
  return key.size() > 4 && key.substr(key.size() - 4) == "-bin";
}

// Fields of the protocol and of HTTP/2, which are no metadata.
bool is_reserved_key(std::string_view key) noexcept;

// Adds a received field. Values of binary keys are decoded, and split at commas where a proxy joined
// them; False when one is no base64.
bool add_wire_field(metadata& to, std::string_view name, std::string_view value);

// Calls put(name, wire value) for each pair.
template <class Put>
void for_each_wire_field(const metadata& from, Put&& put);

void encode_binary_value(std::string_view value, std::string& out);

template <class Put>
void for_each_wire_field(const metadata& from, Put&& put) {
  std::string scratch;
  for (const auto field : from) {
    if (is_binary_key(field.name)) {
      scratch.clear();
      encode_binary_value(field.value, scratch);
      put(field.name, std::string_view(scratch));
    } else {
      put(field.name, field.value);
    }
  }
}

}  // namespace coracle::calls
