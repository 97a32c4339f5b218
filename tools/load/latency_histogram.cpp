#include "tools/load/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace coracle::tools::load {

namespace {

constexpr unsigned digits = 6;
constexpr std::size_t per_power = std::size_t{1} << digits;

std::size_t place_of(std::uint64_t ns) noexcept {
  if (ns < per_power) return ns;
  const auto shift = static_cast<unsigned>(std::bit_width(ns)) - 1 - digits;
  return shift * per_power + (ns >> shift);
}

std::uint64_t upper_ns(std::size_t place) noexcept {
  if (place < 2 * per_power) return place;
  const std::size_t shift = place / per_power - 1;
  return ((place - shift * per_power + 1) << shift) - 1;
}

}  // namespace

void latency_histogram::reach(std::size_t lowest, std::size_t highest) {
  if (counts_.empty()) {
    first_ = lowest;
    counts_.resize(highest - lowest + 1);
    return;
  }
  if (lowest < first_) {
    counts_.insert(counts_.begin(), first_ - lowest, 0);
    first_ = lowest;
  }
  if (highest >= first_ + counts_.size()) counts_.resize(highest - first_ + 1);
}

void latency_histogram::add(duration d) {
  const std::int64_t ns = std::max<std::int64_t>(d.count(), 0);
  const std::size_t at = place_of(static_cast<std::uint64_t>(ns));
  if (at - first_ >= counts_.size()) reach(at, at);  // covers values below first_, too: the difference wraps
  ++counts_[at - first_];
  min_ns_ = count_ == 0 ? ns : std::min(min_ns_, ns);
  max_ns_ = std::max(max_ns_, ns);
  sum_ns_ += static_cast<double>(ns);
  ++count_;
}

void latency_histogram::add_all(const latency_histogram& other) {
  if (other.count_ == 0) return;
  reach(other.first_, other.first_ + other.counts_.size() - 1);
  for (std::size_t i = 0; i < other.counts_.size(); ++i)
    counts_[other.first_ + i - first_] += other.counts_[i];
  min_ns_ = count_ == 0 ? other.min_ns_ : std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
  sum_ns_ += other.sum_ns_;
  count_ += other.count_;
}

duration latency_histogram::mean() const noexcept {
  return duration(count_ == 0 ? 0 : std::llround(sum_ns_ / static_cast<double>(count_)));
}

duration latency_histogram::quantile(double q) const noexcept {
  if (count_ == 0) return {};
  if (q <= 0) return min();
  // The smallest rank that makes up the share. Rounding must not make 10 of 0.9 * 10.
  const double share = q * static_cast<double>(count_);
  const auto rank = static_cast<std::uint64_t>(std::max(1.0, std::ceil(share - 1e-9 * share)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank)
      return duration(std::clamp(static_cast<std::int64_t>(upper_ns(first_ + i)), min_ns_, max_ns_));
  }
  return max();
}

std::vector<latency_histogram::place> latency_histogram::places() const {
  std::vector<place> found;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (counts_[i] != 0)
      found.push_back({duration(static_cast<std::int64_t>(upper_ns(first_ + i))), counts_[i]});
  return found;
}

}  // namespace coracle::tools::load
