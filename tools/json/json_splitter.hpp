// json_splitter: from text that arrives in pieces to the JSON values that stand one behind the other in it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::tools {

// Looks at brackets and strings alone; whether a value is good JSON is for who parses it.
class json_splitter {
 public:
  void add(std::string_view text) { held_ += text; }
  // The next whole value; nothing while it has not arrived.
  [[nodiscard]] std::optional<std::string> next();
  // At the end of the text: what is left, a value that needs no closing bracket or one that was cut short.
  [[nodiscard]] std::optional<std::string> rest();

 private:
  void skip_space();
  std::string held_;
  std::size_t at_ = 0;  // as far as held_ was looked at
  std::size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace coracle::tools
