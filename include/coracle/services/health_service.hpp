// health_service: tells load balancers and orchestrators whether a server takes calls (grpc.health.v1).
#pragma once

#include "coracle/server/service.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace coracle {

enum class health_status : std::uint8_t {
  unknown,  // nobody can say yet
  serving,
  not_serving,
};

// server.add(health); then grpc_health_probe, Kubernetes and clients with health checking can ask. Belongs to one
// server, which it must outlive.
//
// The name "" is the server as a whole, `serving` at first. Services of the server that nobody has spoken about follow
// it. When the server drains, all are not_serving for good, and Watch() ends, so that it does not hold up the drain.
//
// Source: grpc/grpc doc/health-checking.md, gRFC A90 (List).
class health_service {
 public:
  health_service();
  health_service(const health_service&) = delete;
  health_service& operator=(const health_service&) = delete;
  ~health_service();

  // "package.Service" or ""; needs not be a service of this server. From any thread; whoever watches is told, of
  // quick changes perhaps the last only. Nothing after the drain has begun.
  void set_status(std::string_view service, health_status status);

  // What is added to the server.
  operator service&() noexcept;

  // Calls of Watch() beyond these end with RESOURCE_EXHAUSTED.
  static constexpr std::size_t watchers_max = 10'000;
  // List() ends with RESOURCE_EXHAUSTED when there are more services (gRFC A90).
  static constexpr std::size_t listed_max = 100;

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace coracle
