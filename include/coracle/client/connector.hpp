// connector: connects the channels of a user in a way of the user's own.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/byte_stream.hpp"
#include "coracle/transport/impl/connector.hpp"

#include <memory>
#include <string>

namespace coracle {

/// Makes the connections of a channel: derive from it, and pass a shared pointer to the channel in place
/// of a target. The channel counts as one with a single server, and keeps its rules: when it connects,
/// pauses after failures, keepalive, limits. With tls::client_options as its credentials, TLS runs over
/// the streams, and verifies the server by the host of authority().
///
/// The loops of the channel share the connector, so connect() may run on several threads at once.
class connector : public transport::connector {
 public:
  /// Connects to the server on the current loop, which will own the stream. It is requested to stop (the stop
  /// token and the deadline of its environment) after 20 s, and when the channel ends. Fails with UNAVAILABLE
  /// or another status, whose message becomes part of the status of calls; an exception is a failure, too.
  virtual task<result<std::unique_ptr<net::byte_stream>>> connect() = 0;

  /// @cond  For the library.
  task<result<std::unique_ptr<net::duplex>>> make_duplex(loop& on) final;
  /// @endcond
};

}  // namespace coracle
