#include "xds/balancing/drops.hpp"

#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"
#include "xds/resource/wire_values.hpp"

namespace coracle::xds {

std::unique_ptr<client::balancer> drops_config::make(client::balancer_host& host) const {
  return std::make_unique<drops>(host);
}

void drops::update(const balancing& policy, const std::vector<client::endpoint>& servers) {
  const auto& config = static_cast<const drops_config&>(policy.config());
  categories_ = config.categories();
  if (child_.update(config.child(), servers, *this)) child_->connect();
}

void drops::publish(connectivity c, const status& reason) noexcept {
  state_ = c;
  above_.publish(c, reason);
}

client::pick drops::choose(const client::pick_info& call) {
  if (state_ == connectivity::ready) {
    for (const drop_category& each : categories_) {
      if (host_.owner_loop().io().random() % million >= each.millionths) continue;
      drop_.reason = status::unavailable("the control plane has the call dropped, category " + each.category);
      return {nullptr, &drop_};
    }
  }
  return child_->choose(call);
}

}  // namespace coracle::xds
