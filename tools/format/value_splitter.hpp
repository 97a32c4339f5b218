// value_splitter: splits text that arrives in pieces into the texts of consecutive messages.
#pragma once

#include <optional>
#include <string_view>

namespace coracle::tools {

class value_splitter {
 public:
  virtual ~value_splitter() = default;
  virtual void add(std::string_view text) = 0;
  // The next complete value, borrowed until add(); empty while it has not arrived.
  [[nodiscard]] virtual std::optional<std::string_view> next() = 0;
  // The rest at the end of the text: the last value, or one that was cut off. Empty if there is none.
  [[nodiscard]] virtual std::optional<std::string_view> rest() = 0;
};

}  // namespace coracle::tools
