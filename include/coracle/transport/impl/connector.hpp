// connector: what a channel makes its connections with, in place of a target.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"

#include <memory>
#include <string>

namespace coracle {

class loop;

namespace net {
class duplex;  // private: src/net/duplex.hpp
}

namespace transport {

/// Makes the connections of a channel: server::in_process(), or a coracle::connector of one's own. The shards
/// of a channel share it.
class connector {
 public:
  virtual ~connector() = default;
  // For the library: connects on the loop `on`, which will own the connection, subject to the stop token
  // and the deadline of the awaiter. Fails with UNAVAILABLE or another status, with a message.
  virtual task<result<std::unique_ptr<net::duplex>>> make_duplex(loop& on) = 0;
  /// Returns the value of :authority, a host with or without a port ("movies.example:443"). TLS verifies the
  /// server by this host, unless the credentials name another one.
  [[nodiscard]] virtual std::string authority() const = 0;
  /// Whether all data stays in this process, so that call credentials may be sent without TLS. Default:
  /// false.
  [[nodiscard]] virtual bool stays_in_process() const noexcept { return false; }
};

}  // namespace transport
}  // namespace coracle
