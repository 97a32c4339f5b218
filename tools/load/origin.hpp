// origin: how and where results were made, so that they can be compared and made again.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace coracle::tools::load {

struct origin {
  std::string command;  // as a shell takes it; of headers, which may hold tokens, the names alone
  std::string host;
  std::string system;  // "Linux 6.1.0-28-amd64 x86_64"
  unsigned cpus = 0;
};

// command: after parsing.
[[nodiscard]] origin origin_of(const CLI::App& command);

}  // namespace coracle::tools::load
