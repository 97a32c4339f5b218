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

rpc::policy_outline drops_config::outline() const {
  std::string detail = "calls at a time: " + std::to_string(options_.calls_max);
  for (const drop_category& each : options_.categories)
    detail += ", drops " + base::printable(each.category) + ": " + std::to_string(each.millionths) +
              " of a million";
  return {std::string(family()), std::move(detail), {child_.config().outline()}};
}

const drops_options& drops::options() const noexcept {
  return static_cast<const drops_config&>(*config_).options();
}

std::shared_ptr<locality_load> drops::load_of(const locality& where) const {
  return options().load ? cluster_load::of(options().load, where) : nullptr;
}

server_labels drops::labels() const {
  server_labels of = above_.labels();
  of.backend_service = options().cluster;
  return of;
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
  std::erase_if(labels_, [](const auto& l) { return l.second.use_count() == 1; });
  for (const server& s : servers_) apply_facts(s);
  const balancing& below = static_cast<const drops_config&>(*config_).child();
  if (client::balancer* const fresh = child_.update(below, servers, *this)) fresh->connect();
}

const server_facts& drops::facts_of(const net::address& at) const noexcept {
  static const server_facts none;
  const auto known = options().servers.find(at);
  return known == options().servers.end() ? none : *known->second.of;
}

void drops::apply_facts(const server& s) const {
  if (!s.to) return s.calls->count_in(options().calls);
  const server_facts& facts = facts_of(s.to->where().address());
  s.calls->count_in(options().calls);
  s.calls->count_at(load_of(facts.locality));
  s.to->name_host(facts.hostname);
  s.to->connect_through(facts.proxy);
  s.to->set_own_connections_max(options().connections_max);
}

// Those of the locality at first: what is counted under them is counted down under them, too.
void drops::set_labels(client::subchannel& of) {
  const locality& where = facts_of(of.where().address()).locality;
  std::shared_ptr<const server_labels>& labels = labels_[where];
  if (!labels)
    labels = std::make_shared<const server_labels>(server_labels{options().cluster, label_of(where)});
  of.set_labels(labels);
}

client::subchannel& drops::make_subchannel(const client::endpoint& to, client::subchannel_user& user) {
  if (servers_.size() == servers_.capacity()) {
    std::erase_if(servers_, [](const server& s) { return s.calls.use_count() == 1; });
    servers_.reserve(2 * servers_.size() + 4);
  }
  server added{nullptr, std::make_shared<calls_to_server>()};
  client::subchannel& made = above_.make_subchannel(to, user);
  made.observe_attempts(added.calls);
  added.to = &made;
  servers_.push_back(std::move(added));
  try {
    apply_facts(servers_.back());
    set_labels(made);
  } catch (...) {
    servers_.pop_back();
    above_.drop_subchannel(made);
    throw;
  }
  return made;
}

// The calls that are open there are counted on.
void drops::drop_subchannel(client::subchannel& s) noexcept {
  for (server& each : servers_)
    if (each.to == &s) each.to = nullptr;
  above_.drop_subchannel(s);
}

client::pick drops::choose(const client::pick_info& call) {
  const client::pick chosen = child_->choose(call);
  if (!chosen.to || call.attempt().has_place()) return chosen;
  const drops_options& o = options();
  if (!o.categories.empty() && !call.attempt().admitted()) [[unlikely]] {
    std::size_t reason = 0;
    for (const drop_category& each : o.categories) {
      if (host_.owner_loop().io().random() % million < each.millionths) return drop(reason, each.category);
      ++reason;
    }
  }
  if (o.calls->count() >= o.calls_max) [[unlikely]]
    return drop(o.categories.size(), {});
  call.attempt().set_admitted();
  return chosen;
}

client::pick drops::drop(std::size_t reason, std::string_view category) const {
  if (options().load) options().load->dropped(category);
  return {nullptr, &dropped_[reason]};
}

}  // namespace coracle::xds
