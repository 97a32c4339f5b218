#include "tools/diagnostics.hpp"

#include "tools/colors.hpp"
#include "tools/terminal_text.hpp"

#include <cstdio>

namespace coracle::tools {

namespace {

// Of the terminal's own palette, so that they fit its background.
constexpr std::string_view red = "\x1b[1;31m", bright_yellow = "\x1b[1;33m", uncolored = "\x1b[0m";

std::string colored_label(std::string_view color, std::string_view text) {
  std::string all;
  if (!color_option().use_for(stderr)) return all.append(text);
  return all.append(color).append(text).append(uncolored);
}

std::string labelled_lines(const std::string& begin, std::string_view text, std::string_view hint) {
  std::string all = begin + " " + terminal_text(text) + "\n";
  if (!hint.empty()) all += "  " + colored_label(bright_yellow, "hint:") + " " + terminal_text(hint) + "\n";
  return all;
}

// In one call, so that lines of several threads do not mix.
void write_stderr(const std::string& all) { std::fwrite(all.data(), 1, all.size(), stderr); }

}  // namespace

std::string error_lines(std::string_view text, std::string_view hint) {
  return labelled_lines("coracle: " + colored_label(red, "error:"), text, hint);
}

void print_error(std::string_view text, std::string_view hint) { write_stderr(error_lines(text, hint)); }

void print_warning(std::string_view text, std::string_view hint) {
  write_stderr(labelled_lines("coracle: " + colored_label(bright_yellow, "warning:"), text, hint));
}

void print_prompt_error(std::string_view text, std::string_view hint) {
  write_stderr(labelled_lines(colored_label(red, "error:"), text, hint));
}

}  // namespace coracle::tools
