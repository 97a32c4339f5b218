// AddAdminServices(): a server reports its state to tools (gRFC A38).
#pragma once

#include <grpcpp/server_builder.h>

namespace grpc {

/// The servers of `builder` have channelz, and, if the program links coracle::grpcpp_xds, CSDS, with what all channels
/// and servers of the process have from control planes. It reveals to all clients who is connected, and the addresses
/// of servers.
void AddAdminServices(ServerBuilder* builder);

}  // namespace grpc
