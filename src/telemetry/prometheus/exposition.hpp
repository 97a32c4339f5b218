// exposition: metrics in the text formats of Prometheus.
#pragma once

#include "coracle/telemetry/metrics_snapshot.hpp"
#include "telemetry/prometheus/exposition_format.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal::prometheus {

// The maximum size of an exposition, whatever its labels: about twice that of a million series.
inline constexpr std::size_t text_bytes_max = std::size_t{256} << 20;

struct exposition_options {
  exposition_format format;
  std::vector<std::pair<std::string, std::string>> resource;  // reported as target_info
  std::size_t series_max = 0;
};

struct exposition {
  std::string text;
  std::size_t series = 0;  // lines with a value
  bool too_large = false;  // over a limit: `text` is not complete
  // Names of instruments that are not in the text, whole or in part: another one has their name or their
  // labels, or a counter is negative. One such family would make a scraper reject the others, too.
  std::vector<std::string> left_out;
};

// Takes milliseconds: not for a loop. Throws std::bad_alloc.
[[nodiscard]] exposition expose(const metrics_snapshot& metrics, const exposition_options& options);

}  // namespace coracle::telemetry_internal::prometheus
