// line_editor: lines from a terminal, with history and completion, or from whatever else the standard input is.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

// Ctrl-C at a prompt.
struct interrupted {};

// One at a time in a program, on one thread.
class line_editor {
 public:
  // What the word at the end of `before` may become; whole words that begin with it.
  using completions = std::function<std::vector<std::string>(std::string_view before, std::string_view word)>;

  explicit line_editor(completions offer);
  ~line_editor();
  line_editor(const line_editor&) = delete;
  line_editor& operator=(const line_editor&) = delete;

  // The next line, without its end (\n or \r\n); nothing at the end of the input (Ctrl-D). The prompt is shown to people
  // alone, who may throw `interrupted`.
  [[nodiscard]] std::optional<std::string> next(const std::string& prompt);
  // Into the history, which the next start of the program knows, however this one ends.
  void remember(const std::string& line);
  // Somebody types.
  [[nodiscard]] bool interactive() const noexcept { return interactive_; }
  // For the prompts of fields: other words than those of commands. Null: the ones of the constructor.
  void offer_instead(const std::vector<std::string>* words) noexcept { instead_ = words; }

  [[nodiscard]] std::vector<std::string> offered(std::string_view before, std::string_view word) const;

 private:
  completions offer_;
  const std::vector<std::string>* instead_ = nullptr;
  bool interactive_;
};

}  // namespace coracle::tools
