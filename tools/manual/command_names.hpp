// command_names: lists the commands and options of a command line.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace coracle::tools {

// Without hidden commands.
[[nodiscard]] std::vector<std::string> commands_of(const CLI::App& app);
// The options with their dashes: "-p", "--plaintext".
[[nodiscard]] std::vector<std::string> flags_of(const CLI::App& app);

}  // namespace coracle::tools
