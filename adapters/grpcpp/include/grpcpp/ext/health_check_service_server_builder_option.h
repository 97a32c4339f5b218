// HealthCheckServiceServerBuilderOption: a server has the program's own health service, or none.
#pragma once

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/server_builder_option.h>

#include <memory>
#include <vector>

namespace grpc {

/// Server::GetHealthCheckService() returns `service`, which the server keeps. With null it returns null. The
/// server has no default health service in either case.
class HealthCheckServiceServerBuilderOption : public ServerBuilderOption {
 public:
  explicit HealthCheckServiceServerBuilderOption(std::unique_ptr<HealthCheckServiceInterface> service);
  ~HealthCheckServiceServerBuilderOption() override = default;
  void UpdateArguments(ChannelArguments* arguments) override;
  void UpdatePlugins(std::vector<std::unique_ptr<ServerBuilderPlugin>>* plugins) override;

 private:
  std::unique_ptr<HealthCheckServiceInterface> service_;
};

}  // namespace grpc
