// The states of a channel.
#pragma once

#include <grpcpp/impl/one_library.h>

enum grpc_connectivity_state {
  GRPC_CHANNEL_IDLE,
  GRPC_CHANNEL_CONNECTING,
  GRPC_CHANNEL_READY,
  GRPC_CHANNEL_TRANSIENT_FAILURE,
  GRPC_CHANNEL_SHUTDOWN,
};
