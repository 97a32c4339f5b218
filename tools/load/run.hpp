// run: runs a scenario on all loops.
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
  std::string name;  // the name of the results
  std::string target;  // where the connections lead
  std::string hint;  // what to try if the server cannot be reached
};

// Makes a connection and closes it. Throws failure if that fails. Call it on a thread that drives no loop.
[[nodiscard]] server_identity reach(runtime& on, connector& to, const subject& about, duration at_most);

// Runs the scenario. Call it on a thread that drives no loop; `on` has as many loops as the scenario
// requires. SIGINT and SIGTERM end the run early: the results are then those of the calls until then. Throws
// failure if a connection that the whole run would use cannot be made.
[[nodiscard]] results run(runtime& on, const scenario& plan, const method_mix& methods, connector& to,
                          const subject& about, const std::vector<duration>& bands,
                          progress& progress_printer);

}  // namespace coracle::tools::load
