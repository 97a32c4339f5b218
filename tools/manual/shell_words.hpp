// shell_words: splits a command line that is being typed, as a shell does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

// Knows both kinds of quotes and backslashes; expands nothing. Returns the words of the last command of a
// pipeline or list. The last word is the one at the end of the line: it may be unfinished, and is empty after
// a space.
[[nodiscard]] std::vector<std::string> shell_words(std::string_view line);

}  // namespace coracle::tools
