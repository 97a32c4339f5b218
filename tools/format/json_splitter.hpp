// json_splitter: splits text that arrives in pieces into the consecutive JSON values in it.
#pragma once

#include "tools/format/value_splitter.hpp"

#include <cstddef>
#include <string>

namespace coracle::tools {

// Tracks only brackets and strings; whether a value is valid JSON is left to its parser. Each byte is read
// once and moved a bounded number of times, however many values there are: a file may contain millions of
// them.
class json_splitter final : public value_splitter {
 public:
  void add(std::string_view text) override;
  [[nodiscard]] std::optional<std::string_view> next() override;
  // A number or a keyword, which needs no closing bracket, or a value that was cut off.
  [[nodiscard]] std::optional<std::string_view> rest() override;

 private:
  void skip_space();
  [[nodiscard]] std::string_view take();
  std::string held_;
  std::size_t begin_ = 0;  // the start of the text that next() has not returned
  std::size_t at_ = 0;  // the end of the text that was scanned
  std::size_t depth_ = 0;
  char quote_ = 0;  // the quote of the current string; 0: not in a string
  bool escaped_ = false;
};

}  // namespace coracle::tools
