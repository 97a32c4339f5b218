// closest_words: what a mistyped command or option may have meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

// The candidates that begin with `typed`, else those with the smallest edit distance to it (insertions, deletions,
// substitutions, and swaps of neighbours), if that is at most a third of its length, rounded up. Empty when none is close.
[[nodiscard]] std::vector<std::string> closest_words(std::string_view typed,
                                                     const std::vector<std::string>& candidates);

// "; did you mean 'call'?", "; did you mean 'repl' or 'replay'?"; ";" for none.
[[nodiscard]] std::string suggestion(const std::vector<std::string>& words);

}  // namespace coracle::tools
