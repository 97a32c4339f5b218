#include "client/balancing/weighted_target.hpp"

#include "base/if_memory_allows.hpp"
#include "runtime/backend.hpp"

#include <algorithm>

namespace coracle::client {

std::unique_ptr<balancer> weighted_target_config::make(balancer_host& host) const {
  return std::make_unique<weighted_target>(host);
}

weighted_target::weighted_target(balancer_host& host) noexcept
    : balancer(host), random_(host.owner_loop().io().random() | 1) {}

void weighted_target::update(const balancing& policy, const std::vector<endpoint>& servers) {
  const auto& targets = static_cast<const weighted_target_config&>(policy.config()).targets();
  updating_ = true;
  arrange(children_, targets, [this](const auto& t) { return std::make_unique<child>(*this, t.name); });
  for (std::size_t i = 0; i < targets.size(); ++i) {
    children_[i]->weight = std::max(targets[i].weight, 1u);
    children_[i]->policy.set_locality(targets[i].locality);
    children_[i]->policy.update(targets[i].policy, targets[i].servers ? *targets[i].servers : servers);
    if (children_[i]->policy.state() == connectivity::idle) children_[i]->policy.connect();
  }
  updating_ = false;
  publish_state();
}

void weighted_target::connect() {
  for (const auto& c : children_) c->policy.connect();
}

void weighted_target::on_child(child_policy& c) noexcept {
  if (updating_) return;
  if (c.state() == connectivity::idle) {
    updating_ = true;
    const bool enough = base::if_memory_allows([&] { c.connect(); });
    updating_ = false;
    if (!enough) return host_.out_of_memory();
  }
  publish_state();
}

void weighted_target::publish_state() noexcept {
  const child* best = nullptr;
  for (const auto& c : children_)
    if (!best || rank_of(c->policy.state()) > rank_of(best->policy.state())) best = c.get();
  state_ = best ? best->policy.state() : connectivity::transient_failure;
  weights_ = 0;
  for (const auto& c : children_)
    if (c->policy.state() == state_) weights_ += c->weight;
  host_.publish(state_, best ? best->policy.reason() : empty_.reason);
}

// xorshift64*. Its upper half as a fraction of 1: a remainder would favor the first children if their weights
// are large. No child's share is off by more than 2^-32.
std::uint64_t weighted_target::draw(std::uint64_t below) noexcept {
  random_ ^= random_ >> 12;
  random_ ^= random_ << 25;
  random_ ^= random_ >> 27;
  return (random_ * 0x2545F4914F6CDD1DULL >> 32) * below >> 32;
}

pick weighted_target::choose(const pick_info& call) {
  if (state_ == connectivity::connecting) return {nullptr, &wait_};
  if (weights_ == 0) return {nullptr, &empty_};
  std::uint64_t turn = draw(weights_);
  for (const auto& c : children_) {
    if (c->policy.state() != state_) continue;
    if (turn < c->weight) return c->policy.choose(call);
    turn -= c->weight;
  }
  return {nullptr, &wait_};
}

}  // namespace coracle::client
