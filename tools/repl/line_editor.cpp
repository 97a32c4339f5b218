#include "tools/repl/line_editor.hpp"

#include <editline/readline.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>

namespace coracle::tools {

namespace {

constexpr int remembered_lines = 1000;

line_editor* current = nullptr;  // libedit's functions know no user's data
std::vector<std::string> matches;

// Empty where there is no place to keep it.
std::string history_file() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  const char* const home = std::getenv("HOME");
  std::filesystem::path folder;
  if (state && *state) folder = state;
  else if (home && *home) folder = std::filesystem::path(home) / ".local/state";
  else return {};
  folder /= "coracle";
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  return failed ? std::string() : (folder / "repl_history").string();
}

char* next_match(const char* /*word*/, int state) {
  const auto i = static_cast<std::size_t>(state);
  return i < matches.size() ? ::strdup(matches[i].c_str()) : nullptr;
}

char** complete(const char* word, int begin, int /*end*/) {
  rl_attempted_completion_over = 1;  // no names of files
  matches = current->offered(std::string_view(rl_line_buffer, static_cast<std::size_t>(begin)), word);
  return matches.empty() ? nullptr : rl_completion_matches(word, next_match);
}

}  // namespace

line_editor::line_editor(completions offer)
    : offer_(std::move(offer)), interactive_(::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1) {
  current = this;
  if (!interactive_) return;
  rl_readline_name = "coracle";
  rl_outstream = stderr;
  rl_initialize();
  using_history();
  stifle_history(remembered_lines);
  if (const std::string file = history_file(); !file.empty()) read_history(file.c_str());
  rl_attempted_completion_function = complete;
  rl_basic_word_break_characters = " \t";
}

line_editor::~line_editor() {
  if (interactive_)
    if (const std::string file = history_file(); !file.empty()) write_history(file.c_str());
  current = nullptr;
}

std::vector<std::string> line_editor::offered(std::string_view before, std::string_view word) const {
  if (!instead_) return offer_(before, word);
  std::vector<std::string> fitting;
  for (const std::string& one : *instead_)
    if (one.starts_with(word)) fitting.push_back(one);
  return fitting;
}

std::optional<std::string> line_editor::next(const std::string& prompt) {
  if (interactive_) {
    const std::unique_ptr<char, decltype(&std::free)> line(readline(prompt.c_str()), &std::free);
    if (!line) {
      std::fputc('\n', stderr);
      return std::nullopt;
    }
    return std::string(line.get());
  }
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

void line_editor::remember(const std::string& line) {
  if (interactive_ && !line.empty()) add_history(line.c_str());
}

}  // namespace coracle::tools
