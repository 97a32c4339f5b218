// span_queue: finished spans that wait for their export.
#pragma once

#include "coracle/telemetry/finished_span.hpp"
#include "telemetry/otlp/export_queue.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal {

// The loops give it batches, and the exporter takes them. Any thread.
class span_queue final : public span_sink, public export_queue<finished_span> {
 public:
  using export_queue::export_queue;

  // span_sink
  void take(std::vector<finished_span>&& batch) noexcept override { export_queue::take(std::move(batch)); }
  [[nodiscard]] std::uint64_t dropped() const noexcept override { return lost(); }
};

}  // namespace coracle::telemetry_internal
