#include "xds/balancing/override_host.hpp"

#include "client/call/call_attempt.hpp"

#include <vector>

namespace coracle::xds {

namespace {

std::vector<net::address> addresses_of(const client::endpoint& e) {
  std::vector<net::address> all = {e.address()};
  all.insert(all.end(), e.other_addresses().begin(), e.other_addresses().end());
  return all;
}

}  // namespace

std::unique_ptr<client::balancer> override_host_config::make(client::balancer_host& host) const {
  return std::make_unique<override_host>(host);
}

override_host::~override_host() {
  child_.reset();
  drop_draining({});
}

const session_servers& override_host::servers() const noexcept {
  return static_cast<const override_host_config&>(*config_).servers();
}

void override_host::drop_draining(const std::map<net::address, client::endpoint>& but) noexcept {
  above_.take_waiting(waiting);
  std::erase_if(draining_, [&](const auto& entry) {
    if (but.contains(entry.first)) return false;
    if (entry.second) above_.drop_subchannel(*entry.second);  // null: memory ran out
    return true;
  });
}

void override_host::update(const balancing& policy, const std::vector<client::endpoint>& servers) {
  config_ = policy.shared_config();
  drop_draining(this->servers().draining);
  const balancing& below = static_cast<const override_host_config&>(*config_).child();
  if (child_.update(below, servers, *this)) child_->start();
}

client::subchannel& override_host::make_subchannel(const client::endpoint& to,
                                                   client::subchannel_user& user) {
  const std::vector<net::address> addresses = addresses_of(to);
  for (const net::address& a : addresses) of_child_.try_emplace(a);
  client::subchannel& made = above_.make_subchannel(to, user);
  for (const net::address& a : addresses) of_child_.find(a)->second = &made;
  return made;
}

void override_host::drop_subchannel(client::subchannel& s) noexcept {
  std::erase_if(of_child_, [&](const auto& entry) { return entry.second == &s; });
  above_.drop_subchannel(s);
}

void override_host::publish(connectivity c, const status& reason) noexcept {
  state_ = c;
  reason_ = reason;
  above_.publish(c, reason);
}

void override_host::on_state(client::subchannel&) { above_.publish(state_, reason_); }

client::subchannel* override_host::find(const net::address& at) {
  if (servers().without.contains(at)) return nullptr;
  if (const auto known = of_child_.find(at); known != of_child_.end()) return known->second;
  if (const auto known = draining_.find(at); known != draining_.end()) return known->second;
  const auto& listed = servers().draining;
  const auto found = listed.find(at);
  if (found == listed.end()) return nullptr;
  const auto place = draining_.try_emplace(at).first;
  place->second = &above_.make_subchannel(found->second, *this);
  return place->second;
}

client::pick override_host::choose(const client::pick_info& call) {
  const auto& route = call.attempt().terms().route;
  if (!route || !route->preferred) return child_->choose(call);
  client::subchannel* idle = nullptr;
  bool connects = false;
  for (const net::address& a : *route->preferred) {
    client::subchannel* const s = find(a);
    if (!s) continue;
    switch (s->state()) {
      case connectivity::ready: return {s, nullptr};
      case connectivity::idle: idle = idle ? idle : s; break;
      case connectivity::connecting: connects = true; break;
      default: break;
    }
  }
  if (!idle && !connects) return child_->choose(call);
  waking_.at = idle;
  otherwise_.then = idle ? client::no_server::action::connect : client::no_server::action::wait;
  otherwise_.idle = idle ? &waking_ : nullptr;
  return {nullptr, &otherwise_};
}

}  // namespace coracle::xds
