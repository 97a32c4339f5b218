// unknown_word: the error message for a command or an option that does not exist.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace coracle::tools {

// For a command line that could not be parsed: the message about its first word that no command takes. Empty when there
// is no such word, so that something else is wrong.
[[nodiscard]] std::string unknown_word(const CLI::App& parsed);

// `word` stands where the name of a command of `of` is expected.
[[nodiscard]] std::string unknown_command(const CLI::App& of, const std::string& word);

}  // namespace coracle::tools
