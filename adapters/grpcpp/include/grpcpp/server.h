// Server: listens, and runs the handlers of services.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/client_interceptor.h>
#include <grpcpp/support/time.h>

#include <memory>
#include <string>
#include <vector>

namespace grpc {

class ServerBuilder;

namespace internal {

class server_core;  // private: src/server/server_core.hpp

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

  /// Makes a channel to this server whose bytes pass through memory. Its calls fail when the server has ended.
  std::shared_ptr<Channel> InProcessChannel(const ChannelArguments& arguments);
  class experimental_type {
   public:
    explicit experimental_type(Server* of) : of_(of) {}
    /// See CreateCustomChannelWithInterceptors().
    std::shared_ptr<Channel> InProcessChannelWithInterceptors(
        const ChannelArguments& arguments,
        std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptor_creators);

   private:
    Server* of_;
  };
  experimental_type experimental() { return experimental_type(this); }

  /// Takes part in the making of all servers, and in the calls of their synchronous handlers.
  class GlobalCallbacks {
   public:
    virtual ~GlobalCallbacks() = default;
    virtual void UpdateArguments(ChannelArguments* /*arguments*/) {}
    /// On the thread of the handler, before and after it.
    virtual void PreSynchronousRequest(ServerContext* context) = 0;
    virtual void PostSynchronousRequest(ServerContext* context) = 0;
    virtual void PreServerStart(Server* /*server*/) {}
    /// A port that is listened on; `port` is the one that the system has chosen.
    virtual void AddPort(Server* /*server*/, const std::string& /*address*/, ServerCredentials* /*credentials*/,
                         int /*port*/) {}
  };
  /// For the servers that are built from now on. The object outlives all servers.
  static void SetGlobalCallbacks(GlobalCallbacks* callbacks);

  internal::server_core& core() { return *core_; }

 private:
  void ShutdownInternal(gpr_timespec deadline);
  std::unique_ptr<internal::server_core> core_;
};

}  // namespace grpc
