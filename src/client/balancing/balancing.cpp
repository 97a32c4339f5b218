#include "coracle/client/balancing.hpp"

#include "client/balancing/outlier_detection.hpp"
#include "client/balancing/pick_first.hpp"
#include "client/balancing/policy_problems.hpp"
#include "client/balancing/random_subsetting.hpp"
#include "client/balancing/ring_hash.hpp"
#include "client/balancing/spread_balancer.hpp"
#include "client/call/call_attempt.hpp"
#include "coracle/base/impl/assert.hpp"

#include <algorithm>

namespace coracle {

namespace {

balancing spread(client::spread_config::which w) {
  return balancing(std::make_shared<const client::spread_config>(std::move(w)));
}

}  // namespace

balancing balancing::pick_first(bool shuffle) {
  // One for all: it is the default of options, which are made without exceptions.
  static const auto in_order = std::make_shared<const client::pick_first_config>(false);
  return balancing(shuffle ? std::make_shared<const client::pick_first_config>(true) : in_order);
}

balancing balancing::round_robin() { return spread(client::spread_config::simple{client::make_round_robin}); }

balancing balancing::round_robin(slow_start_options slow_start) {
  CORACLE_ASSERT(client::problem_of(slow_start).empty(), client::problem_of(slow_start).data());
  return spread(slow_start);
}

balancing balancing::least_request(std::uint32_t choices) {
  CORACLE_ASSERT(choices >= 2, "least_request requires at least two choices: with one it is a random policy");
  constexpr std::uint32_t choices_max = 10;  // gRFC A48
  return spread(client::spread_config::simple{client::make_least_request, std::min(choices, choices_max)});
}

balancing balancing::weighted() { return spread(client::spread_config::simple{client::make_weighted}); }

balancing balancing::weighted_round_robin(weighted_round_robin_options options) {
  CORACLE_ASSERT(client::problem_of(options).empty(), client::problem_of(options).data());
  return spread(std::move(options));
}

balancing balancing::ring_hash(ring_hash_options options) {
  CORACLE_ASSERT(client::problem_of(options).empty(), client::problem_of(options).data());
  return balancing(std::make_shared<const client::ring_hash_config>(std::move(options)));
}

balancing balancing::random_subsetting(std::uint32_t size, balancing child) {
  CORACLE_ASSERT(size >= 1, "random_subsetting requires a size of at least 1");
  return balancing(std::make_shared<const client::random_subsetting_config>(size, std::move(child)));
}

balancing balancing::outlier_detection(outlier_detection_options options, balancing child) {
  CORACLE_ASSERT(child.config().family() != "outlier_detection",
                 "outlier_detection stands below another one: merge them");
  CORACLE_ASSERT(client::problem_of(options).empty(), client::problem_of(options).data());
  return balancing(std::make_shared<const client::outlier_detection_config>(options, std::move(child)));
}

balancing balancing::by(client::pick_policy_maker make) {
  return spread(std::make_shared<const client::pick_policy_maker>(std::move(make)));
}

bool operator==(const balancing& a, const balancing& b) noexcept {
  return a.config_ == b.config_ ||
         (a.config_->family() == b.config_->family() && a.config_->equals(*b.config_));
}

namespace client {

const endpoint& pick_candidate::where() const noexcept { return at_->where(); }
std::size_t pick_candidate::open_calls() const noexcept { return at_->open_calls(); }

std::string_view pick_info::path() const noexcept { return attempt_.terms().path; }
std::optional<std::string_view> pick_info::metadata(std::string_view key) const noexcept {
  return attempt_.terms().options.metadata.find(key);
}

}  // namespace client
}  // namespace coracle
