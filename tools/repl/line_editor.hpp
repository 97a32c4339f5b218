// line_editor: reads lines, from a terminal with history and completion, or from any other standard input.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::tools {

// Thrown for Ctrl-C at a prompt.
struct interrupted {};

// Only one object may exist in a program at a time; use it on one thread. All other threads must block
// SIGINT: libedit's handler sends the signal again while the thread that reads blocks it. Another thread
// would take it then, and the read would go on.
class line_editor {
 public:
  // Returns the completions of `word`, which follows `before`, as whole words that begin with it.
  using completions = std::function<std::vector<std::string>(std::string_view before, std::string_view word)>;

  explicit line_editor(completions offer);
  ~line_editor();
  line_editor(const line_editor&) = delete;
  line_editor& operator=(const line_editor&) = delete;

  // Returns the next line without its line end (\n or \r\n); empty at the end of the input (Ctrl-D). The
  // prompt is shown only on a terminal, where Ctrl-C throws `interrupted`.
  [[nodiscard]] std::optional<std::string> next(const std::string& prompt);
  // Sets a line that a terminal shows once, before the first prompt.
  void set_introduction(std::string line) { introduction_ = std::move(line); }
  [[nodiscard]] std::string take_introduction() { return std::exchange(introduction_, {}); }
  // Adds the line to the history, which is saved for the next start of the program, however this one ends.
  void remember(const std::string& line);
  // Whether the input is a terminal.
  [[nodiscard]] bool interactive() const noexcept { return interactive_; }
  // Offers these words as completions, for prompts of fields. Null restores the completions of the
  // constructor.
  void set_replacement(const std::vector<std::string>* words) noexcept { replacement_ = words; }

  [[nodiscard]] std::vector<std::string> offered(std::string_view before, std::string_view word) const;

 private:
  completions offer_;
  const std::vector<std::string>* replacement_ = nullptr;
  std::string introduction_;
  bool interactive_;
};

}  // namespace coracle::tools
