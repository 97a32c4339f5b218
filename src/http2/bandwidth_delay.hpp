// bandwidth_delay: how large receive windows have to be for the peer never to wait for them (decision 0008).
#pragma once

#include "coracle/base/clock.hpp"

#include <algorithm>
#include <cstdint>

namespace coracle::http2 {

// Twice bandwidth times delay: credit comes back when half of a window is used up. The delay is the shortest time in
// which the peer answered a PING (or our SETTINGS): what stands in a queue before the answer must not count, or
// larger windows would make longer queues and these larger windows. The bandwidth is what came while we waited.
//
// A clock without a timer, like keepalive. It grows and never shrinks.
class bandwidth_delay {
 public:
  // Our SETTINGS leave now.
  explicit bandwidth_delay(time_point now) noexcept : began_(now) {}

  void received(std::uint32_t bytes) noexcept { bytes_ += std::min(bytes, ~bytes_); }
  // Half a window of so many bytes was used up: true when a PING is to ask how long it takes. No more than `most_bytes`
  // are ever wanted.
  [[nodiscard]] bool asks(time_point now, std::uint32_t window_bytes, std::uint32_t most_bytes) noexcept;
  // An answer came; false when none was due.
  bool answered(time_point now) noexcept;
  // What windows should have at least; 0 while they are large enough as they are.
  [[nodiscard]] std::uint32_t wanted_bytes() const noexcept { return wanted_bytes_; }

 private:
  enum class phase : std::uint8_t { resting, asking, counting };
  void measure(time_point now, std::uint32_t window_bytes, std::uint32_t most_bytes) noexcept;

  // Small types: each connection has one of these.
  time_point began_;
  std::uint32_t bytes_ = 0;  // since then
  std::uint32_t wanted_bytes_ = 0;
  std::uint32_t shortest_ns_ = ~std::uint32_t{0};
  std::uint16_t pause_ms_ = 0;  // between two questions that changed nothing
  phase phase_ = phase::asking;
};

}  // namespace coracle::http2
