#include "xds/balancing/override_host.hpp"

#include "client/call/call_attempt.hpp"
#include "runtime/backend.hpp"

#include <algorithm>

namespace coracle::xds {

std::unique_ptr<client::balancer> override_host_config::make(client::balancer_host& host) const {
  return std::make_unique<override_host>(host);
}

override_host::override_host(client::balancer_host& host) noexcept
    : balancer(host), forwarding_host(host), subchannel_user(true) {
  sweep_.fire = [](coro::timer& t) noexcept { static_cast<sweep&>(t).of.sweep_kept(); };
}

override_host::~override_host() {
  if (sweep_.holder) host_.owner_loop().disarm(sweep_);
  config_.reset();  // nothing is kept any more
  child_.reset();
  above_.take_waiting(subchannel_user::waiting);
  while (!servers_.empty()) drop(*servers_.begin()->second);
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
  for (const net::address& a : s.addresses) {
    std::vector<server*>& all = by_address_[a];
    all.push_back(&s);
    if (all.size() > 1) shared_.insert(a);
  }
}

void override_host::remove_from(const net::address& a, const server& s) noexcept {
  const auto known = by_address_.find(a);
  if (known == by_address_.end()) return;
  std::erase(known->second, &s);
  if (known->second.size() < 2) shared_.erase(a);
  if (known->second.empty()) by_address_.erase(known);
}

void override_host::forget(server& s) noexcept {
  for (const net::address& a : s.addresses) remove_from(a, s);
  s.at->set_own_queue(nullptr);
  above_.take_waiting(s.waiting);
  if (s.kept) --kept_;
  servers_.erase(s.at->id());
}

void override_host::drop(server& s) noexcept {
  client::subchannel& at = *s.at;
  forget(s);
  above_.drop_subchannel(at);
}

client::subchannel& override_host::add(const client::endpoint& to, client::subchannel_user& user, bool kept) {
  auto added = std::make_unique<server>();
  client::subchannel& made = above_.make_subchannel(to, user);
  added->at = &made;
  added->has_choice = user.has_choice;
  server& s = *added;
  bool is_known = false;
  try {
    servers_.emplace(made.id(), std::move(added));
    is_known = true;
    list_addresses(s);
  } catch (...) {
    if (is_known) forget(s);
    above_.drop_subchannel(made);
    throw;
  }
  made.set_own_queue(&s.waiting);
  if (kept) {
    s.kept = true;
    ++kept_;
    use(s);
    sweep_before(end_of(s));
  }
  return made;
}

override_host::server* override_host::kept_at(const client::endpoint& where) noexcept {
  if (kept_ == 0) return nullptr;
  const auto known = by_address_.find(where.address());
  if (known == by_address_.end()) return nullptr;
  const auto found = std::ranges::find_if(known->second, [](const server* s) { return s->kept; });
  return found == known->second.end() ? nullptr : *found;
}

// A server that is kept goes over to the child with its connections. The child of another kind makes its own:
// what detects outliers has decided when the subchannel was made whether it may eject it.
client::subchannel& override_host::make_subchannel(const client::endpoint& to,
                                                   client::subchannel_user& user) {
  server* const known = kept_at(to);
  if (!known || known->has_choice != user.has_choice) return add(to, user, false);
  known->at->set_where(to);
  list_addresses(*known);
  known->kept = false;
  --kept_;
  known->at->set_user(user);
  return *known->at;
}

void override_host::use(server& s) noexcept { s.last_used = host_.owner_loop().now(); }

time_point override_host::end_of(const server& s) const noexcept {
  return deadline_after(*s.last_used, servers().idle_timeout);
}

// Whether the child has a connection to it, too.
bool override_host::has_double(const server& s) const noexcept {
  for (const net::address& a : s.addresses)
    if (const auto known = by_address_.find(a); known != by_address_.end())
      for (const server* const other : known->second)
        if (!other->kept && other != &s && other->at->state() == connectivity::ready) return true;
  return false;
}

// gRFC A75: the connections of a server that a session uses outlive its place in the child.
void override_host::drop_subchannel(client::subchannel& s) noexcept {
  server& known = *servers_.find(s.id())->second;
  const bool is_used = config_ && known.last_used && end_of(known) >= host_.owner_loop().now();
  if (is_used && servers().find_any(known.addresses) && !has_double(known)) {
    known.kept = true;
    ++kept_;
    sweep_before(end_of(known));
    return s.set_user(*this);
  }
  drop(known);
}

template <class Condition>
bool override_host::drop_kept(Condition is_over) noexcept {
  bool any = false;
  for (auto next = servers_.begin(); kept_ > 0 && next != servers_.end();) {
    server& s = *(next++)->second;
    if (!s.kept || !is_over(s)) continue;
    drop(s);
    any = true;
  }
  return any;
}

override_host::server* override_host::double_at(const net::address& a) noexcept {
  const auto known = by_address_.find(a);
  if (known == by_address_.end()) return nullptr;
  const std::vector<server*>& all = known->second;
  const auto kept = std::ranges::find_if(all, [](const server* s) { return s->kept; });
  return kept != all.end() && has_double(**kept) ? *kept : nullptr;
}

// States change far more often than servers: of them it looks at those alone that share an address.
void override_host::drop_doubles() noexcept {
  for (auto next = shared_.begin(); kept_ > 0 && next != shared_.end();) {
    const net::address a = *next;
    while (server* const s = double_at(a)) drop(*s);
    next = shared_.upper_bound(a);
  }
}

void override_host::sweep_before(time_point at) noexcept {
  loop& here = host_.owner_loop();
  at = std::max(at, deadline_after(here.now(), sweep_interval_min));
  if (sweep_.holder && sweep_at_ <= at) return;
  if (sweep_.holder) here.disarm(sweep_);
  sweep_at_ = at;
  if (at != never) here.arm(sweep_, at);
}

void override_host::sweep_kept() noexcept {
  const time_point now = host_.owner_loop().now();
  time_point next = never;
  const bool any = drop_kept([&](server& s) {
    if (!s.waiting.empty()) use(s);
    const time_point end = end_of(s);
    if (end <= now) return true;
    next = std::min(next, end);
    return false;
  });
  if (kept_ > 0) sweep_before(next);
  if (any) above_.publish(state_, reason_);
}

void override_host::update(const balancing& policy, const std::vector<client::endpoint>& servers) {
  config_ = policy.shared_config();
  const balancing& below = static_cast<const override_host_config&>(*config_).child();
  client::balancer* const fresh = child_.update(below, servers, *this);
  for (const auto& [number, s] : servers_) {
    const client::endpoint* const now = s->kept ? this->servers().find_any(s->addresses) : nullptr;
    if (now) s->at->set_where(*now);
    list_addresses(*s);
  }
  const bool any =
      drop_kept([&](const server& s) { return !this->servers().find_any(s.addresses) || has_double(s); });
  if (sweep_.holder) host_.owner_loop().disarm(sweep_);
  for (const auto& [number, s] : servers_)
    if (s->kept) sweep_before(end_of(*s));
  if (fresh) fresh->start();
  else if (any) above_.publish(state_, reason_);  // their calls are picked for again
}

void override_host::publish(connectivity c, const status& reason) noexcept {
  state_ = c;
  reason_ = reason;
  drop_doubles();
  above_.publish(c, reason);
}

void override_host::on_state(client::subchannel&) { above_.publish(state_, reason_); }

// --- picks

void override_host::waking::connect() {
  if (!unconnected) return at->connect();
  client::subchannel& made = of.add(*unconnected, of, true);
  if (of.host_.health_service()) made.watch_health(*of.host_.health_service());
  made.connect();
  of.above_.publish(of.state_, of.reason_);  // the call waits for it from now on
}

client::pick override_host::choose(const client::pick_info& call) {
  const auto& route = call.attempt().terms().route;
  if (!route || !route->is_of_session) return child_->choose(call);
  route->waits_for_it = false;
  if (route->preferred) {
    server* idle = nullptr;
    server* connecting = nullptr;
    const client::endpoint* unconnected = nullptr;
    for (const net::address& a : *route->preferred) {
      const client::endpoint* const allowed = servers().find(a);
      if (!allowed) continue;
      const auto known = by_address_.find(a);
      if (known == by_address_.end()) {
        if (!unconnected) unconnected = allowed;
        continue;
      }
      for (server* const each : known->second) {
        switch (each->at->state()) {
          case connectivity::ready:
            use(*each);
            route->server = each->at;
            route->waits_for_it = true;
            return {each->at, nullptr};
          case connectivity::idle: idle = idle ? idle : each; break;
          case connectivity::connecting: connecting = each; break;
          default: break;
        }
      }
    }
    if (server* const s = idle ? idle : connecting) {
      use(*s);
      route->server = s->at;
      route->waits_for_it = true;
      if (s != idle) return {s->at, nullptr};
      waking_.at = s->at;
      waking_.unconnected = nullptr;
      return {s->at, &otherwise_};
    }
    if (unconnected) {
      waking_.unconnected = unconnected;
      return {nullptr, &otherwise_};
    }
  }
  const client::pick chosen = child_->choose(call);
  if (!chosen.to) return chosen;
  route->server = chosen.to;
  if (const auto known = servers_.find(chosen.to->id()); known != servers_.end()) use(*known->second);
  return chosen;
}

}  // namespace coracle::xds
