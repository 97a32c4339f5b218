// csds_service: shows operators what control planes have configured. Link coracle::xds.
#pragma once

#include "coracle/server/service.hpp"

#include <cstdint>
#include <memory>

namespace coracle {

/// Whose resources a csds_service reports.
enum class csds_scope : std::uint8_t {
  runtime,  ///< those of the runtime of the server that it is added to
  process,  ///< those of all runtimes of the process, for programs that have several
};

/// Reports the resources that the channels of xds_resolver() and the listeners of xds_server have from their
/// control planes, with versions, states and the reasons of rejections
/// (envoy.service.status.v3.ClientStatusDiscoveryService; gRFC A40).
///
///   coracle::csds_service csds;
///   server.add(csds);
///
/// Tools such as `grpcdebug ADDRESS xds status` can then query it. With channelz, which with_defaults() adds,
/// it is the admin service of gRFC A38. Each call visits the loops that have such clients, one after the
/// other. One of another runtime that does not answer within 1 s is left out. `client_scope` is the target of
/// a channel, or `#server`. A request that has node matchers fails with INVALID_ARGUMENT.
///
/// An answer contains every resource as it was received, up to 128 MiB for a channel; clients may leave them
/// out by `exclude_resource_contents`. It reveals addresses of servers: do not add it to a server on a port
/// that untrusted clients can reach.
class csds_service {
 public:
  /// scope: whose channels and servers it reports.
  explicit csds_service(csds_scope scope = csds_scope::runtime);
  csds_service(const csds_service&) = delete;
  csds_service& operator=(const csds_service&) = delete;
  ~csds_service();

  /// The service to add to the server. This object must outlive the server.
  operator service&() noexcept;

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace coracle
