// json_splitter: from text that arrives in pieces to the JSON values that stand one behind the other in it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::tools {

// Looks at brackets and strings alone; whether a value is valid JSON is for its parser. Each byte is looked at once, and
// moved a bounded number of times, however many values there are: a file may hold millions of them.
class json_splitter {
 public:
  void add(std::string_view text);
  // The next whole value, borrowed until add(); nothing while it has not arrived.
  [[nodiscard]] std::optional<std::string_view> next();
  // At the end of the text: what is left, a value that needs no closing bracket or one that was cut short.
  [[nodiscard]] std::optional<std::string_view> rest();

 private:
  void skip_space();
  [[nodiscard]] std::string_view take();
  std::string held_;
  std::size_t begin_ = 0;  // of what was not given yet
  std::size_t at_ = 0;  // as far as held_ was looked at
  std::size_t depth_ = 0;
  char quote_ = 0;  // of the string that the place is in; 0: in none
  bool escaped_ = false;
};

}  // namespace coracle::tools
