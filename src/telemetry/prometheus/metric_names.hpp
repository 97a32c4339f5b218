// metric_names: names of Prometheus for the instruments and labels of OpenTelemetry.
#pragma once

#include "coracle/base/metrics.hpp"
#include "telemetry/prometheus/exposition_format.hpp"

#include <string>
#include <string_view>

namespace coracle::telemetry_internal::prometheus {

// A metric in words of Prometheus: "grpc_server_call_duration_seconds" in "seconds".
struct metric_name {
  std::string family;  // without "_total", also of a counter
  std::string unit;  // the end of the name; empty if the name has none
};

// Other characters become '_', of which several in sequence are one. The unit is appended unless the name
// ends with it; units in braces, which only say what is counted, are not. "_total" is left off, for the
// formats differ in it.
[[nodiscard]] metric_name name_of_metric(std::string_view name, std::string_view unit, instrument_kind kind);

// Of a label. "le" on a histogram is the format's own: `of_histogram` makes another name of it.
[[nodiscard]] std::string name_of_label(std::string_view key, bool of_histogram);

// The name in the scheme that the scraper has asked for. The names above have only characters that all
// versions of Prometheus permit, so that dashboards keep their names whichever version scrapes: only `dots`
// changes them.
[[nodiscard]] std::string escaped(std::string_view name, name_escaping scheme);

}  // namespace coracle::telemetry_internal::prometheus
