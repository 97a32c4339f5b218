// default_server_rpc_traits: what a ServerRPC does unless its traits say otherwise.
#pragma once

#include "agrpc/impl/library.hpp"

namespace agrpc::inline CORACLE_ASIO {

/// Derive from it to change a member.
struct DefaultServerRPCTraits {
  /// Whether the RPC has wait_for_done() and is_done().
  static constexpr bool NOTIFY_WHEN_DONE = false;
};

}  // namespace agrpc::inline CORACLE_ASIO
