#include "xds/balancing/drops.hpp"

#include "base/printable.hpp"
#include "client/call/call_attempt.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"
#include "xds/resource/wire_values.hpp"

#include <algorithm>
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

std::shared_ptr<const server_facts> facts_by_server::find(const net::address& a) const noexcept {
  const auto found = std::ranges::lower_bound(sorted_, a, {}, &decltype(sorted_)::value_type::first);
  return found != sorted_.end() && found->first == a ? found->second.of : nullptr;
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
  for (const auto& calls : servers_) apply_facts(*calls);
  const balancing& below = static_cast<const drops_config&>(*config_).child();
  client::balancer* const fresh = child_.update(below, servers, *this);
  // Servers that are kept may have other addresses now.
  for (const auto& calls : servers_) apply_facts(*calls);
  if (fresh) fresh->start();
}

// By the first of its addresses that is known: it may be one of before the update.
std::shared_ptr<const server_facts> drops::facts_of(const client::endpoint& where) const noexcept {
  const facts_by_server& all = options().servers;
  auto known = all.find(where.address());
  for (auto other = where.other_addresses().begin(); !known && other != where.other_addresses().end();
       ++other)
    known = all.find(*other);
  return known;
}

namespace {

locality where_of(const std::shared_ptr<const server_facts>& facts) {
  return facts ? facts->locality : locality();
}

}  // namespace

void drops::apply_facts(calls_to_server& calls) const {
  client::subchannel* const to = calls.at();
  if (!to) return calls.count_in(options().calls);
  auto facts = facts_of(to->where());
  calls.count_in(options().calls);
  calls.count_at(load_of(where_of(facts)));
  to->reach_by(std::move(facts));
  to->set_own_connections_max(options().connections_max);
}

// Those of the locality at first: what is counted under them is counted down under them, too.
void drops::set_labels(client::subchannel& of) {
  const locality where = where_of(facts_of(of.where()));
  std::shared_ptr<const server_labels>& labels = labels_[where];
  if (!labels)
    labels = std::make_shared<const server_labels>(server_labels{options().cluster, label_of(where)});
  of.set_labels(labels);
}

client::subchannel& drops::make_subchannel(const client::endpoint& to, client::subchannel_user& user) {
  if (servers_.size() == servers_.capacity()) {
    std::erase_if(servers_, [](const auto& calls) { return calls.use_count() == 1; });
    servers_.reserve(2 * servers_.size() + 4);
  }
  auto calls = std::make_shared<calls_to_server>();
  client::subchannel& made = above_.make_subchannel(to, user);
  made.observe_attempts(calls);
  calls->observe(made);
  servers_.push_back(std::move(calls));
  try {
    apply_facts(*servers_.back());
    set_labels(made);
  } catch (...) {
    servers_.pop_back();
    above_.drop_subchannel(made);
    throw;
  }
  return made;
}

client::pick drops::choose(const client::pick_info& call) {
  const client::pick chosen = child_->choose(call);
  if (!chosen.to) return chosen;
  const client::call_attempt& a = call.attempt();
  const drops_options& o = options();
  if (a.has_place()) [[unlikely]] {
    if (a.has_place_among(o.calls->number())) return chosen;
    a.release_place();  // of another cluster
  }
  if (!o.categories.empty() && a.admitted_to() != o.calls->number()) [[unlikely]] {
    std::size_t reason = 0;
    for (const drop_category& each : o.categories) {
      if (host_.owner_loop().io().random() % million < each.millionths) return drop(reason, each.category);
      ++reason;
    }
  }
  if (o.calls->count() >= o.calls_max) [[unlikely]]
    return drop(o.categories.size(), {});
  a.set_admitted_to(o.calls->number());
  return chosen;
}

client::pick drops::drop(std::size_t reason, std::string_view category) const {
  if (options().load) options().load->dropped(category);
  return {nullptr, &dropped_[reason]};
}

}  // namespace coracle::xds
