// live_options: the options of a server that may change while it serves, with what is made of them.
#pragma once

#include "coracle/server/admission_options.hpp"
#include "coracle/server/rate_limit.hpp"
#include "coracle/server/server_limits.hpp"
#include "coracle/server/server_options.hpp"
#include "server/admission/rate_limits.hpp"
#include "transport/connection_options.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace coracle::server_internal {

// What server::reload() changes.
struct reloadable_options {
  explicit reloadable_options(const server_options& o)
      : limits(o.limits), admission(o.admission), rate_limits(o.rate_limits) {}

  server_limits limits;
  std::optional<admission_options> admission;
  std::vector<rate_limit> rate_limits;
};

// The loops of a server share one until they get the next.
struct live_options {
  // rates: null if there are none. `fixed`: whose other options do not change.
  live_options(const reloadable_options& o, const server_options& fixed, std::shared_ptr<rate_limits> rates);

  const server_limits limits;
  const std::optional<admission_options> admission;
  const transport::connection_options rules;
  const transport::http1_options http1;
  const std::shared_ptr<rate_limits> rates;
};

}  // namespace coracle::server_internal
