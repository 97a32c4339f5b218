#include "http2/bdp_estimator.hpp"

#include <algorithm>
#include <chrono>

namespace coracle::http2 {

namespace {

using std::chrono::milliseconds;

// Measured over less time, a read of data that has queued up would look like a high bandwidth.
constexpr duration counting_time = milliseconds(1);
// A shorter round trip consists of wake-ups and loop iterations, not of a network: larger windows would only
// make longer queues. With it the default window permits 12 Gbit/s.
constexpr std::uint32_t line_ns_min = 250'000;
// Measurements follow each other while they change something; otherwise they become rare.
constexpr std::uint16_t pause_ms_min = 10;
constexpr std::uint16_t pause_ms_max = 10'000;

std::uint32_t at_most(std::uint32_t max_value, double value) noexcept {
  return value < max_value ? static_cast<std::uint32_t>(value) : max_value;
}

}  // namespace

bool bdp_estimator::should_probe(time_point now, std::uint32_t window_bytes,
                                 std::uint32_t max_bytes) noexcept {
  measure(now, window_bytes, max_bytes);
  if (phase_ != phase::idle || window_bytes >= max_bytes || now - began_ < milliseconds(pause_ms_))
    return false;
  phase_ = phase::probing;
  began_ = now;
  bytes_ = 0;
  return true;
}

bool bdp_estimator::answered(time_point now) noexcept {
  if (phase_ != phase::probing) return false;
  phase_ = phase::measuring;
  shortest_ns_ = at_most(shortest_ns_, static_cast<double>((now - began_).count()));
  return true;
}

// Measures from one half of a window to another, not to the PING's answer: data that arrives in bursts, as
// from a peer that waits for windows, is then measured over as many bursts as occurred.
void bdp_estimator::measure(time_point now, std::uint32_t window_bytes, std::uint32_t max_bytes) noexcept {
  const duration took = now - began_;
  if (phase_ != phase::measuring || took < counting_time) return;
  phase_ = phase::idle;
  const double delays = shortest_ns_ / static_cast<double>(took.count());
  const std::uint32_t target = shortest_ns_ < line_ns_min ? 0 : at_most(max_bytes, 2 * delays * bytes_);
  window_target_bytes_ = std::max(window_target_bytes_, target > window_bytes ? target : 0);
  // Changes of a few percent are noise.
  const bool grows = target > window_bytes + window_bytes / 8;
  pause_ms_ = grows ? 0 : std::clamp<std::uint16_t>(2 * pause_ms_, pause_ms_min, pause_ms_max);
}

}  // namespace coracle::http2
