// The one file here that knows protobuf's JSON mapping, which newer versions move around.
#include "tools/json/message_json.hpp"

#include "tools/failure.hpp"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

namespace coracle::tools {

namespace json = google::protobuf::util;

std::string to_json(const google::protobuf::Message& message, bool indented) {
  json::JsonPrintOptions options;
  options.add_whitespace = indented;
  std::string text;
  const auto how = json::MessageToJsonString(message, &text, options);
  if (!how.ok())
    throw failure("a " + std::string(message.GetTypeName()) +
                  " cannot be written as JSON: " + how.ToString());
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

void from_json(std::string_view text, google::protobuf::Message& into) {
  const auto how = json::JsonStringToMessage(std::string(text), &into);
  if (how.ok()) return;
  throw failure("this is no " + std::string(into.GetTypeName()) + ": " + std::string(text) + "\n  " +
                how.ToString() + "\n  `coracle describe` shows its fields");
}

}  // namespace coracle::tools
