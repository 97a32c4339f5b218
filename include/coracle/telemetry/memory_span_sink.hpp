// memory_span_sink: keeps the spans of a program in memory, for tests.
#pragma once

#include "coracle/telemetry/finished_span.hpp"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace coracle {

/// Keeps finished spans until take_spans(). For tests, and for programs that show their latest traces.
class memory_span_sink final : public span_sink {
 public:
  /// Keeps at most `spans_max` spans, the first ones. Default: 10,000.
  explicit memory_span_sink(std::size_t spans_max = 10000) noexcept : spans_max_(spans_max) {}
  /// Returns the spans in the order in which they ended, as far as they come from one loop, and forgets them.
  /// To get what has ended so far, await telemetry::flush_spans() first.
  [[nodiscard]] std::vector<finished_span> take_spans();

  /// Keeps the spans that there is room for.
  void take(std::vector<finished_span>&& batch) noexcept override;
  /// Returns how many spans there was no room for.
  [[nodiscard]] std::uint64_t dropped() const noexcept override;

 private:
  const std::size_t spans_max_;
  mutable std::mutex mutex_;
  std::vector<finished_span> spans_;
  std::uint64_t dropped_ = 0;
};

}  // namespace coracle
