// dialer: makes the byte stream of one connection.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/resolution.hpp"
#include "coracle/coro/task.hpp"
#include "net/duplex.hpp"

#include <memory>

namespace coracle {
class loop;
}

namespace coracle::client {

// Shared by the shards of a channel; dial() is called on the loop that the connection shall live on.
class dialer {
 public:
  dialer(const dialer&) = delete;
  dialer& operator=(const dialer&) = delete;
  virtual ~dialer() = default;
  // Under the stop token and deadline of its awaiter; `to` outlives it.
  virtual task<result<std::unique_ptr<net::duplex>>> dial(loop& on, const endpoint& to) = 0;

 protected:
  dialer() noexcept = default;
};

}  // namespace coracle::client
