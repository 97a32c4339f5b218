// secured: has the connections to the servers of a cluster secured as the control plane says (gRFC A29).
#pragma once

#include "client/balancing/policy_slot.hpp"

#include <map>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace coracle::xds {

// How the servers of a cluster are secured.
struct servers_security {
  client::server_security usual;
  std::map<net::address, client::server_security> others;  // of servers with a host of their own

  // By the first of its addresses that is known: it may be one of before an update.
  [[nodiscard]] const client::server_security& of(const client::endpoint& where) const {
    auto found = others.find(where.address());
    for (auto other = where.other_addresses().begin();
         found == others.end() && other != where.other_addresses().end(); ++other)
      found = others.find(*other);
    return found == others.end() ? usual : found->second;
  }

  friend bool operator==(const servers_security&, const servers_security&) = default;
};

class secured_config final : public client::policy_config {
 public:
  secured_config(std::shared_ptr<const servers_security> security, balancing child) noexcept
      : security_(std::move(security)), child_(std::move(child)) {}
  [[nodiscard]] const std::shared_ptr<const servers_security>& security() const noexcept { return security_; }
  [[nodiscard]] const balancing& child() const noexcept { return child_; }
  [[nodiscard]] std::string_view family() const noexcept override { return "secured"; }
  [[nodiscard]] bool equals(const policy_config& other) const noexcept override {
    const auto& o = static_cast<const secured_config&>(other);
    return *security_ == *o.security_ && child_ == o.child_;
  }
  [[nodiscard]] rpc::policy_outline outline() const override {
    return {std::string(family()), {}, {child_.config().outline()}};
  }
  [[nodiscard]] std::unique_ptr<client::balancer> make(client::balancer_host& host) const override;

 private:
  std::shared_ptr<const servers_security> security_;
  balancing child_;
};

// Every subchannel that the policies below it make is secured, whatever they keep of an endpoint. Connections
// outlive an update: those that are made later have the new security.
class secured final : public client::balancer, private client::forwarding_host {
 public:
  explicit secured(client::balancer_host& host) noexcept : balancer(host), forwarding_host(host) {}
  ~secured() override { child_.reset(); }

  void update(const balancing& policy, const std::vector<client::endpoint>& servers) override;
  void connect() override { child_->connect(); }
  client::pick choose(const client::pick_info& call) override { return child_->choose(call); }

 private:
  // balancer_host
  client::subchannel& make_subchannel(const client::endpoint& to, client::subchannel_user& user) override;
  void drop_subchannel(client::subchannel& s) noexcept override;

  void secure(client::subchannel& s) const;

  std::shared_ptr<const servers_security> security_;
  std::unordered_set<client::subchannel*> subchannels_;
  client::policy_slot child_;
};

}  // namespace coracle::xds
