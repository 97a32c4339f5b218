#include "client/balancing/spread_balancer.hpp"

#include "base/if_memory_allows.hpp"
#include "client/balancing/servers_before.hpp"
#include "client/balancing/weighted_round_robin.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace coracle::client {

namespace {

// The host fails the calls that wait.
const no_server& wait_for_memory() {
  static const no_server waits;
  return waits;
}

const no_server& dropped() {
  static const no_server by_policy{no_server::action::drop, nullptr,
                                   status::unavailable("the channel's pick_policy dropped the call")};
  return by_policy;
}

}  // namespace

std::unique_ptr<pick_policy> spread_config::make_policy(const balancer_host& host) const {
  loop& here = host.owner_loop();
  if (const auto* const weights = std::get_if<weighted_round_robin_options>(&which_))
    return std::make_unique<weighted_round_robin>(*weights, here, std::string(host.target()), host.labels());
  if (const auto* const slow_start = std::get_if<slow_start_options>(&which_))
    return std::make_unique<slow_start_round_robin>(*slow_start, here);
  const std::uint64_t seed = here.io().random();
  if (const auto* const built_in = std::get_if<simple>(&which_))
    return built_in->make(seed, built_in->choices);
  std::unique_ptr<pick_policy> made = (*std::get<of_program>(which_))(seed);
  CORACLE_ASSERT(made, "the factory of balancing::by() returned no policy");
  return made;
}

std::string_view spread_config::name() const noexcept {
  if (std::holds_alternative<weighted_round_robin_options>(which_)) return "weighted_round_robin";
  if (std::holds_alternative<slow_start_options>(which_)) return "round_robin";
  const auto* const built_in = std::get_if<simple>(&which_);
  if (!built_in) return "a policy of the program";
  if (built_in->make == make_round_robin) return "round_robin";
  return built_in->make == make_weighted ? "weighted" : "least_request";
}

rpc::policy_outline spread_config::outline() const {
  rpc::policy_outline made{std::string(name())};
  const auto* const built_in = std::get_if<simple>(&which_);
  if (std::holds_alternative<slow_start_options>(which_)) made.detail = "slow start";
  if (built_in && built_in->make == make_least_request)
    made.detail = "choices: " + std::to_string(built_in->choices);
  return made;
}

std::unique_ptr<balancer> spread_config::make(balancer_host& host) const {
  return std::make_unique<spread_balancer>(host);
}

spread_balancer::~spread_balancer() {
  for (const entry& e : servers_) host_.drop_subchannel(*e.at);
  host_.take_waiting(waiting);
}

void spread_balancer::set_policy(const balancing& policy) {
  if (configured_ == policy) return;
  policy_ = static_cast<const spread_config&>(policy.config()).make_policy(host_);
  configured_ = policy;
}

void spread_balancer::update(const balancing& policy, const std::vector<endpoint>& servers) {
  set_policy(policy);
  // Every subchannel is in servers_ until it is dropped, even if an allocation fails in between.
  servers_before before(servers);
  for (const entry& e : servers_) before.add(e.at->where());
  std::set<net::address> listed;
  std::vector<entry> next;
  next.reserve(servers.size());
  ready_.reserve(servers.size());
  servers_.reserve(servers_.size() + servers.size());
  for (const endpoint& e : servers) {
    if (e.weight() == 0 || !listed.insert(e.address()).second) continue;
    if (const auto old = before.take(e)) {
      servers_[*old].at->set_where(e);
      next.push_back(servers_[*old]);
    } else {
      next.push_back(servers_.emplace_back(entry{&host_.make_subchannel(e, *this)}));
      subchannel& s = *next.back().at;
      if (host_.health_service()) s.watch_health(*host_.health_service());
    }
    next.back().at->report_load_to(*this, policy_->wants_load_of_calls(), policy_->load_interval());
  }
  servers_.swap(next);
  for (const entry& e : next)
    if (!listed.contains(e.at->where().address())) host_.drop_subchannel(*e.at);
  ready_servers_ = failed_servers_ = 0;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    entry& e = servers_[i];
    e.at->set_index(i);
    e.at->connect();
    ready_servers_ += e.ready;
    failed_servers_ += e.failed;
    note_state(e);
  }
  ready_changed_ = true;
  listed_ = !servers.empty();
  host_.take_waiting(waiting);  // their servers may be gone
  publish_state();
}

void spread_balancer::note_state(entry& e) {
  const connectivity now = e.at->state();
  const bool ready = now == connectivity::ready;
  const bool failed = now == connectivity::transient_failure || (e.failed && !ready);
  if (now == connectivity::transient_failure) last_failure_ = e.at->failure();
  ready_changed_ |= e.ready != ready;
  ready_servers_ = ready_servers_ - e.ready + ready;
  failed_servers_ = failed_servers_ - e.failed + failed;
  e.ready = ready;
  e.failed = failed;
}

void spread_balancer::on_state(subchannel& s) {
  entry& e = servers_[s.index()];
  const bool was_ready = e.ready;
  note_state(e);
  if (was_ready && !e.ready) host_.resolve_again();
  if (e.failed && failed_servers_ == servers_.size()) host_.resolve_again();
  s.connect();  // if it is IDLE
  publish_state();
}

