// Reflection: servers describe their services to tools such as grpcurl.
#pragma once

#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/support/config.h>

#include <string>

namespace grpc::reflection {

/// Adds grpc.reflection.v1 and v1alpha to a server: coracle::reflection_service.
class ProtoServerReflectionPlugin : public ServerBuilderPlugin {
 public:
  std::string name() override;
  void InitServer(ServerInitializer* initializer) override;
  void Finish(ServerInitializer* initializer) override;
  void ChangeArguments(const std::string& name, void* value) override;
  bool has_sync_methods() const override { return true; }
};

/// All servers whose ServerBuilder is made from now on have reflection. It reveals every .proto that is linked
/// into the program. Further calls have no effect.
void InitProtoReflectionServerBuilderPlugin();

}  // namespace grpc::reflection
