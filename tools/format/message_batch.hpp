// message_batch: holds serialized messages of one type in one string.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::tools {

// The string is the encoding of a protobuf message with one field, `repeated T items = 1`: protobuf's JSON
// mapping converts all messages of a batch in one call, which costs a fraction of one call for each.
class message_batch {
 public:
  void add(std::string_view message);
  void clear() noexcept;
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

  // Replaces the content by such a string. Returns false and clears the batch if the string is malformed or
  // does not contain `count` messages.
  [[nodiscard]] bool assign(std::string bytes, std::size_t count);

  // Reads the messages in order; start with `at` = 0. Empty at the end.
  [[nodiscard]] std::optional<std::string_view> next(std::size_t& at) const noexcept;

 private:
  std::string bytes_;
  std::size_t count_ = 0;
};

}  // namespace coracle::tools
