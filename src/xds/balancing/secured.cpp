#include "xds/balancing/secured.hpp"

namespace coracle::xds {

std::unique_ptr<client::balancer> secured_config::make(client::balancer_host& host) const {
  return std::make_unique<secured>(host);
}

void secured::update(const balancing& policy, const std::vector<client::endpoint>& servers) {
  const auto& config = static_cast<const secured_config&>(policy.config());
  security_ = config.security();
  for (client::subchannel* const s : subchannels_) secure(*s);
  client::balancer* const fresh = child_.update(config.child(), servers, *this);
  for (client::subchannel* const s : subchannels_) secure(*s);  // they may have other addresses now
  if (fresh) fresh->start();
}

// Subchannels share what is the same for thousands of them.
void secured::secure(client::subchannel& s) const { s.secure_by({security_, &security_->of(s.where())}); }

client::subchannel& secured::make_subchannel(const client::endpoint& to, client::subchannel_user& user) {
  client::subchannel& made = above_.make_subchannel(to, user);
  try {
    subchannels_.insert(&made);
  } catch (...) {
    above_.drop_subchannel(made);
    throw;
  }
  secure(made);
  return made;
}

void secured::drop_subchannel(client::subchannel& s) noexcept {
  subchannels_.erase(&s);
  above_.drop_subchannel(s);
}

}  // namespace coracle::xds
