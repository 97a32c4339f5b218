// Channelz: servers report their state, and that of the channels of the process, to tools.
#pragma once

#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/impl/server_initializer.h>

namespace grpc::channelz::experimental {

/// All servers whose ServerBuilder is made from now on have grpc.channelz.v1. It reveals to all clients who
/// is connected. Further calls have no effect.
void InitChannelzService();

}  // namespace grpc::channelz::experimental
