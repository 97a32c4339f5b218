// run: carries a scenario out, on all loops.
#pragma once

#include "tools/load/connection.hpp"
#include "tools/load/method_mix.hpp"
#include "tools/load/progress.hpp"
#include "tools/load/results.hpp"
#include "tools/load/scenario.hpp"

#include <coracle/runtime/runtime.hpp>

#include <string>
#include <vector>

namespace coracle::tools::load {

struct subject {
  std::string name;    // what the results are called
  std::string target;  // where the connections lead
  std::string hint;    // what to try when the server cannot be reached
};

// On a plain thread: makes a connection, and closes it. Throws failure when that cannot be done.
[[nodiscard]] server_identity reach(runtime& on, connector& to, const subject& about, duration at_most);

// On a plain thread; `on` has as many loops as the scenario says. SIGINT and SIGTERM end it early: then the results are
// those of the calls until then. Throws failure when a connection cannot be made that the whole run would use.
[[nodiscard]] results run(runtime& on, const scenario& plan, const method_mix& methods, connector& to,
                          const subject& about, const std::vector<duration>& bands, progress& tell);

}  // namespace coracle::tools::load
