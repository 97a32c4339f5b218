// channelz_service: reports the state of servers, channels and connections to operators (grpc.channelz.v1).
#pragma once

#include "coracle/server/service.hpp"

#include <cstdint>
#include <memory>

namespace coracle {

class server;

/// Reports the state of the servers and channels of a runtime, on all loops (gRFC A14).
///
///   coracle::channelz_service channelz(server);
///   server.add(channelz);
///
/// Tools such as grpcdebug can then query it. Each query collects the counters from one loop after the other
/// while calls continue, so the numbers of one answer may be from slightly different times. GetSocket also
/// asks the kernel for the options of the socket, unless the request is for a summary.
///
/// It reveals to everyone who can connect which clients are connected to any server of the runtime: do not
/// add it to a server on a port that untrusted clients can reach. A second server of the same runtime, which
/// listens on another address, shows the first one too.
class channelz_service {
 public:
  /// Reports the state of the runtime of `of`, with `of` among its servers. The runtime must exist while
  /// calls of this service run; both may be destroyed before this object.
  explicit channelz_service(server& of);
  channelz_service(const channelz_service&) = delete;
  channelz_service& operator=(const channelz_service&) = delete;
  ~channelz_service();

  /// The service to add to the server.
  operator service&() noexcept;

  /// Maximum entries in one answer, whatever max_results requests.
  static constexpr std::int64_t page_max = 100;

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

}  // namespace coracle
