// outputs: the formats of results.
#pragma once

#include "tools/load/origin.hpp"
#include "tools/load/results.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace coracle::tools::load {

// A summary for a terminal.
[[nodiscard]] std::string summary_of(const results& r);
// All results, for programs; the charts of the report use it, too.
[[nodiscard]] nlohmann::ordered_json json_of(const std::vector<results>& runs, const origin& from);
// One row for each second of each run.
[[nodiscard]] std::string csv_of(const std::vector<results>& runs);
// A self-contained HTML page with charts.
[[nodiscard]] std::string report_of(const std::vector<results>& runs, const origin& from);

}  // namespace coracle::tools::load
