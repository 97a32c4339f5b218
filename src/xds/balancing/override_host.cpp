#include "xds/balancing/override_host.hpp"

#include "client/call/call_attempt.hpp"

#include <algorithm>

namespace coracle::xds {

std::unique_ptr<client::balancer> override_host_config::make(client::balancer_host& host) const {
  return std::make_unique<override_host>(host);
}

override_host::~override_host() {
  config_.reset();  // nothing is kept any more
  child_.reset();
  above_.take_waiting(subchannel_user::waiting);
  while (!servers_.empty()) {
    server& last = *servers_.begin()->second;
    client::subchannel& at = *last.at;
    forget(last);
    above_.drop_subchannel(at);
  }
}

const session_servers& override_host::servers() const noexcept {
  return static_cast<const override_host_config&>(*config_).servers();
}

// --- the servers

void override_host::list_addresses(server& s) {
  const client::endpoint& where = s.at->where();
  std::vector<net::address> now = {where.address()};
  now.insert(now.end(), where.other_addresses().begin(), where.other_addresses().end());
  if (now == s.addresses) return;
  for (const net::address& a : s.addresses) remove_from(a, s);
  s.addresses = std::move(now);
  for (const net::address& a : s.addresses) by_address_[a].push_back(&s);
}

void override_host::remove_from(const net::address& a, const server& s) noexcept {
  const auto known = by_address_.find(a);
  if (known == by_address_.end()) return;
  std::erase(known->second, &s);
  if (known->second.empty()) by_address_.erase(known);
}

void override_host::forget(server& s) noexcept {
  for (const net::address& a : s.addresses) remove_from(a, s);
  s.at->set_own_queue(nullptr);
  above_.take_waiting(s.waiting);
  servers_.erase(s.at);
}

client::subchannel& override_host::add(const client::endpoint& to, client::subchannel_user& user, bool kept) {
  auto added = std::make_unique<server>();
  servers_.reserve(servers_.size() + 1);
  client::subchannel& made = above_.make_subchannel(to, user);
  added->at = &made;
  added->kept = kept;
  server& s = *added;
  try {
    servers_.emplace(&made, std::move(added));
    list_addresses(s);
  } catch (...) {
    if (servers_.contains(&made)) forget(s);
    above_.drop_subchannel(made);
    throw;
  }
  made.set_own_queue(&s.waiting);
  return made;
}

client::subchannel& override_host::make_subchannel(const client::endpoint& to,
                                                   client::subchannel_user& user) {
  return add(to, user, false);
}

// gRFC A55: the connections of a draining server outlive its place in the child.
void override_host::drop_subchannel(client::subchannel& s) noexcept {
  server& known = *servers_.find(&s)->second;
  if (config_ && servers().draining.contains(s.where().address())) {
    known.kept = true;
    return s.set_user(*this);
  }
  forget(known);
  above_.drop_subchannel(s);
}

void override_host::update(const balancing& policy, const std::vector<client::endpoint>& servers) {
  config_ = policy.shared_config();
  const balancing& below = static_cast<const override_host_config&>(*config_).child();
  client::balancer* const fresh = child_.update(below, servers, *this);
  std::vector<client::subchannel*> gone;
  for (const auto& [at, s] : servers_) {
    if (s->kept && !this->servers().draining.contains(at->where().address())) gone.push_back(s->at);
    else list_addresses(*s);
  }
  for (client::subchannel* const at : gone) {
    forget(*servers_.find(at)->second);
    above_.drop_subchannel(*at);
  }
  if (fresh) fresh->start();
  else if (!gone.empty()) above_.publish(state_, reason_);  // their calls are picked for again
}

void override_host::publish(connectivity c, const status& reason) noexcept {
  state_ = c;
  reason_ = reason;
  above_.publish(c, reason);
}

void override_host::on_state(client::subchannel&) { above_.publish(state_, reason_); }

// --- picks

void override_host::waking::connect() {
  if (!draining) return at->connect();
  of.add(*draining, of, true).connect();
  of.above_.publish(of.state_, of.reason_);  // the call waits for it from now on
}

client::pick override_host::choose(const client::pick_info& call) {
  const auto& route = call.attempt().terms().route;
  if (!route || !route->preferred) {
    const client::pick chosen = child_->choose(call);
    if (route && chosen.to) route->server = chosen.to;
    return chosen;
  }
  route->waits_for_it = true;
  client::subchannel* idle = nullptr;
  client::subchannel* connecting = nullptr;
  for (const net::address& a : *route->preferred) {
    if (servers().without.contains(a)) continue;
    const auto known = by_address_.find(a);
    if (known == by_address_.end()) {
      const auto draining = servers().draining.find(a);
      if (draining == servers().draining.end()) continue;
      waking_.draining = &draining->second;
      return {nullptr, &otherwise_};
    }
    for (const server* const each : known->second) {
      client::subchannel* const s = each->at;
      route->server = s;
      switch (s->state()) {
        case connectivity::ready: return {s, nullptr};
        case connectivity::idle: idle = s; break;
        case connectivity::connecting: connecting = s; break;
        default: break;
      }
    }
  }
  if (client::subchannel* const s = connecting ? connecting : idle) {
    route->server = s;
    if (s == connecting) return {s, nullptr};
    waking_.at = s;
    waking_.draining = nullptr;
    return {s, &otherwise_};
  }
  route->waits_for_it = false;
  const client::pick chosen = child_->choose(call);
  if (chosen.to) route->server = chosen.to;
  return chosen;
}

}  // namespace coracle::xds
