// compare: compares the results of two runs that `coracle load --json` wrote.
#pragma once

#include "tools/load/run_pair.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools::load {

// A number of two runs. `unit` decides how it is printed: "ms", "/s", "%", "B" or "".
struct compared {
  std::string run, name, unit;
  double before = 0, after = 0;
  // The change in percent; for a share ("%"), the difference in percentage points.
  [[nodiscard]] double change() const noexcept;
};

// The numbers that both runs of each pair have.
[[nodiscard]] std::vector<compared> compare(const std::vector<run_pair>& pairs);

// A condition under which a comparison fails: "p99>+10%", "rate<-5%", "errors>+0.1%".
class change_limit {
 public:
  // Throws usage_failure, which says what is invalid.
  explicit change_limit(std::string_view text);
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  // The numbers to which it applies: those with its name, of all runs.
  [[nodiscard]] bool applies_to(const compared& one) const noexcept { return one.name == name_; }
  [[nodiscard]] bool broken_by(const compared& one) const noexcept;

 private:
  std::string text_, name_;
  bool above_ = true;
  double percent_ = 0;
};

// With the methods and the scenarios of the pairs.
[[nodiscard]] std::string table_of(const std::vector<compared>& all, const std::vector<run_pair>& pairs);
// A page with the table and the percentile curves of both results, in one file.
[[nodiscard]] std::string page_of(const std::vector<compared>& all, const nlohmann::ordered_json& before,
                                  const nlohmann::ordered_json& after,
                                  const std::vector<change_limit>& limits);

}  // namespace coracle::tools::load
