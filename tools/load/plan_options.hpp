// plan_options: the command line options of the scenario.
#pragma once

#include "tools/load/scenario.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace coracle::tools::load {

class plan_options {
 public:
  // This object must outlive the parsing.
  void add_to(CLI::App& command);
  // Call it after the parsing. Throws usage_failure.
  [[nodiscard]] scenario plan() const;

 private:
  void add_closed(CLI::App& command);
  void add_open(CLI::App& command);
  void add_users(CLI::App& command);
  void add_run(CLI::App& command);

  std::size_t loops_ = 1;
  std::optional<std::size_t> connections_, concurrency_;
  std::optional<std::uint64_t> count_, users_, calls_per_user_;
  std::string rate_, duration_, warm_up_, ramp_up_, connect_timeout_;
  std::vector<std::string> stages_;
};

}  // namespace coracle::tools::load
