// health_service: reports to load balancers whether a server and its services serve (grpc.health.v1).
#pragma once

#include "coracle/server/service.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle {

/// The health of a service.
enum class health_status : std::uint8_t {
  unknown,      ///< not determined yet
  serving,      ///< gets calls
  not_serving,  ///< gets no calls from clients that check
};

/// Reports the health of a server and its services.
///
///   server.add(health);
///
/// grpc_health_probe, Kubernetes and clients with health checking can then query it. The object belongs to
/// one server, which it must outlive.
///
/// The name "" stands for the server as a whole, which is `serving` at first. Services of the server without
/// a separate status have its status. When the server leaves (server_options::leave_time), all services
/// become not_serving for good, but for that with the name `liveness`; when it drains, that one does so, too,
/// and the Watch() calls end, so that they do not delay the drain.
///
/// For Kubernetes, "" or a service is what a readiness probe checks, and `liveness` is what a liveness probe
/// checks: a pod that leaves is not ready, but must not be restarted.
///
/// Source: grpc/grpc doc/health-checking.md, gRFC A90 (List).
class health_service {
 public:
  /// All services have the status of the server, which is `serving`.
  health_service();
  health_service(const health_service&) = delete;
  health_service& operator=(const health_service&) = delete;
  ~health_service();

  /// The name of the process itself, which is `serving` as long as the server answers, unless set_status()
  /// says otherwise.
  static constexpr std::string_view liveness = "liveness";

  /// Sets the status of `service` and notifies the Watch() calls; of changes in quick succession they may see
  /// only the last. `service` is "package.Service" or "", and need not be a service of this server. May be
  /// called from any thread. Has no effect once the server leaves, but for `liveness`.
  void set_status(std::string_view service, health_status status);

  /// The service to add to the server.
  operator service&() noexcept;

  /// Maximum concurrent Watch() calls; further ones end with RESOURCE_EXHAUSTED.
  static constexpr std::size_t watchers_max = 10'000;
  /// Maximum length of the name in a request, as in other implementations; a call with a longer one ends with
  /// INVALID_ARGUMENT.
  static constexpr std::size_t name_bytes_max = 200;
  /// Maximum services in an answer of List(), which ends with RESOURCE_EXHAUSTED if there are more (gRFC
  /// A90).
  static constexpr std::size_t listed_max = 100;

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace coracle
