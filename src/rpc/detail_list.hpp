// detail_list: the details of an encoded google.rpc.Status.
#pragma once

#include "rpc/proto_wire.hpp"

#include <optional>
#include <string_view>

namespace coracle::rpc {

struct detail_view {
  std::string_view type_name;
  std::string_view bytes;
};
// Reads a google.protobuf.Any. Returns nullopt if it is malformed.
[[nodiscard]] std::optional<detail_view> read_detail(std::string_view any);

// Calls f(type_name, bytes) for each detail; both are borrowed from `encoded`. Malformed ones are skipped.
template <class F>
void for_each_detail(std::string_view encoded, F f) {
  for (proto_reader in(encoded); in.next();) {
    if (in.field() != 3) continue;
    if (const auto any = read_detail(in.text())) f(any->type_name, any->bytes);
  }
}

}  // namespace coracle::rpc
