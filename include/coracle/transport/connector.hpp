// connector: creates the byte streams for the connections of a channel.
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

/// Creates byte streams to a server. The shards of a channel share one connector; connect() is called on the
/// loop that will own the connection.
class connector {
 public:
  virtual ~connector() = default;
  /// Connects, subject to the stop token and the deadline of the awaiter. Fails with UNAVAILABLE or another
  /// status, with a message.
  virtual task<result<std::unique_ptr<net::duplex>>> connect(loop& on) = 0;
  /// Returns the value of :authority.
  [[nodiscard]] virtual std::string authority() const = 0;
  /// Whether all data stays in this process, so that call credentials may be sent without TLS. Default:
  /// false.
  [[nodiscard]] virtual bool stays_in_process() const noexcept { return false; }
};

}  // namespace transport
}  // namespace coracle
