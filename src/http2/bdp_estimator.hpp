// bdp_estimator: estimates how large windows must be for the peer not to wait for credit (decision 0008).
#pragma once

#include "coracle/base/clock.hpp"

#include <algorithm>
#include <cstdint>

namespace coracle::http2 {

// Estimates twice the product of bandwidth and delay, because credit is returned when half of a window has
// been consumed. The delay is the shortest time in which the peer answered a PING (or our SETTINGS): if the
// time in a queue before the answer counted, larger windows would make longer queues, and longer queues
// larger windows. The bandwidth is what arrived during the measurement.
//
// Like keepalive it uses no timer of its own: the caller passes the time. The estimate grows and never
// shrinks.
class bdp_estimator {
 public:
  // Construct it when our SETTINGS are sent; their acknowledgement is the first measurement.
  explicit bdp_estimator(time_point now) noexcept : began_(now) {}

  void received(std::uint32_t bytes) noexcept { bytes_ += std::min(bytes, ~bytes_); }
  // Call when half of a window of `window_bytes` has been consumed. Returns true if a PING should be sent to
  // measure the delay. The estimate never exceeds `max_bytes`.
  [[nodiscard]] bool should_probe(time_point now, std::uint32_t window_bytes,
                                  std::uint32_t max_bytes) noexcept;
  // Call when an answer arrives. Returns false if none was expected.
  bool answered(time_point now) noexcept;
  // The minimum size that windows should have; 0 while their present size is sufficient.
  [[nodiscard]] std::uint32_t window_target_bytes() const noexcept { return window_target_bytes_; }

 private:
  enum class phase : std::uint8_t { idle, probing, measuring };
  void measure(time_point now, std::uint32_t window_bytes, std::uint32_t max_bytes) noexcept;

  // Small types, because every connection has one of these.
  time_point began_;
  std::uint32_t bytes_ = 0;  // received since began_
  std::uint32_t window_target_bytes_ = 0;
  std::uint32_t shortest_ns_ = ~std::uint32_t{0};
  std::uint16_t pause_ms_ = 0;  // between two measurements that changed nothing
  phase phase_ = phase::probing;
};

}  // namespace coracle::http2
