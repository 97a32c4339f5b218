// selection: which instruments and which optional labels are reported.
#pragma once

#include "coracle/base/metrics.hpp"
#include "coracle/telemetry/telemetry.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace coracle::telemetry_internal {

// Does not change while loops measure.
class selection {
 public:
  explicit selection(const telemetry_options& o)
      : enabled_(o.enabled), disabled_(o.disabled), optional_(o.optional_labels) {}

  [[nodiscard]] bool reports(const instrument& i) const noexcept {
    if (names(disabled_, i.name)) return false;
    return i.on_by_default || names(enabled_, i.name);
  }
  [[nodiscard]] bool reports_label(std::string_view key) const noexcept {
    for (const std::string& k : optional_)
      if (k == key) return true;
    return false;
  }

 private:
  // An entry that ends with ".*" stands for all names that begin with what precedes the star.
  static bool names(const std::vector<std::string>& list, std::string_view name) noexcept {
    for (const std::string_view entry : list) {
      if (entry == name) return true;
      if (entry.ends_with(".*") && name.starts_with(entry.substr(0, entry.size() - 1))) return true;
    }
    return false;
  }

  std::vector<std::string> enabled_;
  std::vector<std::string> disabled_;
  std::vector<std::string> optional_;
};

}  // namespace coracle::telemetry_internal
