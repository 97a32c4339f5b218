// message_codec: the only file that uses protobuf's JSON mapping, whose location differs between versions.
#include "coracle/rpc/message_codec.hpp"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

namespace coracle {

namespace {

namespace json = google::protobuf::util;

class json_mapping final : public message_codec {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "json"; }

  status write(const google::protobuf::Message& message, std::string& to) const override {
    std::string text;
    if (!json::MessageToJsonString(message, &text).ok())
      return status::internal("the message " + std::string(message.GetTypeName()) +
                              " cannot be written as JSON");
    if (to.empty()) to = std::move(text);
    else to.append(text);
    return {};
  }

  status read(google::protobuf::Message& message, bytes_view from) const override {
    message.Clear();
    json::JsonParseOptions options;
    options.ignore_unknown_fields = true;
    const std::string text(
        as_text(from));  // newer versions take a string_view, older ones a type of their own
    if (!json::JsonStringToMessage(text, &message, options).ok())
      return status::internal("a message cannot be parsed as JSON");
    return {};
  }
};

}  // namespace

const message_codec& json_codec() noexcept {
  static const auto& mapping = *new json_mapping;  // never destroyed: calls may run while the program exits
  return mapping;
}

}  // namespace coracle
