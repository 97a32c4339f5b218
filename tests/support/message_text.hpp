// message_text: a message in one line of protobuf's text format. ShortDebugString() is for people alone:
// newer versions of protobuf put words before it and spaces within that differ in each program.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <string>

namespace coracle::testing_support {

inline std::string message_text(const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  (void)printer.PrintToString(message, &text);  // a string takes all text
  if (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace coracle::testing_support
