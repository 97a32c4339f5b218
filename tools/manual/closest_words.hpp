// closest_words: finds the commands or options that a mistyped word may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

// Returns the candidates that begin with `typed`; if there are none, those with the smallest edit distance to
// it (insertions, deletions, substitutions, and swaps of neighbours), if that is at most a third of its
// length, rounded up. Empty if none is close.
[[nodiscard]] std::vector<std::string> closest_words(std::string_view typed,
                                                     const std::vector<std::string>& candidates);

// Returns "; did you mean 'call'?", "; did you mean 'repl' or 'replay'?", or ";" for no words.
[[nodiscard]] std::string suggestion(const std::vector<std::string>& words);

}  // namespace coracle::tools
