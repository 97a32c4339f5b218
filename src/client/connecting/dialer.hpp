// dialer: makes the byte stream of one connection.
#pragma once

#include "client/connecting/tunnel.hpp"
#include "coracle/base/result.hpp"
#include "coracle/client/resolver.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/transport/impl/connector.hpp"
#include "net/duplex.hpp"

#include <memory>
#include <utility>

namespace coracle {
class loop;
}

namespace coracle::client {

// A dialing in progress that follows the addresses of its server.
class dial_in_progress {
 public:
  // Goes on with these. Returns false if it has its result already. May throw std::bad_alloc.
  virtual bool change_to(const endpoint& now) = 0;

 protected:
  ~dial_in_progress() = default;
};

// Shared by the shards of a channel. dial() runs on the loop that will own the connection.
class dialer {
 public:
  dialer(const dialer&) = delete;
  dialer& operator=(const dialer&) = delete;
  virtual ~dialer() = default;
  // Obeys the stop token and the deadline of its awaiter; `to` must outlive it.
  virtual task<result<std::unique_ptr<net::duplex>>> dial(loop& on, const endpoint& to) = 0;

  // The same. While it runs, a dialer that can go on with other addresses has `running` point to what does.
  virtual task<result<std::unique_ptr<net::duplex>>> dial_and_follow(loop& on, const endpoint& to,
                                                                     dial_in_progress*& /*running*/) {
    return dial(on, to);
  }

  // Through an HTTP CONNECT proxy that a control plane has configured (gRFC A86). A dialer that does not
  // connect to the addresses of servers itself ignores the proxy.
  virtual task<result<std::unique_ptr<net::duplex>>> dial_through(loop& on, const net::address& /*proxy*/,
                                                                  const endpoint& to) {
    return dial(on, to);
  }

 protected:
  dialer() noexcept = default;
};

// local: the address that connections are bound to, or none.
std::shared_ptr<dialer> make_address_dialer(net::address local = {});

class connector_dialer final : public dialer {
 public:
  explicit connector_dialer(std::shared_ptr<transport::connector> by) : by_(std::move(by)) {}
  // This is a coroutine so that an exception that make_duplex() throws before it returns a task fails the
  // attempt like any other.
  task<result<std::unique_ptr<net::duplex>>> dial(loop& on, const endpoint&) override {
    task<result<std::unique_ptr<net::duplex>>> made = by_->make_duplex(on);
    co_return co_await std::move(made);
  }

 private:
  std::shared_ptr<transport::connector> by_;
};

inline std::shared_ptr<dialer> make_connector_dialer(std::shared_ptr<transport::connector> by) {
  return std::make_shared<connector_dialer>(std::move(by));
}

std::shared_ptr<dialer> make_tunnel_dialer(tunnel through, net::address local = {});

}  // namespace coracle::client
