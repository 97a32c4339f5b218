// metrics_snapshot: what the instruments of a runtime have measured so far.
#pragma once

#include "coracle/base/metrics.hpp"
#include "coracle/rpc/trace_context.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {

/// One measurement that is kept as an example, with the trace of the call that made it.
struct metric_exemplar {
  double value = 0;                               ///< what was measured
  std::chrono::system_clock::time_point time{};   ///< when
  trace_context::trace_id trace{};                ///< the trace of the call
  trace_context::span_id span{};                  ///< its span
};

/// The buckets of an exponential histogram on one side of zero (OpenTelemetry, base 2).
struct exponential_buckets {
  std::int32_t scale = 0;  ///< bucket i holds the values in (base^i, base^(i+1)], base = 2^(2^-scale)
  std::int32_t offset = 0;  ///< the index of the first bucket
  std::vector<std::uint64_t> counts;  ///< of the buckets from `offset` on
  std::uint64_t zeros = 0;  ///< values that are zero
};

/// What a histogram has counted.
struct histogram_data {
  std::uint64_t count = 0;  ///< the number of values
  double sum = 0;  ///< of the values
  std::vector<std::uint64_t> buckets;  ///< one for each bound, and one above the last; not cumulative
  std::optional<exponential_buckets>
      exponential;  ///< in place of `buckets`, if telemetry_options asks for it
};

/// One time series: the values of the labels and what was measured with them.
class metric_point {
 public:
  /// Zero, without labels.
  metric_point() = default;
  std::vector<std::pair<std::string, std::string>> labels;  ///< keys and values; unique among the points
  std::chrono::system_clock::time_point start{};  ///< since when a sum or a histogram counts
  double value = 0;  ///< of everything but histograms
  std::optional<histogram_data> histogram;  ///< of a histogram
  std::vector<metric_exemplar> exemplars;  ///< at most one for each bucket; in the order of their buckets
};
static_assert(!std::is_aggregate_v<metric_point>, "GCC 12 destroys aggregates in co_await expressions twice");

/// What one instrument has measured.
class metric_family {
 public:
  /// No instrument.
  metric_family() = default;
  std::string name;  ///< see instrument::name
  std::string description;  ///< see instrument::description
  std::string unit;  ///< see instrument::unit
  instrument_kind kind = instrument_kind::counter;  ///< see instrument::kind
  bool observed = false;  ///< whether it was read for the snapshot (metrics_source), instead of measured
  std::vector<double> bounds;  ///< see instrument::bounds
  std::vector<metric_point> points;  ///< ordered by their labels
};
static_assert(!std::is_aggregate_v<metric_family>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// What the instruments of a runtime have measured so far, summed over its loops; see telemetry::metrics(). A
/// value type, which any thread may use.
class metrics_snapshot {
 public:
  /// Nothing.
  metrics_snapshot() = default;
  std::chrono::system_clock::time_point time{};  ///< when it was taken
  std::vector<metric_family> families;  ///< one for each instrument that measured; ordered by name
  /// Returns the family with this name; null if there is none. Valid as long as `families` is not changed.
  [[nodiscard]] const metric_family* find(std::string_view name) const noexcept;
};
static_assert(!std::is_aggregate_v<metrics_snapshot>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
