// program_policies: balancing policies of the program's that control planes choose by name (gRFC A52).
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/balancing.hpp"
#include "coracle/xds/xds.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::xds {

// Keeps what it has made while it is in use, so that a policy keeps its state over an update. On one loop.
class program_policies {
 public:
  explicit program_policies(balancing_makers makers) : makers_(std::move(makers)) {}

  // Nothing if there is no policy of that name. config: a JSON object.
  [[nodiscard]] std::optional<result<balancing>> find(std::string_view name, std::string_view config);
  // As custom_policies of resource/balancing_config.hpp.
  [[nodiscard]] std::optional<status> check(std::string_view name, std::string_view config);
  // Forgets what find() has not returned since the last time.
  void end_unused();

 private:
  struct made {
    balancing policy;
    bool used = true;
  };

  const balancing_makers makers_;
  std::map<std::pair<std::string, std::string>, made> made_;
};

}  // namespace coracle::xds
