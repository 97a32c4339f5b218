// span_instruments: counts the spans of a loop.
#pragma once

#include "coracle/base/metrics.hpp"
#include "telemetry/traces/span_buffer.hpp"

#include <span>

namespace coracle::telemetry_internal {

[[nodiscard]] std::span<const instrument* const> span_instruments() noexcept;

void report_spans(const span_buffer& of, metrics_sink& to);

}  // namespace coracle::telemetry_internal
