// diagnostics: errors, warnings and hints, for people who read stderr.
#pragma once

#include <string>
#include <string_view>

namespace coracle::tools {

// Each prints whole lines, which begin with "coracle: error:" or "coracle: warning:", and makes the text safe
// for a terminal. A hint stands on a line of its own. On a terminal, "error:" is red, and "warning:" and
// "hint:" are yellow; NO_COLOR and a redirected stderr switch that off. May be called from any thread.
void print_error(std::string_view text, std::string_view hint = {});
void print_warning(std::string_view text, std::string_view hint = {});

// The same labels, for errors at a prompt: "error: TEXT".
void print_prompt_error(std::string_view text, std::string_view hint = {});

// Returns "coracle: error: TEXT" and a line end, as print_error() prints it.
[[nodiscard]] std::string error_lines(std::string_view text, std::string_view hint = {});

}  // namespace coracle::tools
