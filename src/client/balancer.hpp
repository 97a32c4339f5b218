// balancer: which subchannels a shard has, and which of them a call gets.
#pragma once

#include "client/subchannel.hpp"
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

// The shard, as its balancer sees it.
class balancer_host {
 public:
  // A new one, IDLE. It lives until it is dropped.
  virtual subchannel& make_subchannel(const endpoint& to) = 0;
  // Its calls go on to their ends; the balancer forgets it.
  virtual void drop_subchannel(subchannel& s) noexcept = 0;
  // The balancer's state: picks are made anew for calls that wait. Anything may be called from inside, calls may
  // begin: the balancer's last act.
  virtual void publish(connectivity c, const status& why) noexcept = 0;
  void publish(connectivity c) noexcept { publish(c, {}); }
  // What servers are to be asked about, by balancers that have a choice (gRFC A17); nothing: they are not asked.
  [[nodiscard]] virtual const std::optional<std::string>& health_service() const noexcept = 0;
  // The endpoints may be stale.
  virtual void resolve_again() noexcept = 0;
  [[nodiscard]] virtual loop& home() const noexcept = 0;

 protected:
  ~balancer_host() = default;
};

// What a pick says: a server, or that the call is dropped.
struct pick {
  subchannel* to = nullptr;
  bool drop = false;
};

// Belongs to a shard, lives on its loop. When it is destroyed it has dropped all of its subchannels.
class balancer {
 public:
  balancer(const balancer&) = delete;
  balancer& operator=(const balancer&) = delete;
  virtual ~balancer() = default;
  // The servers, at least one. Those that it knew by their address keep their connections.
  virtual void update(const std::vector<endpoint>& servers) = 0;
  virtual void on_state(subchannel& s) = 0;
  // IDLE: begins to connect.
  virtual void connect() = 0;
  // While it has published READY. The subchannel may have lost its connection, or be at its limit.
  virtual pick choose(const pick_info& call) = 0;

 protected:
  explicit balancer(balancer_host& host) noexcept : host_(host) {}
  balancer_host& host_;
};

// `how` outlives the call.
std::unique_ptr<balancer> make_balancer(const balancing& how, balancer_host& host);

}  // namespace coracle::client
