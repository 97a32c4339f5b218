// port_listener: listens at the ports of a server, in place of the server itself.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/security/credentials.hpp"

#include <string_view>

namespace grpc::internal {

// Made for a server that does not listen yet, and gone when it listens at all of its ports.
class port_listener {
 public:
  virtual ~port_listener() = default;
  virtual coracle::status listen(std::string_view address,
                                 const coracle::server_credentials& credentials) = 0;
};

}  // namespace grpc::internal
