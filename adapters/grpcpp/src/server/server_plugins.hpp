// What servers have beside the program's services: plugins, and a health service.
#pragma once

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/support/channel_arguments.h>

#include "coracle/server/server.hpp"

#include <memory>
#include <vector>

namespace grpc::internal {

// A plugin of each factory that was added.
std::vector<std::unique_ptr<ServerBuilderPlugin>> new_plugins();

// The health service of a server with these arguments, which outlives the server: the program's own, or
// Coracle's, which is added to the server; null if it shall have none.
std::shared_ptr<HealthCheckServiceInterface> add_health(coracle::server& to,
                                                        const ChannelArguments& arguments);

}  // namespace grpc::internal
