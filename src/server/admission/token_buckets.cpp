#include "server/admission/token_buckets.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace coracle::server_internal {

namespace {

std::int64_t ns_of(time_point t) noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

// A hundred years, so that sums cannot overflow.
constexpr double depth_ns_max = 3e18;

}  // namespace

// Rounded up: never more calls than the rate permits.
token_bucket_rule::token_bucket_rule(double per_second, double burst) noexcept
    : interval_ns_(static_cast<std::int64_t>(std::ceil(1e9 / per_second))),
      depth_ns_(static_cast<std::int64_t>(
          std::min((std::max(burst, 1.0) - 1) * static_cast<double>(interval_ns_), depth_ns_max))) {}

duration shared_token_bucket::take(time_point at) noexcept {
  const std::int64_t now = ns_of(at);
  std::int64_t full_at = full_at_.load(std::memory_order_relaxed);
  do {
    const std::int64_t wait = rule_.wait_ns(full_at, now);
    if (wait > 0) return std::chrono::nanoseconds(wait);
  } while (
      !full_at_.compare_exchange_weak(full_at, rule_.after_take(full_at, now), std::memory_order_relaxed));
  return duration::zero();
}

token_buckets::token_buckets(const token_bucket_rule& r) : rule_(r), buckets_(buckets_max) {}

duration token_buckets::take(std::uint64_t key, time_point at) noexcept {
  const std::int64_t now = ns_of(at);
  const std::size_t set = key % sets;
  const std::lock_guard held(of_sets_[set % of_sets_.size()]);
  bucket* const first = &buckets_[set * set_size];
  bucket* found = first;
  for (bucket* b = first; b != first + set_size; ++b) {
    if (b->key == key) {
      found = b;
      break;
    }
    if (b->full_at < found->full_at) found = b;
  }
  const std::int64_t wait = rule_.wait_ns(found->full_at, now);
  if (wait > 0) return std::chrono::nanoseconds(wait);
  *found = {key, rule_.after_take(found->full_at, now)};
  return duration::zero();
}

}  // namespace coracle::server_internal
