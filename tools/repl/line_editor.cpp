#include "tools/repl/line_editor.hpp"

#include <editline/readline.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <filesystem>
#include <iostream>
#include <memory>

namespace coracle::tools {

namespace {

constexpr int remembered_lines = 1000;

line_editor* current = nullptr;  // libedit's callbacks have no user data
std::vector<std::string> matches;

volatile std::sig_atomic_t interrupt_pending = 0;

// While an object exists, SIGINT interrupts a read. Without a handler the signal would end the program; with
// most other handlers the read would be restarted.
class reading_ends_at_an_interrupt {
 public:
  reading_ends_at_an_interrupt() {
    interrupt_pending = 0;
    struct sigaction ours{};
    ours.sa_handler = [](int) { interrupt_pending = 1; };
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(SIGINT, &ours, &before_);
  }
  ~reading_ends_at_an_interrupt() { ::sigaction(SIGINT, &before_, nullptr); }
  reading_ends_at_an_interrupt(const reading_ends_at_an_interrupt&) = delete;
  reading_ends_at_an_interrupt& operator=(const reading_ends_at_an_interrupt&) = delete;

 private:
  struct sigaction before_{};
};

// Like libedit's own function, except that an interrupt ends the line: -1 discards all that was typed of it.
int next_character(std::FILE* /*input*/) {
  std::mbstate_t state{};
  while (!interrupt_pending) {
    char byte = 0;
    const auto count = ::read(STDIN_FILENO, &byte, 1);
    if (count < 0 && errno == EINTR) {
      if (!interrupt_pending) rl_forced_update_display();  // resumed after Ctrl-Z, or the window was resized
      continue;
    }
    if (count != 1) return -1;
    wchar_t character = 0;
    const std::size_t used = std::mbrtowc(&character, &byte, 1, &state);
    if (used == static_cast<std::size_t>(-2)) continue;  // an incomplete character
    return used == static_cast<std::size_t>(-1) ? '?' : static_cast<int>(character);
  }
  return -1;
}

// libedit writes the prompt first and sets the terminal's mode when it reads the first key. What is typed in
// between would be echoed by the terminal, a Tab with it, and shown again by libedit.
int set_mode_before_prompt() {
  rl_prep_terminal(1);
  if (const std::string text = current->take_introduction(); !text.empty())
    std::fprintf(stderr, "%s\r\n", text.c_str());
  return 0;
}

// Empty if there is no directory to keep it in.
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
  rl_attempted_completion_over = 1;  // no file name completion
  matches = current->offered(std::string_view(rl_line_buffer, static_cast<std::size_t>(begin)), word);
  // A space after the beginning of a value would be in the way, or become part of a string.
  const bool goes_on = matches.size() == 1 && std::strchr(":\"{[/", matches.front().back()) != nullptr;
  rl_completion_append_character = goes_on ? '\0' : ' ';
  return matches.empty() ? nullptr : rl_completion_matches(word, next_match);
}

}  // namespace

line_editor::line_editor(completions offer)
    : offer_(std::move(offer)), interactive_(::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1) {
  current = this;
  if (!interactive_) return;
  std::setlocale(LC_CTYPE, "");  // otherwise only ASCII can be typed
  rl_readline_name = "coracle";
  rl_outstream = stderr;
  rl_getc_function = next_character;
  rl_pre_input_hook = set_mode_before_prompt;
  rl_initialize();
  using_history();
  stifle_history(remembered_lines);
  if (const std::string file = history_file(); !file.empty()) read_history(file.c_str());
  rl_attempted_completion_function = complete;
  rl_basic_word_break_characters = " \t{[,:";
}

line_editor::~line_editor() { current = nullptr; }

std::vector<std::string> line_editor::offered(std::string_view before, std::string_view word) const {
  if (!replacement_) return offer_(before, word);
  std::vector<std::string> fitting;
  for (const std::string& one : *replacement_)
    if (one.starts_with(word)) fitting.push_back(one);
  return fitting;
}

std::optional<std::string> line_editor::next(const std::string& prompt) {
  if (interactive_) {
    const reading_ends_at_an_interrupt here;
    const std::unique_ptr<char, decltype(&std::free)> line(readline(prompt.c_str()), &std::free);
    if (line) return std::string(line.get());
    std::fputc('\n', stderr);
    if (!interrupt_pending) return std::nullopt;
    replacement_ = nullptr;  // the field is abandoned
    throw interrupted();
  }
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

void line_editor::remember(const std::string& line) {
  if (!interactive_ || line.empty()) return;
  add_history(line.c_str());
  if (const std::string file = history_file(); !file.empty()) write_history(file.c_str());
}

}  // namespace coracle::tools
