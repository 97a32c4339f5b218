// run_pair: two runs of `coracle load --json` that are compared, and whether they made the same calls.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace coracle::tools::load {

struct run_pair {
  std::string name;
  // Of the results, which must outlive this object.
  const nlohmann::ordered_json* before;
  const nlohmann::ordered_json* after;

  // In what the loads differ, such as "methods" or "scenario": their numbers then say little about each
  // other.
  [[nodiscard]] std::vector<std::string> differences() const;
  // The methods and the scenario, on one line, or on two if they differ.
  [[nodiscard]] std::string description() const;
};

// Throws failure, which names the file, for what `coracle load --json` did not write.
void check_result(const nlohmann::ordered_json& result, const std::string& path);

// The runs with the same name, or the only run of each. Throws failure if there are none.
[[nodiscard]] std::vector<run_pair> pairs_of(const nlohmann::ordered_json& before,
                                             const nlohmann::ordered_json& after);

}  // namespace coracle::tools::load
