// balancer: decides which subchannels a shard has, and which of them a call gets.
#pragma once

#include "client/balancing/policy_config.hpp"
#include "client/balancing/subchannel.hpp"
#include "client/call/call_queue.hpp"
#include "coracle/base/status.hpp"
#include "coracle/client/balancing.hpp"
#include "coracle/client/connectivity.hpp"
#include "coracle/client/pick_policy.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::client {

// What the loops of a channel share of one policy, such as what they have learned about servers.
class shared_by_loops {
 public:
  shared_by_loops() noexcept = default;
  shared_by_loops(const shared_by_loops&) = delete;
  shared_by_loops& operator=(const shared_by_loops&) = delete;
  virtual ~shared_by_loops() = default;
};
using shared_by_loops_maker = std::shared_ptr<shared_by_loops> (*)(std::uint64_t seed);

// Those of a channel by their names. They live as long as a balancer uses them.
class shared_parts {
 public:
  std::shared_ptr<shared_by_loops> get(std::string_view name, shared_by_loops_maker make,
                                       std::uint64_t seed) {
    std::erase_if(by_name_, [](const auto& part) { return part.second.expired(); });
    if (const auto found = by_name_.find(name); found != by_name_.end())
      if (auto part = found->second.lock()) return part;
    std::shared_ptr<shared_by_loops> made = make(seed);
    by_name_.insert_or_assign(std::string(name), made);
    return made;
  }

 private:
  std::map<std::string, std::weak_ptr<shared_by_loops>, std::less<>> by_name_;
};

// The interface of the shard for its balancer, and of a balancer for those below it.
class balancer_host {
 public:
  // Makes a subchannel in state IDLE, or hands over one that a policy above has kept, in any state. It lives
  // until it is dropped, and so must its user.
  virtual subchannel& make_subchannel(const endpoint& to, subchannel_user& user) = 0;
  // The balancer no longer uses the subchannel. Its calls continue to their ends.
  virtual void drop_subchannel(subchannel& s) noexcept = 0;
  // Publishes the state of the balancer, and picks again for calls that wait. Must be the last statement of
  // the balancer's function, because it may call any function of the balancer, and calls may begin.
  virtual void publish(connectivity c, const status& reason) noexcept = 0;
  void publish(connectivity c) noexcept { publish(c, {}); }
  // Takes over the calls that wait for a stream. They are picked for again at the next publish().
  virtual void take_waiting(call_queue& calls) noexcept = 0;
  // The service to check the health of, for balancers that choose between servers (gRFC A17); nothing
  // disables the checks.
  [[nodiscard]] virtual const std::optional<std::string>& health_service() const noexcept = 0;
  // Requests a resolution, because the endpoints may be stale.
  virtual void resolve_again() noexcept = 0;
  // Memory ran out in a function of the balancer that the host did not call: the host drops the balancer.
  virtual void out_of_memory() noexcept = 0;
  [[nodiscard]] virtual loop& owner_loop() const noexcept = 0;
  // The target of the channel, for metrics.
  [[nodiscard]] virtual std::string_view target() const noexcept = 0;
  // Where the servers of the policy belong, for metrics.
  [[nodiscard]] virtual server_labels labels() const { return {}; }
  // Returns what the balancers of this name at this place of the tree share. Made once; `seed` is random.
  [[nodiscard]] virtual std::shared_ptr<shared_by_loops> shared(std::string_view name,
                                                                shared_by_loops_maker make) = 0;

 protected:
  ~balancer_host() = default;
};

// Why calls fail without a server to connect to. listed: there are servers, but none with a weight.
[[nodiscard]] constexpr std::string_view no_servers_text(bool listed) noexcept {
  return listed ? "every server has weight 0 and accepts no calls" : "the list of servers is empty";
}

// What a call needs, and is not connected: a balancer, or a server of one.
class connectable {
 public:
  // Begins to connect if it is IDLE.
  virtual void connect() = 0;

 protected:
  ~connectable() = default;
};

// Why a call gets no server now, and what becomes of it.
struct no_server {
  enum class action : std::uint8_t {
    wait,  // until the balancer publishes a state
    connect,  // wait; `idle` must be told to connect
    fail,  // unless the call waits for ready: UNAVAILABLE, with the reason
    drop,  // in any case
  };
  action then = action::wait;
  connectable* idle = nullptr;
  status reason{};
};

// The result of a pick: a server, or why there is none, which is valid until the balancer's next function.
// With both, the call has the server, and what is `idle` must connect meanwhile.
struct pick {
  subchannel* to = nullptr;
  const no_server* otherwise = nullptr;
};

// Belongs to a shard, or to a balancer above it, on the loop of the shard. Its destructor drops all of its
// subchannels. If one of its functions throws std::bad_alloc, only the destructor is called from then on.
class balancer : public connectable {
 public:
  balancer(const balancer&) = delete;
  balancer& operator=(const balancer&) = delete;
  virtual ~balancer() = default;
  // Sets the policy, which is of the family that this balancer was made for, and the servers; without any the
  // state is TRANSIENT_FAILURE. Servers whose address was already in use keep their connections.
  virtual void update(const balancing& policy, const std::vector<endpoint>& servers) = 0;
  // Follows the first update(): begins to connect, if the policy does so without calls.
  virtual void start() {}
  // Picks a server, in any state after update(). The subchannel may have lost its connection, or be at its
  // limit. Publishes nothing.
  virtual pick choose(const pick_info& call) = 0;

 protected:
  explicit balancer(balancer_host& host) noexcept : host_(host) {}
  balancer_host& host_;
};

}  // namespace coracle::client
