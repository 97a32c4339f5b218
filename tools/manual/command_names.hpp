// command_names: what a command line's own description calls its commands and options.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace coracle::tools {

[[nodiscard]] std::vector<std::string> commands_of(const CLI::App& app);
// With their dashes: "-p", "--plaintext".
[[nodiscard]] std::vector<std::string> flags_of(const CLI::App& app);

}  // namespace coracle::tools
