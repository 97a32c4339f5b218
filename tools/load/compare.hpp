// compare: compares the results of two runs that `coracle load --json` wrote.
#pragma once

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

// The numbers that both have, for runs with the same name, or for the only run of each. Throws failure for
// text that is not such a result.
[[nodiscard]] std::vector<compared> compare(const nlohmann::ordered_json& before,
                                            const nlohmann::ordered_json& after);

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

[[nodiscard]] std::string table_of(const std::vector<compared>& all);
// How a number has changed: "+12.3 %".
[[nodiscard]] std::string change_text(const compared& one);
// A page with the table and the percentile curves of both results, in one file.
[[nodiscard]] std::string page_of(const std::vector<compared>& all, const nlohmann::ordered_json& before,
                                  const nlohmann::ordered_json& after,
                                  const std::vector<change_limit>& limits);

}  // namespace coracle::tools::load
