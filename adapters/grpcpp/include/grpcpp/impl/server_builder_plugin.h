// ServerBuilderPlugin: takes part in the making of servers.
#pragma once

#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/config.h>

#include <string>

namespace grpc {

class ServerBuilder;
class ServerInitializer;

/// BuildAndStart() calls its functions in this order: UpdateServerBuilder(), UpdateChannelArguments(),
/// InitServer() when the services of the builder are there, and Finish() when the server has started.
class ServerBuilderPlugin {
 public:
  virtual ~ServerBuilderPlugin() = default;
  virtual std::string name() = 0;
  virtual void UpdateServerBuilder(ServerBuilder* /*builder*/) {}
  /// May add services.
  virtual void InitServer(ServerInitializer* initializer) = 0;
  virtual void Finish(ServerInitializer* initializer) = 0;
  /// For options of the program that know the plugin; the library does not call it.
  virtual void ChangeArguments(const std::string& name, void* value) = 0;
  virtual void UpdateChannelArguments(ChannelArguments* /*arguments*/) {}
  virtual bool has_sync_methods() const { return false; }
  virtual bool has_async_methods() const { return false; }
};

}  // namespace grpc
