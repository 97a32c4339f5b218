// text_splitter: splits a sequence of messages in protobuf's text format, which ends each by a line "---".
#pragma once

#include "tools/format/value_splitter.hpp"

#include <cstddef>
#include <string>

namespace coracle::tools {

// The line cannot be a part of a message: strings of the text format contain no line ends. The line after the
// last message may be missing.
class text_splitter final : public value_splitter {
 public:
  void add(std::string_view text) override;
  [[nodiscard]] std::optional<std::string_view> next() override;
  [[nodiscard]] std::optional<std::string_view> rest() override;

 private:
  std::string held_;
  std::size_t begin_ = 0;  // the start of the text that next() has not returned
  std::size_t line_ = 0;  // the start of the first line that was not examined
};

}  // namespace coracle::tools
