#include "client/balancing/priority.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/impl/assert.hpp"
#include "runtime/backend.hpp"

namespace coracle::client {

std::unique_ptr<balancer> priority_config::make(balancer_host& host) const {
  return std::make_unique<priority>(host);
}

priority::level::~level() {
  for (level_timer* const t : {&failover, &removal})
    if (t->holder) owner.host_.owner_loop().disarm(*t);
}

void priority::update(const balancing& policy, const std::vector<endpoint>& servers) {
  const auto& wanted = static_cast<const priority_config&>(policy.config()).levels();
  CORACLE_ASSERT(!wanted.empty(), "a priority policy has no levels");
  servers_ = servers;
  updating_ = true;
  // A level that is gone ends at once (gRFC A115).
  arrange(levels_, wanted, [this](const auto& w) { return std::make_unique<level>(*this, w.name); });
  policy_ = policy;
  current_ = 0;
  for (std::size_t i = 0; i < levels_.size(); ++i)
    if (levels_[i]->policy) update_child(i);
  updating_ = false;
  choose_level();
}

const std::vector<endpoint>& priority::servers_of(std::size_t i) const noexcept {
  const servers_of_child& own = configured(i).servers;
  return own ? *own : servers_;
}

const priority_config::level& priority::configured(std::size_t i) const noexcept {
  return static_cast<const priority_config&>(policy_.config()).levels()[i];
}

void priority::update_child(std::size_t i) {
  levels_[i]->policy->ignore_resolution_requests(configured(i).ignores_resolution_requests);
  levels_[i]->policy->update(configured(i).policy, servers_of(i));
}

void priority::make_child(std::size_t i) {
  level& l = *levels_[i];
  l.policy = std::make_unique<child_policy>(host_, static_cast<child_policy_owner&>(*this), l.name());
  host_.owner_loop().arm(l.failover, deadline_after(host_.owner_loop().now(), failover_time));
  update_child(i);
}

// The timer runs until the child has shown what it can do.
void priority::on_child(child_policy& c) noexcept {
  level* l = nullptr;
  for (const auto& candidate : levels_)
    if (candidate->policy.get() == &c) l = candidate.get();
  if (l) {
    switch (c.state()) {
      case connectivity::ready:
      case connectivity::idle:
        l->worked = true;
        if (l->failover.holder) host_.owner_loop().disarm(l->failover);
        break;
      case connectivity::transient_failure:
        l->worked = false;
        if (l->failover.holder) host_.owner_loop().disarm(l->failover);
        break;
      default:
        if (std::exchange(l->worked, false) && !l->failover.holder)
          host_.owner_loop().arm(l->failover, deadline_after(host_.owner_loop().now(), failover_time));
        break;
    }
  }
  if (!updating_) choose_again();
}

void priority::choose_level() {
  updating_ = true;
  std::size_t chosen = levels_.size();
  for (std::size_t i = 0; i < levels_.size() && chosen == levels_.size(); ++i) {
    level& l = *levels_[i];
    if (!l.policy) make_child(i);
    if (l.removal.holder) host_.owner_loop().disarm(l.removal);
    const connectivity c = l.policy->state();
    if (c == connectivity::ready || c == connectivity::idle || l.failover.holder) chosen = i;
  }
  const bool works = chosen < levels_.size();
  for (std::size_t i = 0; i < levels_.size() && chosen == levels_.size(); ++i)
    if (levels_[i]->policy->state() == connectivity::connecting) chosen = i;
  if (chosen == levels_.size()) chosen = levels_.size() - 1;
  // Those below a level that works are kept for a while.
  for (std::size_t i = chosen + 1; works && i < levels_.size(); ++i)
    if (levels_[i]->policy && !levels_[i]->removal.holder)
      host_.owner_loop().arm(levels_[i]->removal, deadline_after(host_.owner_loop().now(), kept_time));
  current_ = chosen;
  updating_ = false;
  const child_policy& used = *levels_[current_]->policy;
  host_.publish(used.state(), used.reason());
}

void priority::choose_again() noexcept {
  if (!base::if_memory_allows([this] { choose_level(); })) host_.out_of_memory();
}

void priority::remove(level& l) noexcept {
  l.policy = nullptr;
  choose_again();  // calls that waited for it are picked for again
}

void priority::connect() { levels_[current_]->policy->connect(); }

pick priority::choose(const pick_info& call) {
  child_policy* const used = levels_[current_]->policy.get();
  return used ? used->choose(call) : pick{nullptr, &wait_};
}

}  // namespace coracle::client
