// handover_options: where and how a server is replaced by a new process, without a lost call.
#pragma once

#include "coracle/base/clock.hpp"

#include <chrono>
#include <string>
#include <type_traits>
#include <utility>

namespace coracle {

/// How a server passes its listening sockets on to the process that replaces it (docs/guides/handover.md).
///
///   options.handover = coracle::handover_options("/run/movies/handover");
///
/// A server with the same path that another process of the same user starts takes the sockets over when it
/// serves; SIGUSR2, during server::run(), makes the server start its own program once more for that. The old
/// server then sends GOAWAY to its clients, drains, and run() returns. Call every listen() before run() or
/// start(): what a successor has not used by then stays with the old server. A successor that uses none of
/// the old server's addresses is another service with a copied path: it is refused, and ends. So is a
/// successor of process 1, with which a container would end.
class handover_options {
 public:
  /// `socket_path`: see path.
  explicit handover_options(std::string socket_path) : path(std::move(socket_path)) {}

  /// The absolute path of the UNIX socket at which a server waits for its successor, at most 102 bytes. The
  /// server creates it, and PATH.lock beside it, in a folder that exists. Each server of a machine has a path
  /// of its own. Use a folder that only the user of the service may write, such as /run/SERVICE.
  std::string path;
  /// In this time, once the successor serves, the old server sends GOAWAY on its connections, one after the
  /// other, so that its clients do not all reconnect at once. If the successor ends in this time, the old
  /// server goes on serving. Default: 10 s.
  duration goaway_time = std::chrono::seconds(10);
  /// How long a successor may take, from its start, until it serves. A successor that takes longer, or ends
  /// before, changes nothing for the old server, which kills it if it has started it. Default: 60 s.
  duration start_time = std::chrono::seconds(60);
};
static_assert(!std::is_aggregate_v<handover_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
