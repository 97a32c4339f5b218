// override_host: calls of a session go to the server that the session has begun with (gRFC A55, A60, A61).
#pragma once

#include "client/balancing/policy_slot.hpp"

#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::xds {

// What an EDS resource and its Cluster say of servers and sessions.
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
  [[nodiscard]] std::unique_ptr<client::balancer> make(client::balancer_host& host) const override;

 private:
  session_servers servers_;
  balancing child_;
};

// A call has call_route::preferred; it waits for a server of these that connects, or is IDLE and then begins
// to. Calls without one, and those whose server fails, go where the child sends them. A draining server is
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
  struct waking final : client::connectable {
    void connect() override { at->connect(); }
    client::subchannel* at = nullptr;
  };

  // balancer_host
  client::subchannel& make_subchannel(const client::endpoint& to, client::subchannel_user& user) override;
  void drop_subchannel(client::subchannel& s) noexcept override;
  void publish(connectivity c, const status& reason) noexcept override;
  // subchannel_user, of the draining servers
  void on_state(client::subchannel& s) override;

  [[nodiscard]] client::subchannel* find(const net::address& at);
  [[nodiscard]] const session_servers& servers() const noexcept;
  // Those that are not in `but`.
  void drop_draining(const std::map<net::address, client::endpoint>& but) noexcept;

  std::shared_ptr<const client::policy_config> config_;  // an override_host_config
  std::map<net::address, client::subchannel*> of_child_;
  std::map<net::address, client::subchannel*> draining_;
  waking waking_;
  client::no_server otherwise_;
  connectivity state_ = connectivity::connecting;  // of the child
  status reason_;
  client::policy_slot child_;
};

}  // namespace coracle::xds
