// rpc_type: the kinds of RPCs.
#pragma once

#include "agrpc/impl/library.hpp"

#include <cstdint>

namespace agrpc::inline CORACLE_ASIO {

/// The kinds of a ClientRPC.
enum class ClientRPCType : std::uint8_t {
  UNARY,
  GENERIC_UNARY,
  CLIENT_STREAMING,
  SERVER_STREAMING,
  BIDIRECTIONAL_STREAMING,
  GENERIC_STREAMING,
};

/// The kinds of a ServerRPC.
enum class ServerRPCType : std::uint8_t {
  UNARY,
  CLIENT_STREAMING,
  SERVER_STREAMING,
  BIDIRECTIONAL_STREAMING,
  GENERIC,
};

}  // namespace agrpc::inline CORACLE_ASIO
