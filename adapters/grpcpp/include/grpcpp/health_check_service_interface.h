// HealthCheckServiceInterface: tells load balancers which services of a server serve.
#pragma once

#include <grpcpp/support/config.h>

#include <string>

namespace grpc {

/// The argument of servers that has a HealthCheckServiceInterface of the program; see
/// HealthCheckServiceServerBuilderOption.
inline constexpr char kHealthCheckServiceInterfaceArg[] = "grpc.health_check_service_interface";

/// What a server reports as grpc.health.v1.Health. Any thread may use it.
class HealthCheckServiceInterface {
 public:
  virtual ~HealthCheckServiceInterface() = default;
  /// Sets the status of a service, "package.Service"; "" stands for the server.
  virtual void SetServingStatus(const std::string& service_name, bool serving) = 0;
  /// Sets the status of the server and of all services that have one.
  virtual void SetServingStatus(bool serving) = 0;
  /// Sets all of them to NOT_SERVING, for good.
  virtual void Shutdown() {}
};

/// Whether servers that are built from now on have a health service: Server::GetHealthCheckService().
/// Default: they have none.
void EnableDefaultHealthCheckService(bool enable);
bool DefaultHealthCheckServiceEnabled();

}  // namespace grpc
