// override_host: calls of a session go to the server that the session has begun with (gRFC A55, A60, A61).
#pragma once

#include "client/balancing/policy_slot.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coracle::xds {

// What an EDS resource and its Cluster say of servers and sessions, by each address.
struct session_servers {
  std::map<net::address, client::endpoint> draining;  // they get calls of their sessions alone
  std::set<net::address> without;  // they get calls, but not because of a session

  friend bool operator==(const session_servers&, const session_servers&) = default;
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
            "draining servers: " + std::to_string(servers_.draining.size()),
            {child_.config().outline()}};
  }
  [[nodiscard]] std::unique_ptr<client::balancer> make(client::balancer_host& host) const override;

 private:
  session_servers servers_;
  balancing child_;
};

// A call with call_route::preferred waits for that server, also while it connects or has no stream left, and
// has it connect if it is IDLE. Calls without one, and those whose server has failed, go where the child
// sends them. A server that drains keeps its connections when the child drops it; without any, it is
// connected to when a call of its session comes.
class override_host final : public client::balancer,
                            private client::forwarding_host,
                            private client::subchannel_user {
 public:
  explicit override_host(client::balancer_host& host) noexcept
      : balancer(host), forwarding_host(host), subchannel_user(false) {}
  ~override_host() override;

  void update(const balancing& policy, const std::vector<client::endpoint>& servers) override;
  void connect() override { child_->connect(); }
  client::pick choose(const client::pick_info& call) override;

 private:
  struct server {
    client::subchannel* at = nullptr;
    std::vector<net::address> addresses;  // as in by_address_
    base::intrusive_list<client::call_attempt> waiting;
    bool kept = false;  // it drains, and is no longer the child's
  };
  // Has a server connect that a call is for. A draining one without a subchannel gets it here, where memory
  // may run out.
  struct waking final : client::connectable {
    explicit waking(override_host& o) noexcept : of(o) {}
    void connect() override;
    override_host& of;
    client::subchannel* at = nullptr;
    const client::endpoint* draining = nullptr;
  };

  // balancer_host
  client::subchannel& make_subchannel(const client::endpoint& to, client::subchannel_user& user) override;
  void drop_subchannel(client::subchannel& s) noexcept override;
  void publish(connectivity c, const status& reason) noexcept override;
  // subchannel_user, of servers that are kept
  void on_state(client::subchannel& s) override;

  [[nodiscard]] const session_servers& servers() const noexcept;
  client::subchannel& add(const client::endpoint& to, client::subchannel_user& user, bool kept);
  void forget(server& s) noexcept;
  void list_addresses(server& s);
  void remove_from(const net::address& a, const server& s) noexcept;

  std::shared_ptr<const client::policy_config> config_;  // an override_host_config
  std::unordered_map<const client::subchannel*, std::unique_ptr<server>> servers_;
  // Several while a policy takes the place of another one.
  std::map<net::address, std::vector<server*>> by_address_;
  waking waking_{*this};
  client::no_server otherwise_{client::no_server::action::connect, &waking_};
  connectivity state_ = connectivity::connecting;  // of the child
  status reason_;
  client::policy_slot child_;
};

}  // namespace coracle::xds
