// message_format: converts serialized messages of one type from and to text.
#pragma once

#include "tools/format/message_batch.hpp"

#include <span>
#include <string>
#include <string_view>

namespace coracle::tools {

// Use an object on one thread at a time, and not on a loop: it may block to query a server for types.
class message_format {
 public:
  virtual ~message_format() = default;

  // Returns the text of a message without a line end after it; `indented` allows several lines. Throws
  // failure for bytes that are not such a message, and for a message that has no such text.
  [[nodiscard]] virtual std::string text(std::string_view bytes, bool indented) = 0;
  // Adds the text of each message to `to`, so that a splitter finds the messages again. If text() would throw
  // for a message, adds the error as a line to `errors` instead.
  virtual void add_lines(const message_batch& all, std::string& to, std::string& errors) = 0;

  // Throws failure for text that is not such a message.
  [[nodiscard]] virtual std::string bytes(std::string_view text) = 0;
  // Adds a message for each text. If bytes() throws for one, those before it have been added.
  virtual void add_messages(std::span<const std::string_view> texts, message_batch& to) = 0;
};

}  // namespace coracle::tools
