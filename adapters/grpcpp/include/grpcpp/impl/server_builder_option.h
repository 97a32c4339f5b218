// ServerBuilderOption: changes how a server is built.
#pragma once

#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <vector>

namespace grpc {

/// Given to ServerBuilder::SetOption(). BuildAndStart() calls both functions.
class ServerBuilderOption {
 public:
  virtual ~ServerBuilderOption() = default;
  virtual void UpdateArguments(ChannelArguments* arguments) = 0;
  /// May add plugins, or remove some.
  virtual void UpdatePlugins(std::vector<std::unique_ptr<ServerBuilderPlugin>>* plugins) = 0;
};

}  // namespace grpc
