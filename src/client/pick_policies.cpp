#include "client/pick_policies.hpp"

#include <algorithm>
#include <vector>

namespace coracle::client {

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
  // xorshift64*: good enough to spread, cheap enough for every call.
  std::size_t draw(std::size_t n) noexcept {
    random_ ^= random_ >> 12;
    random_ ^= random_ << 25;
    random_ ^= random_ >> 27;
    return static_cast<std::size_t>((random_ * 0x2545F4914F6CDD1DULL >> 33) % n);
  }
  std::uint64_t random_;
  std::uint32_t choices_;
};

// Each server has a pass that grows by 1 / weight with each of its turns; the smallest pass is next.
class weighted final : public pick_policy {
 public:
  explicit weighted(std::uint64_t seed) noexcept : seed_(seed) {}

  void ready_changed(std::span<const pick_candidate> ready) override {
    turns_.clear();
    for (std::size_t i = 0; i < ready.size(); ++i) {
      const double stride = 1.0 / ready[i].where().weight();
      // Where in its stride it begins is drawn: else every client would begin with the heaviest.
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
