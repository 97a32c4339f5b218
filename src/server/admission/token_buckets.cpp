#include "server/admission/token_buckets.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace coracle::server_internal {

namespace {

std::int64_t ns_of(time_point t) noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

duration positive(std::int64_t wait_ns) noexcept {
  return wait_ns > 0 ? duration(std::chrono::nanoseconds(wait_ns)) : duration::zero();
}

// A hundred years, so that sums cannot overflow.
constexpr double depth_ns_max = 3e18;

}  // namespace

// Rounded up: never more calls than the rate permits.
token_bucket_rule::token_bucket_rule(double per_second, double burst) noexcept
    : interval_ns_(static_cast<std::int64_t>(std::ceil(1e9 / per_second))),
      depth_ns_(static_cast<std::int64_t>(
          std::min((std::max(burst, 1.0) - 1) * static_cast<double>(interval_ns_), depth_ns_max))) {}

duration shared_token_bucket::wait(time_point now) const noexcept {
  return positive(rule_.wait_ns(full_at_.load(std::memory_order_relaxed), ns_of(now)));
}

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

token_buckets::bucket& token_buckets::bucket_for(std::uint64_t key) noexcept {
  bucket* const first = &buckets_[key % sets * set_size];
  bucket* fullest = first;
  for (bucket* b = first; b != first + set_size; ++b) {
    if (b->key == key) return *b;
    if (b->full_at < fullest->full_at) fullest = b;
  }
  return *fullest;
}

duration token_buckets::wait(std::uint64_t key, time_point now) noexcept {
  const std::lock_guard held(lock_of(key));
  return positive(rule_.wait_ns(bucket_for(key).full_at, ns_of(now)));
}

duration token_buckets::take(std::uint64_t key, time_point at) noexcept {
  const std::int64_t now = ns_of(at);
  const std::lock_guard held(lock_of(key));
  bucket& b = bucket_for(key);
  const std::int64_t wait = rule_.wait_ns(b.full_at, now);
  if (wait > 0) return std::chrono::nanoseconds(wait);
  b = {key, rule_.after_take(b.full_at, now)};
  return duration::zero();
}

}  // namespace coracle::server_internal
