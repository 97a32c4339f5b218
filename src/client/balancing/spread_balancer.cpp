#include "client/balancing/spread_balancer.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace coracle::client {

spread_balancer::~spread_balancer() {
  for (const entry& e : servers_) host_.drop_subchannel(*e.at);
}

void spread_balancer::update(const std::vector<endpoint>& servers) {
  const auto by_address = [](std::vector<entry>& in, const endpoint& e) {
    return std::find_if(in.begin(), in.end(),
                        [&](const entry& x) { return x.at->where().address() == e.address(); });
  };
  // Every subchannel is in servers_ until it is dropped, even if an allocation fails in between.
  std::vector<entry> next;
  next.reserve(servers.size());
  servers_.reserve(servers_.size() + servers.size());
  for (const endpoint& e : servers) {
    if (e.weight() == 0 || by_address(next, e) != next.end()) continue;
    if (const auto old = by_address(servers_, e); old != servers_.end()) {
      old->at->set_where(e);
      next.push_back(*old);
    } else {
      next.push_back(servers_.emplace_back(entry{&host_.make_subchannel(e)}));
      subchannel& s = *next.back().at;
      if (host_.health_service()) s.watch_health(*host_.health_service());
      s.report_load_to(*this, policy_->wants_load_of_calls(), policy_->load_interval());
    }
  }
  servers_.swap(next);
  for (const entry& e : next)
    if (by_address(servers_, e.at->where()) == servers_.end()) host_.drop_subchannel(*e.at);
  for (const entry& e : servers_) e.at->connect();
  gather_ready();
  publish_state();
}

void spread_balancer::on_state(subchannel& s) {
  const auto e = std::find_if(servers_.begin(), servers_.end(), [&](const entry& x) { return x.at == &s; });
  if (e == servers_.end()) return;
  const bool was_ready = std::exchange(e->ready, s.state() == connectivity::ready);
  if (e->ready) e->failed = false;
  if (s.state() == connectivity::transient_failure) {
    e->failed = true;
    last_failure_ = s.failure();
  }
  if (was_ready != e->ready) gather_ready();
  if (was_ready && !e->ready) host_.resolve_again();
  if (e->failed && std::all_of(servers_.begin(), servers_.end(), [](const entry& x) { return x.failed; }))
    host_.resolve_again();
  s.connect();  // if it is IDLE
  publish_state();
}

void spread_balancer::gather_ready() {
  ready_.clear();
  for (entry& e : servers_) {
    e.ready = e.at->state() == connectivity::ready;
    if (e.ready) ready_.emplace_back(*e.at);
  }
  policy_->ready_changed(ready_);
}

void spread_balancer::publish_state() {
  if (!ready_.empty()) return host_.publish(connectivity::ready);
  if (servers_.empty())
    return host_.publish(connectivity::transient_failure,
                         status::unavailable("every server has weight 0 and accepts no calls"));
  const bool may_connect =
      std::any_of(servers_.begin(), servers_.end(), [](const entry& e) { return !e.failed; });
  if (may_connect) return host_.publish(connectivity::connecting);
  std::string text(last_failure_.message());
  if (servers_.size() > 1)
    text = "none of " + std::to_string(servers_.size()) + " servers can be reached; the last error: " + text;
  host_.publish(connectivity::transient_failure, status::unavailable(text));
}

pick spread_balancer::choose(const pick_info& call) {
  if (ready_.empty()) return {};
  const std::size_t chosen = policy_->pick(ready_, call);
  if (chosen == pick_policy::drop) return {nullptr, true};
  CORACLE_ASSERT(chosen < ready_.size(), "a pick_policy returned an index out of range of its servers");
  // Picks the first server with room from there on; if none has room, the chosen one, so that it may add a
  // connection.
  for (std::size_t i = 0; i < ready_.size(); ++i) {
    subchannel* s = ready_[(chosen + i) % ready_.size()].at_;
    if (s->can_open()) return {s, false};
  }
  return {ready_[chosen].at_, false};
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

std::unique_ptr<pick_policy> make_round_robin(std::uint64_t seed) {
  return std::make_unique<round_robin>(seed >> 1);
}
std::unique_ptr<pick_policy> make_least_request(std::uint64_t seed, std::uint32_t choices) {
  return std::make_unique<least_request>(seed, choices);
}
std::unique_ptr<pick_policy> make_weighted(std::uint64_t seed) { return std::make_unique<weighted>(seed); }

}  // namespace coracle::client
