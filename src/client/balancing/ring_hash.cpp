#include "client/balancing/ring_hash.hpp"

#include "base/if_memory_allows.hpp"
#include "base/xxh64.hpp"
#include "client/balancing/servers_before.hpp"
#include "client/call/call_attempt.hpp"
#include "coracle/base/impl/assert.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace coracle::client {

// --- the ring

void hash_ring::set(const std::vector<std::string>& keys, const std::vector<std::uint32_t>& weights,
                    std::uint32_t size_min, std::uint32_t size_max) {
  places_.clear();
  if (keys.empty()) return;
  // The order decides who gets the places that rounding leaves over.
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double smallest = *std::min_element(weights.begin(), weights.end()) / sum;
  const double scale = std::min(std::ceil(smallest * size_min) / smallest, static_cast<double>(size_max));
  places_.reserve(static_cast<std::size_t>(std::ceil(scale)));
  double target = 0;
  std::string text;
  for (const std::uint32_t server : order) {
    target += scale * (weights[server] / sum);
    for (std::uint32_t i = 0; static_cast<double>(places_.size()) < target; ++i) {
      text.assign(keys[server]).append("_").append(std::to_string(i));
      places_.push_back({base::xxh64(text), server});
    }
  }
  std::sort(places_.begin(), places_.end(), [](const place& a, const place& b) { return a.hash < b.hash; });
}

std::size_t hash_ring::find(std::uint64_t hash) const noexcept {
  const auto at = std::lower_bound(places_.begin(), places_.end(), hash,
                                   [](const place& p, std::uint64_t h) { return p.hash < h; });
  return at == places_.end() ? 0 : static_cast<std::size_t>(at - places_.begin());
}

// --- the servers

std::unique_ptr<balancer> ring_hash_config::make(balancer_host& host) const {
  return std::make_unique<ring_hash>(host);
}

ring_hash::~ring_hash() {
  for (const auto& s : servers_) drop(*s);
}

void ring_hash::drop(server& s) noexcept {
  if (s.at) host_.drop_subchannel(*s.at);
  host_.take_waiting(s.waiting);
}

void ring_hash::update(const balancing& policy, const std::vector<endpoint>& servers) {
  options_ = static_cast<const ring_hash_config&>(policy.config()).options();
  servers_before before(servers);
  for (const auto& s : servers_) before.add(s->at->where());
  std::set<net::address> listed;
  std::vector<std::pair<server*, const endpoint*>> added;
  // Every server is in servers_ until it is dropped, even if an allocation fails in between.
  for (const endpoint& e : servers) {
    if (e.weight() == 0 || !listed.insert(e.address()).second) continue;
    if (const auto known = before.take(e)) {
      servers_[*known]->at->set_where(e);
    } else {
      servers_.push_back(std::make_unique<server>(*this));
      added.emplace_back(servers_.back().get(), &e);
    }
  }
  std::erase_if(servers_, [&](const auto& s) {
    const bool gone = s->at && !listed.contains(s->at->where().address());
    if (gone) drop(*s);
    return gone;
  });
  for (const auto& [s, where] : added) {
    s->at = &host_.make_subchannel(*where, *s);
    note_failure(*s);  // of a subchannel that exists
    if (host_.health_service()) s->at->watch_health(*host_.health_service());
  }
  counts_ = {};
  for (const auto& s : servers_) {
    s->counted = connectivity::shutdown;
    count(*s);
  }
  listed_ = !servers.empty();
  build_ring();
  publish_state();
}

void ring_hash::count(server& s) noexcept {
  if (s.counted != connectivity::shutdown) --counts_[static_cast<std::size_t>(s.counted)];
  s.counted = s.state();
  if (s.counted != connectivity::shutdown) ++counts_[static_cast<std::size_t>(s.counted)];
}

void ring_hash::build_ring() {
  std::vector<std::string> keys;
  std::vector<std::uint32_t> weights;
  for (const auto& s : servers_) {
    const endpoint& where = s->at->where();
    const std::string& own = where.hash_key();  // gRFC A76
    keys.push_back(own.empty() ? where.address().to_string() : own);
    weights.push_back(where.weight());
  }
  ring_.set(keys, weights, std::min(options_.min_ring_size, ring_hash_options::ring_size_limit),
            std::min(options_.max_ring_size, ring_hash_options::ring_size_limit));
}

void ring_hash::server::connect() {
  at->connect();
  owner.count(*this);
  owner.publish_state();
}

