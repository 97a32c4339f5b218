#include "protocol/connect/header_names.hpp"

#include "protocol/grpc/wire_metadata.hpp"

namespace coracle::protocol::connect {

bool is_reserved_key(std::string_view name) noexcept {
  return name.starts_with(reserved_prefix) || name == unary_encoding_header ||
         name == unary_accept_encoding_header || name == "accept" || grpc::is_reserved_key(name);
}

}  // namespace coracle::protocol::connect
