#include "telemetry/metrics/span_instruments.hpp"

#include <array>
#include <string_view>

namespace coracle::telemetry_internal {

namespace {

constexpr instrument span_counter(std::string_view name, std::string_view description) {
  return {.name = name,
          .description = description,
          .unit = "{span}",
          .kind = instrument_kind::counter,
          .labels = {},
          .optional_labels = {},
          .bounds = {}};
}

constexpr instrument ended_spans = span_counter("coracle.telemetry.spans", "Spans that have ended.");
constexpr instrument dropped_spans =
    span_counter("coracle.telemetry.spans_dropped",
                 "Spans that no sink got, because too many ended at once or there is no sink.");

constexpr std::array all_of_spans{&ended_spans, &dropped_spans};

}  // namespace

std::span<const instrument* const> span_instruments() noexcept { return all_of_spans; }

void report_spans(const span_buffer& of, metrics_sink& to) {
  to.measure(ended_spans, static_cast<double>(of.finished()), {});
  to.measure(dropped_spans, static_cast<double>(of.dropped()), {});
}

}  // namespace coracle::telemetry_internal
