#include "client/spread_balancer.hpp"

#include <algorithm>
#include <utility>

namespace coracle::client {

spread_balancer::~spread_balancer() {
  for (const entry& e : servers_) host_.drop_subchannel(*e.at);
}

void spread_balancer::update(const std::vector<endpoint>& servers) {
  std::vector<entry> before = std::exchange(servers_, {});
  const auto by_address = [](std::vector<entry>& in, const endpoint& e) {
    return std::find_if(in.begin(), in.end(),
                        [&](const entry& x) { return x.at->where().address() == e.address(); });
  };
  for (const endpoint& e : servers) {
    if (e.weight() == 0 || by_address(servers_, e) != servers_.end()) continue;
    if (const auto old = by_address(before, e); old != before.end()) {
      old->at->set_where(e);
      servers_.push_back(*old);
      before.erase(old);
    } else {
      servers_.push_back({&host_.make_subchannel(e)});
      if (host_.health_service()) servers_.back().at->watch_health(*host_.health_service());
    }
  }
  for (const entry& e : before) host_.drop_subchannel(*e.at);
  for (const entry& e : servers_) e.at->connect();
  gather_ready();
  publish_state();
}

void spread_balancer::on_state(subchannel& s) {
  const auto e = std::find_if(servers_.begin(), servers_.end(), [&](const entry& x) { return x.at == &s; });
  if (e == servers_.end()) return;
  const bool was_ready = std::exchange(e->ready, s.state() == connectivity::ready);
  if (e->ready) e->failed = false;
  if (s.state() == connectivity::transient_failure) {
    e->failed = true;
    last_failure_ = s.failure();
  }
  if (was_ready != e->ready) gather_ready();
  if (was_ready && !e->ready) host_.resolve_again();
  if (e->failed && std::all_of(servers_.begin(), servers_.end(), [](const entry& x) { return x.failed; }))
    host_.resolve_again();
  s.connect();  // where it is IDLE
  publish_state();
}

void spread_balancer::gather_ready() {
  ready_.clear();
  for (entry& e : servers_) {
    e.ready = e.at->state() == connectivity::ready;
    if (e.ready) ready_.emplace_back(*e.at);
  }
  policy_->ready_changed(ready_);
}

void spread_balancer::publish_state() {
  if (!ready_.empty()) return host_.publish(connectivity::ready);
  if (servers_.empty())
    return host_.publish(connectivity::transient_failure,
                         status::unavailable("every server has the weight 0, and takes no calls"));
  const bool hope = std::any_of(servers_.begin(), servers_.end(), [](const entry& e) { return !e.failed; });
  if (hope) return host_.publish(connectivity::connecting);
  std::string text(last_failure_.message());
  if (servers_.size() > 1)
    text = "none of " + std::to_string(servers_.size()) + " servers can be reached; the last said: " + text;
  host_.publish(connectivity::transient_failure, status::unavailable(text));
}

pick spread_balancer::choose(const pick_info& call) {
  if (ready_.empty()) return {};
  const std::size_t chosen = policy_->pick(ready_, call);
  if (chosen == pick_policy::drop) return {nullptr, true};
  CORACLE_ASSERT(chosen < ready_.size(), "a pick_policy gave an index beyond the servers that it was shown");
  // The one that has room, from there on; when none has, the one that was chosen, for a further connection.
  for (std::size_t i = 0; i < ready_.size(); ++i) {
    subchannel* s = ready_[(chosen + i) % ready_.size()].at_;
    if (s->can_open()) return {s, false};
  }
  return {ready_[chosen].at_, false};
}

}  // namespace coracle::client
