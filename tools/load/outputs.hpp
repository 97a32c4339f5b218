// The forms in which results are given out.
#pragma once

#include "tools/load/origin.hpp"
#include "tools/load/results.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace coracle::tools::load {

// For people: a page of a terminal.
[[nodiscard]] std::string summary_of(const results& r);
// All that is known, for programs; what the report's charts are drawn from, too.
[[nodiscard]] nlohmann::ordered_json json_of(const std::vector<results>& runs, const origin& from);
// A row for each second of each run.
[[nodiscard]] std::string csv_of(const std::vector<results>& runs);
// One HTML page with its charts, which needs nothing but a browser.
[[nodiscard]] std::string report_of(const std::vector<results>& runs, const origin& from);

}  // namespace coracle::tools::load
