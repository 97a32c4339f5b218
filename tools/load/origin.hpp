// origin: how and where results were produced, so that they can be compared and reproduced.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace coracle::tools::load {

struct origin {
  std::string command;  // in shell syntax; of headers, which may contain tokens, only the names
  std::string host;
  std::string system;  // "Linux 6.1.0-28-amd64 x86_64"
  unsigned cpus = 0;
};

// `command` must have been parsed.
[[nodiscard]] origin origin_of(const CLI::App& command);

}  // namespace coracle::tools::load
