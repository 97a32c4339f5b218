// examples: what people do with each command, for the manual pages.
#pragma once

#include <span>
#include <string_view>

namespace coracle::tools {

struct example {
  const char* purpose;
  const char* line;
};

// Of a command by name, such as "load compare"; those of the whole program for "". The tests run the lines
// against the movie service on port 50051.
[[nodiscard]] std::span<const example> examples_of(std::string_view command);

}  // namespace coracle::tools
