// response_fields: the fields of a response's header block, whatever its size, in a list of limited size.
#pragma once

#include "coracle/http/header_list.hpp"
#include "protocol/grpc/essential_fields.hpp"
#include "transport/exchange_handler.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::client {

struct response_fields {
  http::header_list list;
  std::size_t within_limit = 0;  // the number of fields that were within the limit
  std::uint64_t bytes = 0;       // of all fields that were received
  bool too_large = false;

  // Of the fields beyond the limit, reads only the essential ones. Returns false if the block is not valid:
  // the exchange's on_reset() follows.
  [[nodiscard]] bool read(transport::header_source& fields) {
    for (transport::field f; fields.next(f);) list.add(f.name, f.value);
    within_limit = list.size();
    too_large = fields.too_large();
    if (too_large) [[unlikely]] {
      protocol::grpc::essential_fields essential;
      fields.read_excess([&](std::string_view name, std::string_view value) {
        if (essential.take(name, value)) list.add(name, value);
      });
    }
    bytes = fields.list_bytes();
    return fields.ok();
  }
  // For another reader. The list must outlive it.
  [[nodiscard]] transport::header_source again() const noexcept {
    return transport::header_source(list, within_limit, bytes);
  }
};

}  // namespace coracle::client
