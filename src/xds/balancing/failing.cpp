#include "xds/balancing/failing.hpp"

namespace coracle::xds {

std::unique_ptr<client::balancer> failing_config::make(client::balancer_host& host) const {
  return std::make_unique<failing>(host);
}

void failing::update(const balancing& policy, const std::vector<client::endpoint>&) {
  fail_.reason = static_cast<const failing_config&>(policy.config()).reason();
  host_.publish(connectivity::transient_failure, fail_.reason);
}

}  // namespace coracle::xds
