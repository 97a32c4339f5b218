#include "tools/load/json_requests.hpp"

#include "tools/failure.hpp"
#include "tools/format/message_json.hpp"
#include "tools/load/mixed.hpp"

#include <google/protobuf/message.h>

#include <memory>
#include <string_view>
#include <utility>

namespace coracle::tools::load {

namespace {

call_kind kind_of(const google::protobuf::MethodDescriptor& m) {
  if (m.client_streaming()) return m.server_streaming() ? call_kind::bidi : call_kind::client_streaming;
  return m.server_streaming() ? call_kind::server_streaming : call_kind::unary;
}

std::string known_placeholders(const data_file* data) {
  std::string all = "{{call}}, {{user}}, {{message}}, {{random}}";
  if (data)
    for (const std::string& column : data->columns()) all += ", {{" + column + "}}";
  return all;
}

// Replaces the placeholders in the text by numbers and values; throws failure for an unknown placeholder.
std::string filled(std::string_view text, const request_place& at, const data_file* data) {
  std::string made;
  for (;;) {
    const std::size_t begin = text.find("{{");
    const std::size_t end = begin == text.npos ? text.npos : text.find("}}", begin);
    if (end == text.npos) return made.append(text);
    const std::string_view name = text.substr(begin + 2, end - begin - 2);
    made.append(text.substr(0, begin));
    if (name == "call") made += std::to_string(at.call);
    else if (name == "user") made += std::to_string(at.user);
    else if (name == "message") made += std::to_string(at.message);
    else if (name == "random") made += std::to_string(mixed(at.call * 0x10001 + at.message) >> 33);
    else if (const auto value = data ? data->value(name, at.call) : std::nullopt) made += *value;
    else
      throw failure("{{" + std::string(name) + "}} is not a known placeholder; there are " +
                    known_placeholders(data));
    text.remove_prefix(end + 2);
  }
}

constexpr std::string_view name_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

// Whether the text has placeholders. "{{" and "}}" may be part of the JSON, as in {"a":{"b":{}}}, but never
// with a bare word between them.
bool varies(std::string_view text) {
  for (std::size_t at = text.find("{{"); at != text.npos; at = text.find("{{", at + 1)) {
    const std::size_t end = text.find_first_not_of(name_characters, at + 2);
    if (end != text.npos && end > at + 2 && text.substr(end).starts_with("}}")) return true;
  }
  return false;
}

}  // namespace

json_requests::json_requests(schema& types, const google::protobuf::MethodDescriptor& method,
                             std::vector<std::string> texts, std::optional<std::uint32_t> messages,
                             const data_file* data)
    : types_(types), method_(method), data_(data), path_(path_of(method)), kind_(kind_of(method)) {
  if (!method.client_streaming()) {
    if (texts.size() > 1) throw usage_failure(path_ + " takes one request; there are more");
    if (texts.empty()) texts.emplace_back("{}");
  } else {
    messages_ = messages.value_or(static_cast<std::uint32_t>(texts.size()));
    if (messages_ > 0 && texts.empty()) texts.emplace_back("{}");
  }
  for (std::string& text : texts) {
    // Converts the texts here, too, so that errors are reported before the run, and all types are resolved by
    // then.
    const bool changes = varies(text);
    bytes_message bytes = read(changes ? filled(text, request_place(), data_) : text);
    forms_.push_back({std::move(text), std::move(bytes), changes});
  }
}

bytes_message json_requests::read(const std::string& text) const {
  const auto made = types_.make(*method_.input_type());
  from_json(text, *made);
  return bytes_message(made->SerializeAsString());
}

const bytes_message& json_requests::message(const request_place& at, bytes_message& scratch) const {
  const form& one = forms_[at.message % forms_.size()];
  if (!one.varies) return one.bytes;
  scratch = read(filled(one.text, at, data_));
  return scratch;
}

std::optional<std::string> json_requests::json(const request_place& at) const {
  const form& one = forms_[at.message % forms_.size()];
  return one.varies ? filled(one.text, at, data_) : one.text;
}

}  // namespace coracle::tools::load
