#include "coracle/client/retry_budget.hpp"

#include "coracle/base/usage_error.hpp"

#include <algorithm>
#include <cmath>

namespace coracle {

namespace {

constexpr std::uint64_t one_retry = 1'000'000;
constexpr std::uint32_t reserve_max = 1'000'000;

std::uint64_t checked_share(double share) {
  CORACLE_REQUIRE(share >= 0 && share <= 1, "the share of a retry_budget must be 0 to 1 retries per call");
  return static_cast<std::uint64_t>(std::llround(share * static_cast<double>(one_retry)));
}

std::uint64_t checked_reserve(std::uint32_t reserve) {
  CORACLE_REQUIRE(reserve <= reserve_max, "the reserve of a retry_budget must be at most 1,000,000 retries");
  return reserve * one_retry;
}

}  // namespace

retry_budget::retry_budget(double share, std::uint32_t reserve)
    : share_(checked_share(share)), full_(checked_reserve(reserve)), balance_(full_) {}

std::uint32_t retry_budget::available() const noexcept {
  return static_cast<std::uint32_t>(balance_.load(std::memory_order_relaxed) / one_retry);
}

void retry_budget::call_began() noexcept {
  std::uint64_t before = balance_.load(std::memory_order_relaxed);
  // The common case of servers that work: writes to no memory that other loops read.
  while (before < full_ && !balance_.compare_exchange_weak(before, std::min(before + share_, full_),
                                                           std::memory_order_relaxed)) {
  }
}

bool retry_budget::take() noexcept {
  std::uint64_t before = balance_.load(std::memory_order_relaxed);
  while (before >= one_retry)
    if (balance_.compare_exchange_weak(before, before - one_retry, std::memory_order_relaxed)) return true;
  return false;
}

}  // namespace coracle