bool spread_balancer::gather_ready() noexcept {
  if (!ready_changed_) return true;
  ready_changed_ = false;
  ready_.clear();
  const bool gathered = base::if_memory_allows([this] {
    for (const entry& e : servers_)
      if (e.ready) ready_.emplace_back(*e.at);
    policy_->ready_changed(ready_);
  });
  if (!gathered) host_.out_of_memory();
  return gathered;
}

void spread_balancer::on_load(subchannel& s, const load_report& load) noexcept {
  if (gather_ready()) policy_->load_reported(pick_candidate(s), load);
}

void spread_balancer::publish_state() {
  if (ready_servers_ > 0) return publish(connectivity::ready);
  if (servers_.empty())
    return publish(connectivity::transient_failure, status::unavailable(no_servers_text(listed_)));
  if (failed_servers_ < servers_.size()) return publish(connectivity::connecting);
  std::string text(last_failure_.message());
  if (servers_.size() > 1)
    text = "none of " + std::to_string(servers_.size()) + " servers can be reached; the last error: " + text;
  publish(connectivity::transient_failure, status::unavailable(text));
}

void spread_balancer::publish(connectivity c, status reason) noexcept {
  using action = no_server::action;
  otherwise_.then = c == connectivity::transient_failure ? action::fail : action::wait;
  otherwise_.reason = std::move(reason);
  host_.publish(c, otherwise_.reason);
}

pick spread_balancer::choose(const pick_info& call) {
  if (!gather_ready()) return {nullptr, &wait_for_memory()};
  if (ready_.empty()) return {nullptr, &otherwise_};
  const std::size_t chosen = policy_->pick(ready_, call);
  if (chosen == pick_policy::drop) return {nullptr, &dropped()};
  CORACLE_ASSERT(chosen < ready_.size(), "a pick_policy returned an index out of range of its servers");
  // Picks the first server with room from there on; if none has room, the chosen one, so that it may add a
  // connection.
  for (std::size_t i = 0; i < ready_.size(); ++i) {
    subchannel* s = ready_[(chosen + i) % ready_.size()].at_;
    if (s->can_open()) return {s};
  }
  return {ready_[chosen].at_};
}

namespace {

class round_robin final : public pick_policy {
 public:
  explicit round_robin(std::uint64_t seed) noexcept : next_(static_cast<std::size_t>(seed)) {}
  std::size_t pick(std::span<const pick_candidate> ready, const pick_info&) override {
    return next_++ % ready.size();
  }

 private:
  std::size_t next_;
};

class least_request final : public pick_policy {
 public:
  least_request(std::uint64_t seed, std::uint32_t choices) noexcept : random_(seed | 1), choices_(choices) {}
  std::size_t pick(std::span<const pick_candidate> ready, const pick_info&) override {
    std::size_t best = draw(ready.size());
    for (std::uint32_t i = 1; i < choices_; ++i) {
      const std::size_t other = draw(ready.size());
      if (ready[other].open_calls() < ready[best].open_calls()) best = other;
    }
    return best;
  }

 private:
  // xorshift64*: random enough to distribute calls, and cheap enough for every call.
  std::size_t draw(std::size_t n) noexcept {
    random_ ^= random_ >> 12;
    random_ ^= random_ << 25;
    random_ ^= random_ >> 27;
    return static_cast<std::size_t>((random_ * 0x2545F4914F6CDD1DULL >> 33) % n);
  }
  std::uint64_t random_;
  std::uint32_t choices_;
};

// Each server has a pass value that grows by 1 / weight each time it is picked; the smallest value is next.
class weighted final : public pick_policy {
 public:
  explicit weighted(std::uint64_t seed) noexcept : seed_(seed) {}

  void ready_changed(std::span<const pick_candidate> ready) override {
    turns_.clear();
    for (std::size_t i = 0; i < ready.size(); ++i) {
      const double stride = 1.0 / ready[i].where().weight();
      // The start within the first stride is random, since otherwise every client would begin with the
      // heaviest server.
      seed_ = seed_ * 6364136223846793005ULL + 1442695040888963407ULL;
      const double begins = static_cast<double>(seed_ >> 40) / static_cast<double>(1ULL << 24);
      turns_.push_back({stride * begins, stride, i});
    }
    std::make_heap(turns_.begin(), turns_.end(), later);
  }
  std::size_t pick(std::span<const pick_candidate>, const pick_info&) override {
    std::pop_heap(turns_.begin(), turns_.end(), later);
    turn& t = turns_.back();
    const std::size_t chosen = t.server;
    t.pass += t.stride;
    std::push_heap(turns_.begin(), turns_.end(), later);
    return chosen;
  }

 private:
  struct turn {
    double pass;
    double stride;
    std::size_t server;
  };
  static bool later(const turn& a, const turn& b) noexcept { return a.pass > b.pass; }
  std::vector<turn> turns_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<pick_policy> make_round_robin(std::uint64_t seed, std::uint32_t) {
  return std::make_unique<round_robin>(seed >> 1);
}
std::unique_ptr<pick_policy> make_least_request(std::uint64_t seed, std::uint32_t choices) {
  return std::make_unique<least_request>(seed, choices);
}
std::unique_ptr<pick_policy> make_weighted(std::uint64_t seed, std::uint32_t) {
  return std::make_unique<weighted>(seed);
}

}  // namespace coracle::client
