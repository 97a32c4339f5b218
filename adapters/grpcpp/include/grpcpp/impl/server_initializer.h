// ServerInitializer: the server that plugins are given.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <vector>

namespace grpc {

/// Valid as long as its server.
class ServerInitializer {
 public:
  explicit ServerInitializer(Server* server) : server_(server) {}
  /// Adds a service, which the server keeps; in ServerBuilderPlugin::InitServer() only. Returns false if the
  /// server has started.
  bool RegisterService(std::shared_ptr<Service> service);
  /// Returns the names of the services of this API that were registered, "package.Service".
  const std::vector<std::string>* GetServiceList();

  // For the library.
  Server& server() { return *server_; }

 private:
  Server* server_;
};

}  // namespace grpc
