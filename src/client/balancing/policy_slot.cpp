#include "client/balancing/policy_slot.hpp"

#include "runtime/backend.hpp"

#include <utility>

namespace coracle::client {

class policy_slot::stage final : public forwarding_host {
 public:
  stage(policy_slot& of, balancer_host& above, const balancing& policy)
      : forwarding_host(above), family(policy.config().family()), slot_(of) {
    made = policy.config().make(*this);
  }
  void publish(connectivity c, const status& why) noexcept override {
    state = c;
    reason = why;
    slot_.published(*this);
  }
  void publish_again() noexcept { above_.publish(state, reason); }
  void resolve_again() noexcept override {
    if (!retired) above_.resolve_again();
  }

  const std::string_view family;
  connectivity state = connectivity::connecting;  // as published
  status reason;
  bool retired = false;
  std::unique_ptr<stage> before;  // retired earlier
  std::unique_ptr<balancer> made;  // ends first

 private:
  policy_slot& slot_;
};

policy_slot::policy_slot() noexcept {
  sweep_.fire = [](coro::timer& t) noexcept { static_cast<sweep&>(t).of.sweep_retired(); };
}

policy_slot::~policy_slot() { reset(); }

void policy_slot::reset() noexcept {
  if (sweep_.holder) now_->owner_loop().disarm(sweep_);
  current_ = nullptr;
  retired_.reset();
  next_.reset();
  now_.reset();
}

bool policy_slot::keeps(const balancing& policy) const noexcept {
  return now_ && (now_->family == policy.config().family() || now_->state == connectivity::ready);
}

balancer* policy_slot::update(const balancing& policy, const std::vector<endpoint>& servers,
                              balancer_host& host) {
  const std::string_view family = policy.config().family();
  if (now_ && now_->family == family) {
    next_.reset();  // the policy has changed back
    current_->update(policy, servers);
    return nullptr;
  }
  if (next_ && next_->family == family) {
    next_->made->update(policy, servers);
    return nullptr;
  }
  next_.reset();
  if (!keeps(policy)) reset();
  std::unique_ptr<stage>& place = now_ ? next_ : now_;
  place = std::make_unique<stage>(*this, host, policy);
  balancer& fresh = *place->made;
  if (!current_) current_ = &fresh;
  fresh.update(policy, servers);
  return &fresh;
}

// The last statement of a function of the balancer; see balancer_host.
void policy_slot::published(stage& by) noexcept {
  if (by.retired) return;
  const bool of_calls = &by == now_.get();
  if (next_ && (of_calls ? by.state != connectivity::ready : by.state != connectivity::connecting))
    return promote();
  if (of_calls) by.publish_again();
}

void policy_slot::promote() noexcept {
  now_->retired = true;
  now_->before = std::move(retired_);
  retired_ = std::move(now_);
  now_ = std::move(next_);
  current_ = now_->made.get();
  loop& here = now_->owner_loop();
  if (!sweep_.holder) here.arm(sweep_, here.now());
  now_->publish_again();
}

// The calls that waited for one of them are picked for again.
void policy_slot::sweep_retired() noexcept {
  retired_.reset();
  now_->publish_again();
}

}  // namespace coracle::client
