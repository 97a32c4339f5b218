#include "http2/bandwidth_delay.hpp"

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

std::uint32_t at_most(std::uint32_t most, double value) noexcept {
  return value < most ? static_cast<std::uint32_t>(value) : most;
}

}  // namespace

bool bandwidth_delay::asks(time_point now, std::uint32_t window_bytes, std::uint32_t most_bytes) noexcept {
  measure(now, window_bytes, most_bytes);
  if (phase_ != phase::resting || window_bytes >= most_bytes || now - began_ < milliseconds(pause_ms_))
    return false;
  phase_ = phase::asking;
  began_ = now;
  bytes_ = 0;
  return true;
}

bool bandwidth_delay::answered(time_point now) noexcept {
  if (phase_ != phase::asking) return false;
  phase_ = phase::counting;
  shortest_ns_ = at_most(shortest_ns_, static_cast<double>((now - began_).count()));
  return true;
}

// Measures from one half of a window to another, not to the PING's answer: data that arrives in bursts, as
// from a peer that waits for windows, is then measured over as many bursts as occurred.
void bandwidth_delay::measure(time_point now, std::uint32_t window_bytes, std::uint32_t most_bytes) noexcept {
  const duration took = now - began_;
  if (phase_ != phase::counting || took < counting_time) return;
  phase_ = phase::resting;
  const double delays = shortest_ns_ / static_cast<double>(took.count());
  const std::uint32_t wanted = shortest_ns_ < line_ns_min ? 0 : at_most(most_bytes, 2 * delays * bytes_);
  wanted_bytes_ = std::max(wanted_bytes_, wanted > window_bytes ? wanted : 0);
  // Changes of a few percent are noise.
  const bool grows = wanted > window_bytes + window_bytes / 8;
  pause_ms_ = grows ? 0 : std::clamp<std::uint16_t>(2 * pause_ms_, pause_ms_min, pause_ms_max);
}

}  // namespace coracle::http2
