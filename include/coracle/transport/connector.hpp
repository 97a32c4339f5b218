// connector: makes the byte streams that a channel's connections run on.
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

// Shared by the shards of a channel; connect() is called on the loop that the connection shall live on.
class connector {
 public:
  virtual ~connector() = default;
  // Under the stop token and deadline of its awaiter. UNAVAILABLE and the like, with a text.
  virtual task<result<std::unique_ptr<net::duplex>>> connect(loop& on) = 0;
  // What goes into :authority.
  [[nodiscard]] virtual std::string authority() const = 0;
  // What is sent never leaves this process: call credentials may travel without TLS, too.
  [[nodiscard]] virtual bool stays_in_process() const noexcept { return false; }
};

}  // namespace transport
}  // namespace coracle
