// colors: colours for the output that people read on a terminal.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace coracle::tools {

// The option --color of a command. "auto" means colours on a terminal, unless the environment variable
// NO_COLOR is set (https://no-color.org); CLICOLOR_FORCE means colours everywhere.
class color_option {
 public:
  void add_to(CLI::App& command);
  [[nodiscard]] bool use_for(std::FILE* output) const;

 private:
  std::string choice_ = "auto";
};

// Without the colours, these are the texts that they were given. Both must be valid text of their kind.
[[nodiscard]] std::string colored_json(std::string_view json);
[[nodiscard]] std::string colored_definitions(std::string_view proto);

}  // namespace coracle::tools
