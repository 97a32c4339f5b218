// unknown_word: the error message for a command or an option that does not exist.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace coracle::tools {

// For a command line that could not be parsed: the message about its first word that no command accepts.
// Empty if there is no such word, so that the error is a different one.
[[nodiscard]] std::string unknown_word(const CLI::App& parsed);

// The message for `word` in the place of a command name of `of`.
[[nodiscard]] std::string unknown_command(const CLI::App& of, const std::string& word);

}  // namespace coracle::tools
