// override_host: calls of a session go to the server that the session has begun with (gRFC A55, A60, A61,
// A75).
#pragma once

#include "client/balancing/policy_slot.hpp"
#include "client/call/call_queue.hpp"
#include "coracle/coro/executor.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::xds {

// The servers of all priorities of a cluster that calls of sessions may go to: those whose health is in its
// override_host_status. Servers that drain get no other calls.
class session_servers {
 public:
  // The first one with an address keeps it.
  void add(client::endpoint server) {
    const std::size_t place = servers_.size();
    by_address_.emplace(server.address(), place);
    for (const net::address& a : server.other_addresses()) by_address_.emplace(a, place);
    servers_.push_back(std::move(server));
  }
  // Null: there is none.
  [[nodiscard]] const client::endpoint* find(const net::address& a) const noexcept {
    const auto known = by_address_.find(a);
    return known == by_address_.end() ? nullptr : &servers_[known->second];
  }
  // By the first of these addresses that is one of a server.
  [[nodiscard]] const client::endpoint* find_any(const std::vector<net::address>& of) const noexcept {
    for (const net::address& a : of)
      if (const client::endpoint* const found = find(a)) return found;
    return nullptr;
  }
  [[nodiscard]] std::size_t size() const noexcept { return servers_.size(); }

  duration idle_timeout = std::chrono::hours(1);  // cluster::idle_timeout

  friend bool operator==(const session_servers& a, const session_servers& b) noexcept {
    return a.idle_timeout == b.idle_timeout && a.servers_ == b.servers_;
  }

 private:
  std::vector<client::endpoint> servers_;
  std::map<net::address, std::size_t> by_address_;
};

class override_host_config final : public client::policy_config {
 public:
  override_host_config(session_servers servers, balancing child)
      : servers_(std::move(servers)), child_(std::move(child)) {}
  [[nodiscard]] const session_servers& servers() const noexcept { return servers_; }
  [[nodiscard]] const balancing& child() const noexcept { return child_; }
  [[nodiscard]] std::string_view family() const noexcept override { return "override_host"; }
  [[nodiscard]] bool equals(const policy_config& other) const noexcept override {
    const auto& o = static_cast<const override_host_config&>(other);
    return servers_ == o.servers_ && child_ == o.child_;
  }
  [[nodiscard]] rpc::policy_outline outline() const override {
    return {std::string(family()),
            "servers of sessions: " + std::to_string(servers_.size()),
            {child_.config().outline()}};
  }
  [[nodiscard]] std::unique_ptr<client::balancer> make(client::balancer_host& host) const override;

 private:
  session_servers servers_;
  balancing child_;
};

// A call with call_route::preferred waits for that server, also while it connects or has no stream left, and
// has it connect if it is IDLE. Calls without one, and those whose server has failed, go where the child
// sends them.
//
// The child may have no connection to the server of a session: the server drains, or it is in a priority that
// is not in use (gRFC A75). A call of the session then makes one, which belongs to this policy, and so do the
// connections of servers that the child drops while sessions use them. They stay until no session has used
// them for idle_timeout, the child has another connection to the server, or the server is gone.
class override_host final : public client::balancer,
                            private client::forwarding_host,
                            private client::subchannel_user {
 public:
  // Between two looks at which of the connections that belong to it were used.
  static constexpr duration sweep_interval_min = std::chrono::seconds(5);

  explicit override_host(client::balancer_host& host) noexcept;
  ~override_host() override;

  void update(const balancing& policy, const std::vector<client::endpoint>& servers) override;
  void connect() override { child_->connect(); }
  client::pick choose(const client::pick_info& call) override;

 private:
  struct server {
    client::subchannel* at = nullptr;
    std::vector<net::address> addresses;  // as in by_address_
    client::call_queue waiting;
    std::optional<time_point> last_used{};  // by a session; nothing: never
    bool kept = false;  // it belongs to this policy, and not to the child
    bool has_choice = true;  // subchannel_user::has_choice of those that it was made for
  };
  // By the numbers of the subchannels, so that their order is the same whenever a simulation is repeated.
  using by_number = std::map<std::uint64_t, std::unique_ptr<server>>;
  // Has a server connect that a call is for. One without a subchannel gets it here, where memory may run out.
  struct waking final : client::connectable {
    explicit waking(override_host& o) noexcept : of(o) {}
    void connect() override;
    override_host& of;
    client::subchannel* at = nullptr;
    const client::endpoint* unconnected = nullptr;
  };
  struct sweep final : coro::timer {
    explicit sweep(override_host& o) noexcept : of(o) {}
    override_host& of;
  };

  // balancer_host
  client::subchannel& make_subchannel(const client::endpoint& to, client::subchannel_user& user) override;
  void drop_subchannel(client::subchannel& s) noexcept override;
  void publish(connectivity c, const status& reason) noexcept override;
  // subchannel_user, of servers that are kept
  void on_state(client::subchannel& s) override;

  [[nodiscard]] const session_servers& servers() const noexcept;
  client::subchannel& add(const client::endpoint& to, client::subchannel_user& user, bool kept);
  [[nodiscard]] server* kept_at(const client::endpoint& where) noexcept;
  void forget(server& s) noexcept;
  void drop(server& s) noexcept;
  void list_addresses(server& s);
  void remove_from(const net::address& a, const server& s) noexcept;
  void use(server& s) noexcept;
  [[nodiscard]] time_point end_of(const server& s) const noexcept;
  [[nodiscard]] bool has_double(const server& s) const noexcept;
  // One with this address that is kept and has a double, or null.
  [[nodiscard]] server* double_at(const net::address& a) noexcept;
  void drop_doubles() noexcept;
  // Drops the kept servers of which that is true. Returns whether there were some: their calls have to be
  // picked for again.
  template <class Condition>
  bool drop_kept(Condition is_over) noexcept;
  void sweep_before(time_point at) noexcept;
  void sweep_kept() noexcept;

  std::shared_ptr<const client::policy_config> config_;  // an override_host_config
  by_number servers_;
  // Several while a policy takes the place of another one.
  std::map<net::address, std::vector<server*>> by_address_;
  std::set<net::address> shared_;  // the addresses of several
  std::size_t kept_ = 0;  // of servers_
  sweep sweep_{*this};
  time_point sweep_at_ = never;
  waking waking_{*this};
  client::no_server otherwise_{client::no_server::action::connect, &waking_};
  connectivity state_ = connectivity::connecting;  // of the child
  status reason_;
  client::policy_slot child_;
};

}  // namespace coracle::xds
