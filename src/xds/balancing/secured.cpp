#include "xds/balancing/secured.hpp"

namespace coracle::xds {

std::unique_ptr<client::balancer> secured_config::make(client::balancer_host& host) const {
  return std::make_unique<secured>(host);
}

void secured::update(const balancing& policy, const std::vector<client::endpoint>& servers) {
  const auto& config = static_cast<const secured_config&>(policy.config());
  security_ = config.security();
  for (client::subchannel* const s : subchannels_) s->secure_by(security_.of(s->where().address()));
  if (client::balancer* const fresh = child_.update(config.child(), servers, *this)) fresh->start();
}

client::subchannel& secured::make_subchannel(const client::endpoint& to, client::subchannel_user& user) {
  client::server_security security = security_.of(to.address());
  if (subchannels_.size() == subchannels_.capacity()) subchannels_.reserve(2 * subchannels_.size() + 4);
  client::subchannel& made = above_.make_subchannel(to, user);
  made.secure_by(std::move(security));
  subchannels_.push_back(&made);
  return made;
}

void secured::drop_subchannel(client::subchannel& s) noexcept {
  std::erase(subchannels_, &s);
  above_.drop_subchannel(s);
}

}  // namespace coracle::xds
