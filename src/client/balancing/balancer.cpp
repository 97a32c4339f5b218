#include "client/balancing/balancer.hpp"

#include "client/balancing/pick_first.hpp"
#include "client/balancing/spread_balancer.hpp"
#include "client/call/call_attempt.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/client/balancing.hpp"
#include "runtime/backend.hpp"

#include <algorithm>

namespace coracle {

balancing balancing::least_request(std::uint32_t choices) {
  CORACLE_ASSERT(choices >= 2, "least_request requires at least two choices: with one it is a random policy");
  balancing b(kind::least_request);
  b.choices_ = std::min<std::uint32_t>(choices, 100);  // gRFC A48
  return b;
}

namespace client {

const endpoint& pick_candidate::where() const noexcept { return at_->where(); }
std::size_t pick_candidate::open_calls() const noexcept { return at_->open_calls(); }

std::string_view pick_info::path() const noexcept { return attempt_.terms().path; }
std::optional<std::string_view> pick_info::metadata(std::string_view key) const noexcept {
  return attempt_.terms().options.metadata.find(key);
}

namespace {

std::unique_ptr<pick_policy> make_policy(const balancing& policy, std::uint64_t seed) {
  switch (policy.type()) {
    case balancing::kind::least_request: return make_least_request(seed, policy.choices());
    case balancing::kind::weighted: return make_weighted(seed);
    case balancing::kind::custom: {
      std::unique_ptr<pick_policy> made = policy.maker()(seed);
      CORACLE_ASSERT(made, "the factory of balancing::by() returned no policy");
      return made;
    }
    default: return make_round_robin(seed);
  }
}

}  // namespace

std::unique_ptr<balancer> make_balancer(const balancing& policy, balancer_host& host) {
  switch (policy.type()) {
    case balancing::kind::pick_first: return std::make_unique<pick_first>(host, false);
    case balancing::kind::shuffled_pick_first: return std::make_unique<pick_first>(host, true);
    default:
      return std::make_unique<spread_balancer>(host, make_policy(policy, host.owner_loop().io().random()));
  }
}

}  // namespace client
}  // namespace coracle
