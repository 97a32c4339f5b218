#include "xds/balancing/drops.hpp"

#include "base/printable.hpp"
#include "client/call/call_attempt.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"
#include "xds/resource/wire_values.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::xds {

std::unique_ptr<client::balancer> drops_config::make(client::balancer_host& host) const {
  return std::make_unique<drops>(host);
}

const drops_options& drops::options() const noexcept {
  return static_cast<const drops_config&>(*config_).options();
}

std::shared_ptr<locality_load> drops::load_of(const locality& where) const {
  return options().load ? cluster_load::of(options().load, where) : nullptr;
}

void drops::update(const balancing& policy, const std::vector<client::endpoint>& servers) {
  config_ = policy.shared_config();
  dropped_.clear();
  const auto add = [this](const std::string& reason) {
    dropped_.push_back({client::no_server::action::drop, nullptr, status::unavailable(reason)});
  };
  for (const drop_category& each : options().categories)
    add("the control plane has the call dropped, category " + base::printable(each.category));
  add("the cluster has its maximum of calls in progress, which is " + std::to_string(options().calls_max));
  std::erase_if(calls_, [](const auto& c) { return c.second.use_count() == 1; });
  for (const auto& [where, calls] : calls_) calls->count_in(options().calls, load_of(where));
  const balancing& below = static_cast<const drops_config&>(*config_).child();
  if (child_.update(below, servers, *this)) child_->connect();
}

void drops::publish(connectivity c, const status& reason) noexcept {
  state_ = c;
  above_.publish(c, reason);
}

client::subchannel& drops::make_subchannel(const client::endpoint& to, client::subchannel_user& user) {
  const auto known = options().localities.find(to.address());
  const locality where = known == options().localities.end() ? locality() : known->second;
  std::shared_ptr<calls_to_locality>& calls = calls_[where];
  if (!calls) {
    auto made = std::make_shared<calls_to_locality>();
    made->count_in(options().calls, load_of(where));
    calls = std::move(made);
  }
  client::subchannel& made = above_.make_subchannel(to, user);
  made.observe_attempts(calls);
  return made;
}

client::pick drops::choose(const client::pick_info& call) {
  if (state_ != connectivity::ready || call.attempt().admitted()) return child_->choose(call);
  const drops_options& o = options();
  std::size_t reason = 0;
  for (const drop_category& each : o.categories) {
    if (host_.owner_loop().io().random() % million < each.millionths) return drop(reason, each.category);
    ++reason;
  }
  if (o.calls->count() >= o.calls_max) [[unlikely]]
    return drop(reason, {});
  call.attempt().set_admitted();
  return child_->choose(call);
}

client::pick drops::drop(std::size_t reason, std::string_view category) const {
  if (options().load) options().load->dropped(category);
  return {nullptr, &dropped_[reason]};
}

}  // namespace coracle::xds
