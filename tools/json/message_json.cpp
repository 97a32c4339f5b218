// The one file here that knows protobuf's JSON mapping, which newer versions move around.
#include "tools/json/message_json.hpp"

#include "tools/failure.hpp"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>

namespace coracle::tools {

namespace json = google::protobuf::util;

namespace {

// Without the status code, which would be taken for a server's.
template <class Status>
std::string reason(const Status& how) {
  const std::string text(how.message().data(), how.message().size());
  return text.substr(std::min(text.find_first_not_of(": "), text.size()));
}

}  // namespace

std::string to_json(const google::protobuf::Message& message, bool indented) {
  json::JsonPrintOptions options;
  options.add_whitespace = indented;
  std::string text;
  const auto how = json::MessageToJsonString(message, &text, options);
  if (!how.ok())
    throw failure("a " + std::string(message.GetTypeName()) + " cannot be written as JSON: " + reason(how));
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

void from_json(std::string_view text, google::protobuf::Message& into) {
  const auto how = json::JsonStringToMessage(std::string(text), &into);
  if (how.ok()) return;
  throw failure("this is no " + std::string(into.GetTypeName()) + ": " + std::string(text) + "\n  " +
                reason(how) + "\n  `coracle describe` shows its fields");
}

}  // namespace coracle::tools
