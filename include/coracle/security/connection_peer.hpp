// connection_peer: the other end of a connection.
#pragma once

#include "coracle/net/address.hpp"
#include "coracle/security/auth_context.hpp"

#include <memory>

namespace coracle {

/// The server that a client's call was sent to. Does not change; calls of one connection share it.
struct connection_peer {
  net::address address;  ///< where the connection leads to; none for in-memory connections
  /// The identity of the peer and the protection of the connection; null in plaintext.
  std::shared_ptr<const auth_context> auth;
};

}  // namespace coracle
