#include "tools/load/arrivals.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>

namespace coracle::tools::load {

namespace {

double seconds(duration d) noexcept { return std::chrono::duration<double>(d).count(); }

}  // namespace

arrivals::arrivals(const std::vector<stage>& stages) {
  double begins_s = 0;
  double calls = 0;
  for (const stage& s : stages) {
    const double length_s = seconds(s.length);
    pieces_.push_back({s.from_per_s, s.to_per_s, begins_s, length_s, calls});
    calls += (s.from_per_s + s.to_per_s) / 2 * length_s;
    begins_s += length_s;
  }
  // A sum of products that should be 1,000 may be slightly above it.
  planned_ = static_cast<std::uint64_t>(std::ceil(calls - 1e-6));
}

duration arrivals::length() const noexcept {
  if (pieces_.empty()) return {};
  const piece& last = pieces_.back();
  return std::chrono::duration_cast<duration>(std::chrono::duration<double>(last.begins_s + last.length_s));
}

std::uint64_t arrivals::before(duration t) const noexcept {
  std::uint64_t low = 0, high = planned_;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (at(middle) < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

duration arrivals::at(std::uint64_t n) const noexcept {
  const auto call_number = static_cast<double>(n);
  // Finds the last piece that begins after no more than n calls and has calls of its own.
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), call_number,
                                      [](double w, const piece& p) { return w < p.calls_before; });
  const piece& in = *std::prev(after);
  // The time t at which from * t + (to - from) / (2 * length) * t^2 is `more`, in a form that does not divide
  // by a slope of zero.
  const double more = call_number - in.calls_before;
  const double slope = in.length_s > 0 ? (in.to_per_s - in.from_per_s) / in.length_s : 0;
  const double root = std::sqrt(std::max(0.0, in.from_per_s * in.from_per_s + 2 * slope * more));
  const double t_s = more > 0 ? std::min(2 * more / (in.from_per_s + root), in.length_s) : 0;
  return std::chrono::duration_cast<duration>(std::chrono::duration<double>(in.begins_s + t_s));
}

}  // namespace coracle::tools::load
