// span_queue: finished spans of all loops that wait for their export.
#pragma once

#include "coracle/coro/event.hpp"
#include "coracle/telemetry/finished_span.hpp"
#include "coracle/telemetry/otlp.hpp"
#include "telemetry/otlp/export_counts.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace coracle::telemetry_internal {

// The loops give it batches, and the exporter takes them. A batch that does not fit is cut: what came first
// is kept. Any thread.
class span_queue final : public span_sink {
 public:
  span_queue(const otlp_batching& b, export_counts& counts) noexcept
      : queue_max_(b.queue_max), batch_max_(b.batch_max), counts_(counts) {}

  // span_sink
  void take(std::vector<finished_span>&& batch) noexcept override;
  [[nodiscard]] std::uint64_t dropped() const noexcept override { return counts_.lost(); }

  // Has `wake` set whenever a batch is complete, until close(); it must exist until then.
  void wake(event<>& wake) noexcept;
  // Returns the oldest spans, at most a batch.
  [[nodiscard]] std::vector<finished_span> next_batch();
  [[nodiscard]] bool has_batch() const noexcept;
  // Keeps nothing from now on: what is left, and what comes, is counted as lost for this reason.
  void close(loss why) noexcept;

 private:
  const std::size_t queue_max_;
  const std::size_t batch_max_;
  export_counts& counts_;
  mutable std::mutex mutex_;  // guards what follows
  std::deque<std::vector<finished_span>> batches_;
  std::size_t size_ = 0;  // spans
  event<>* wake_ = nullptr;
  std::optional<loss> closed_;
};

}  // namespace coracle::telemetry_internal
