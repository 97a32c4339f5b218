#include "telemetry/metrics/exponential_histogram.hpp"

#include <algorithm>
#include <cmath>

namespace coracle::telemetry_internal {

namespace {

std::int32_t index_of(double value, std::int32_t scale) noexcept {
  // Above scale 0 by the logarithm, which may err by one bucket at a bound: the specification permits it.
  return static_cast<std::int32_t>(std::ceil(std::ldexp(std::log2(value), scale))) - 1;
}

}  // namespace

void exponential_histogram::add(double value, std::uint64_t times) {
  if (!(value > 0) || std::isinf(value)) {
    zeros_ += times;
    count_ += times;
    return;
  }
  add_at(index_of(value, scale_), times);
}

void exponential_histogram::add_at(std::int32_t index, std::uint64_t times) {
  count_ += times;
  if (counts_.empty()) offset_ = index;
  for (;;) {
    const std::int64_t low = std::min(offset_, index);
    const std::int64_t high =
        std::max(offset_ + static_cast<std::int64_t>(counts_.size()) - 1, std::int64_t{index});
    if (high - low < static_cast<std::int64_t>(buckets_max)) break;
    lower_scale(1);
    index >>= 1;
  }
  for (; index < offset_; --offset_) counts_.push_front(0);
  const auto at = static_cast<std::size_t>(index - offset_);
  if (at >= counts_.size()) counts_.resize(at + 1);
  counts_[at] += times;
}

void exponential_histogram::lower_scale(std::int32_t by) {
  if (by <= 0) return;
  const std::int32_t offset = offset_ >> by;
  std::deque<std::uint64_t> fewer;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const auto at = static_cast<std::size_t>(((offset_ + static_cast<std::int32_t>(i)) >> by) - offset);
    if (at >= fewer.size()) fewer.resize(at + 1);
    fewer[at] += counts_[i];
  }
  counts_ = std::move(fewer);
  offset_ = offset;
  scale_ -= by;
}

void exponential_histogram::add(const exponential_histogram& o) {
  zeros_ += o.zeros_;
  count_ += o.zeros_;
  if (o.counts_.empty()) return;
  lower_scale(scale_ - o.scale_);
  for (std::size_t i = 0; i < o.counts_.size(); ++i) {
    if (o.counts_[i] == 0) continue;
    // This scale may fall while buckets are added.
    const std::int32_t index = o.offset_ + static_cast<std::int32_t>(i);
    add_at(index >> (o.scale_ - scale_), o.counts_[i]);
  }
}

exponential_buckets exponential_histogram::data() const {
  exponential_buckets b;
  b.scale = scale_;
  b.offset = offset_;
  b.counts.assign(counts_.begin(), counts_.end());
  b.zeros = zeros_;
  return b;
}

}  // namespace coracle::telemetry_internal
