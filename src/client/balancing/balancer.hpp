// balancer: decides which subchannels a shard has, and which of them a call gets.
#pragma once

#include "client/balancing/subchannel.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/connectivity.hpp"
#include "coracle/client/pick_policy.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle {
class balancing;
}

namespace coracle::client {

// The interface of the shard for its balancer.
class balancer_host {
 public:
  // Makes a subchannel in state IDLE. It lives until it is dropped.
  virtual subchannel& make_subchannel(const endpoint& to) = 0;
  // The balancer no longer uses the subchannel. Its calls continue to their ends.
  virtual void drop_subchannel(subchannel& s) noexcept = 0;
  // Publishes the state of the balancer, and repeats the picks of calls that wait. Must be the last statement
  // of the balancer's function, because it may call any function of the balancer, and calls may begin.
  virtual void publish(connectivity c, const status& reason) noexcept = 0;
  void publish(connectivity c) noexcept { publish(c, {}); }
  // The service to check the health of, for balancers that choose between servers (gRFC A17); nothing
  // disables the checks.
  [[nodiscard]] virtual const std::optional<std::string>& health_service() const noexcept = 0;
  // Requests a resolution, because the endpoints may be stale.
  virtual void resolve_again() noexcept = 0;
  // Memory ran out in a function of the balancer that the host did not call: the host drops the balancer.
  virtual void out_of_memory() noexcept = 0;
  [[nodiscard]] virtual loop& owner_loop() const noexcept = 0;

 protected:
  ~balancer_host() = default;
};

// The result of a pick: a server, or that the call is dropped.
struct pick {
  subchannel* to = nullptr;
  bool drop = false;
};

// Belongs to a shard, on its loop. Its destructor drops all of its subchannels. If one of its functions
// throws std::bad_alloc, the shard calls only the destructor from then on.
class balancer {
 public:
  balancer(const balancer&) = delete;
  balancer& operator=(const balancer&) = delete;
  virtual ~balancer() = default;
  // Sets the servers, at least one. Servers whose address was already in use keep their connections.
  virtual void update(const std::vector<endpoint>& servers) = 0;
  virtual void on_state(subchannel& s) = 0;
  // Begins to connect if it is IDLE.
  virtual void connect() = 0;
  // Picks a subchannel. Only after it has published READY. The subchannel may have lost its connection, or be
  // at its limit.
  virtual pick choose(const pick_info& call) = 0;

 protected:
  explicit balancer(balancer_host& host) noexcept : host_(host) {}
  balancer_host& host_;
};

// `outcome` must outlive the call.
std::unique_ptr<balancer> make_balancer(const balancing& policy, balancer_host& host);

}  // namespace coracle::client
