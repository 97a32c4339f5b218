// sample_text: values, labels and exemplars as the text formats of Prometheus write them.
#pragma once

#include "coracle/telemetry/metrics_snapshot.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal::prometheus {

void append_count(std::string& to, std::uint64_t value);
// The shortest text that is read as this value; "NaN", "+Inf", "-Inf".
void append_value(std::string& to, double value);
// The bound of a bucket as Go writes it, by which time series are recognised: "0.0001", "1e-05",
// "1.048576e+06". In OpenMetrics a whole number has ".0".
void append_bound(std::string& to, double value, bool openmetrics);
void append_help(std::string& to, std::string_view text, bool openmetrics);
// What is not UTF-8 becomes U+FFFD: one such byte would make a scraper reject everything.
void append_label_value(std::string& to, std::string_view value);
// " # {trace_id="...",span_id="..."} value time": 79 characters of labels, of 128 that are permitted.
void append_exemplar(std::string& to, const metric_exemplar& e);

}  // namespace coracle::telemetry_internal::prometheus
