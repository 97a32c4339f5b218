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

/// The kinds of an RPC of version 2.
enum class RPCType : std::uint8_t {
  CLIENT_UNARY,
  CLIENT_SERVER_STREAMING,
  CLIENT_CLIENT_STREAMING,
  CLIENT_BIDIRECTIONAL_STREAMING,
};
/// `RPC<CLIENT_GENERIC_UNARY_RPC>` and `RPC<CLIENT_GENERIC_STREAMING_RPC>` of version 2 have messages in bytes.
inline constexpr ClientRPCType CLIENT_GENERIC_UNARY_RPC = ClientRPCType::GENERIC_UNARY;
inline constexpr ClientRPCType CLIENT_GENERIC_STREAMING_RPC = ClientRPCType::GENERIC_STREAMING;

/// The kinds of a ServerRPC.
enum class ServerRPCType : std::uint8_t {
  UNARY,
  CLIENT_STREAMING,
  SERVER_STREAMING,
  BIDIRECTIONAL_STREAMING,
  GENERIC,
};

}  // namespace agrpc::inline CORACLE_ASIO