void ring_hash::connect_one() {
  const auto idle = std::find_if(servers_.begin(), servers_.end(),
                                 [](const auto& s) { return s->state() == connectivity::idle; });
  if (idle == servers_.end()) return;
  (*idle)->at->connect();
  count(**idle);
}

void ring_hash::connect() {
  if (servers_in(connectivity::ready) + servers_in(connectivity::connecting) > 0) return;
  connect_one();
  publish_state();
}

void ring_hash::note_failure(server& s) {
  if (s.at->state() != connectivity::transient_failure) return;
  s.failed = true;
  last_failure_ = s.at->failure();
}

void ring_hash::on_state(server& s) {
  const connectivity now = s.at->state();
  if (now == connectivity::ready) s.failed = false;
  note_failure(s);
  const bool was_ready = s.counted == connectivity::ready;
  count(s);
  if (was_ready && now != connectivity::ready) host_.resolve_again();
  if (s.failed && servers_in(connectivity::transient_failure) == servers_.size()) host_.resolve_again();
  if (s.failed) s.at->connect();  // if its pause has passed
  publish_state();
}

void ring_hash::publish_state() {
  if (servers_in(connectivity::ready) > 0) return host_.publish(connectivity::ready);
  const std::size_t failed = servers_in(connectivity::transient_failure);
  if (failed > 0 && servers_in(connectivity::connecting) == 0) connect_one();
  if (failed > 1 || failed == servers_.size()) {
    std::string text(servers_.empty() ? no_servers_text(listed_) : last_failure_.message());
    if (servers_.size() > 1)
      text = "none of the " + std::to_string(servers_.size()) +
             " servers can be reached; the last error: " + text;
    fail_.reason = status::unavailable(text);
    return host_.publish(connectivity::transient_failure, fail_.reason);
  }
  const bool connects = servers_in(connectivity::connecting) > 0 || failed > 0;
  host_.publish(connects ? connectivity::connecting : connectivity::idle);
}

// --- picks

std::optional<std::uint64_t> ring_hash::hash_of(const pick_info& call) const {
  if (options_.request_hash_header.empty()) {
    const auto& route = call.attempt().terms().route;
    if (!route) return std::nullopt;
    if (!route->hash) route->hash = host_.owner_loop().io().random();
    return route->hash;
  }
  const metadata& sent = call.attempt().terms().options.metadata;
  const std::optional<std::string_view> first = sent.find(options_.request_hash_header);
  if (!first) return std::nullopt;
  std::uint64_t hash = base::xxh64(*first);
  const auto is_value = [&](const auto& field) { return field.name == options_.request_hash_header; };
  if (std::count_if(sent.begin(), sent.end(), is_value) < 2) return hash;
  // Without memory to join several values, the first one decides.
  base::if_memory_allows([&] {
    std::string joined(*first);
    bool is_first = true;
    for (const std::string_view value : sent.find_all(options_.request_hash_header))
      if (!std::exchange(is_first, false)) joined.append(",").append(value);
    hash = base::xxh64(joined);
  });
  return hash;
}

pick ring_hash::choose(const pick_info& call) {
  if (ring_.size() == 0) return {nullptr, &fail_};
  const std::optional<std::uint64_t> hash = hash_of(call);
  return hash ? choose_by(*hash) : choose_any(host_.owner_loop().io().random());
}

// Servers that have failed are passed over, so that their calls go to the next ones on the ring.
pick ring_hash::choose_by(std::uint64_t hash) noexcept {
  const std::size_t first = ring_.find(hash);
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    server& s = *servers_[ring_.server_at(first + i)];
    switch (s.state()) {
      case connectivity::ready: return {s.at};
      case connectivity::idle: return {nullptr, &s.wake};
      case connectivity::connecting: return {nullptr, &wait_};
      default: break;
    }
  }
  return {nullptr, &fail_};
}

// Takes the first that is READY, and has one of those that are passed over connected meanwhile.
pick ring_hash::choose_any(std::uint64_t random) noexcept {
  const bool connecting = std::any_of(servers_.begin(), servers_.end(),
                                      [](const auto& s) { return s->state() == connectivity::connecting; });
  const std::size_t first = ring_.find(random);
  server* idle = nullptr;
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    server& s = *servers_[ring_.server_at(first + i)];
    const connectivity c = s.state();
    if (c == connectivity::ready) return {s.at, idle ? &idle->wake : nullptr};
    if (c == connectivity::idle && !connecting && !idle) idle = &s;
  }
  if (idle) return {nullptr, &idle->wake};
  return {nullptr, connecting ? &wait_ : &fail_};
}

}  // namespace coracle::client
