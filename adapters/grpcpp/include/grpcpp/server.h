// Server: listens, and runs the handlers of services.
#pragma once

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/time.h>

#include <memory>

namespace grpc {

class ServerBuilder;

namespace internal {

class server_core;  // private: src/server_core.hpp

}  // namespace internal

/// Made by ServerBuilder::BuildAndStart(). Any thread may use it, but not a handler.
///
/// Its connections are served by a runtime of its own; handlers run on threads of the server, which are
/// started as they are needed and are named "grpcpp-handler".
class ServerInterface {
 public:
  virtual ~ServerInterface() = default;
};

class Server final : public ServerInterface {
 public:
  explicit Server(std::unique_ptr<internal::server_core> core);
  /// Calls Shutdown(), unless it was called.
  ~Server() override;

  /// Accepts no new calls, waits until those that run have ended, and closes the connections.
  void Shutdown() { ShutdownInternal(gpr_inf_future(GPR_CLOCK_REALTIME)); }
  /// The same, but cancels the calls that still run at the deadline. Handlers that do not notice are waited
  /// for.
  template <class T>
  void Shutdown(const T& deadline) {
    ShutdownInternal(TimePoint<T>(deadline).raw_time());
  }
  /// Blocks until a Shutdown() has ended.
  void Wait();

  /// Returns null unless EnableDefaultHealthCheckService(true) was called before the server was built, or the
  /// program gave a health service of its own. Valid as long as the server.
  HealthCheckServiceInterface* GetHealthCheckService() const;

  internal::server_core& core() { return *core_; }

 private:
  void ShutdownInternal(gpr_timespec deadline);
  std::unique_ptr<internal::server_core> core_;
};

}  // namespace grpc
