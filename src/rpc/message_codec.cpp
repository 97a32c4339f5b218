// message_codec: the only file that uses protobuf's JSON mapping, whose location differs between versions.
#include "coracle/rpc/message_codec.hpp"

#include "base/printable.hpp"
#include "rpc/json_mapping.hpp"
#include "rpc/json_syntax.hpp"
#include "rpc/plain_json.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace coracle {

namespace {

namespace json = google::protobuf::util;

class json_mapping final : public message_codec {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "json"; }

  status write(const google::protobuf::Message& message, std::string& to) const override {
    return rpc::write_json(message, to);
  }

  status read(google::protobuf::Message& message, bytes_view from) const override {
    return read(message, from, {});
  }
  status read_metered(google::protobuf::Message& message, bytes_view from,
                      decode_meter& meter) const override {
    rpc::json_cost cost{meter.cost_max};
    const status s = read(message, from, {.cost = &cost});
    meter.cost = cost.used;
    return s;
  }

 private:
  static status read(google::protobuf::Message& message, bytes_view from, rpc::json_read_options options) {
    options.ignore_unknown_fields = true;
    const status s = rpc::read_json(message, as_text(from), options);
    return s.code() == status_code::invalid_argument ? status::internal(s.message()) : s;
  }
};

}  // namespace

const message_codec& json_codec() noexcept {
  static const auto& mapping = *new json_mapping;  // never destroyed: calls may run while the program exits
  return mapping;
}

namespace rpc {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Values of the peer stand in errors of protobuf.
constexpr std::size_t json_error_bytes_max = 300;

// `value` is what protobuf says of a value that does not fit: itself, or words around pieces of it. Replaces
// these words by ours. The field is set if only the words name it.
std::string misfit(std::string_view value, std::string_view type, std::string& field) {
  constexpr std::string_view basic = "TYPE_";
  std::string name(type.substr(type.rfind('/') + 1));
  if (type.starts_with(basic)) {
    name.erase(0, basic.size());
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  }
  name = base::printable(name);
  if (value == "Starting an object on a scalar field") {
    field = type;
    return "must not be an object";
  }
  if (type == "oneof") {  // "oneof field 'choice' is already set. Cannot set 'number'"
    const auto quoted = [&] {
      const std::size_t begin = std::min(value.find('\''), value.size() - 1) + 1;
      const std::string_view word = value.substr(begin, value.find('\'', begin) - begin);
      value.remove_prefix(std::min(begin + word.size() + 1, value.size()));
      return std::string(word);
    };
    const std::string oneof = quoted();
    field = value.empty() ? std::string() : quoted();
    return "another field of the oneof " + base::printable(oneof) + " is set";
  }
  const bool is_value =
      !value.empty() && std::string_view("\"-0123456789tfin").find(value.front()) != std::string_view::npos;
  if (is_value) return base::printable(value, json_error_bytes_max) + " is no " + name;
  return "the value is no valid " + (type == "Any" ? "google.protobuf.Any of a known type" : name);
}

// protobuf writes "(movie.year): invalid value "abc" for type TYPE_INT32" and "(movie) yaer: Cannot find
// field."; in the root, the part in parentheses is missing.
std::string readable(std::string_view error) {
  std::string field;
  if (!error.empty() && error.front() == '(') {
    const std::size_t end = error.find(')');
    if (end != std::string_view::npos) {
      field = error.substr(1, end - 1);
      error.remove_prefix(end + 1);
    }
  }
  while (!error.empty() && (error.front() == ':' || error.front() == ' ')) error.remove_prefix(1);
  constexpr std::string_view unknown = ": Cannot find field.";
  if (error.ends_with(unknown)) {
    const std::string_view name = error.substr(0, error.size() - unknown.size());
    if (!field.empty()) field += '.';
    return "field " + base::printable(field.append(name)) + ": the message has no such field";
  }
  std::string reason = base::printable(error, json_error_bytes_max);
  constexpr std::string_view invalid = "invalid value ";
  constexpr std::string_view type = " for type ";
  const std::size_t at = error.rfind(type);
  if (error.starts_with(invalid) && at != std::string_view::npos)
    reason = misfit(error.substr(invalid.size(), at - invalid.size()), error.substr(at + type.size()), field);
  constexpr std::string_view no_list = ": Proto field is not repeating, cannot start list.";
  if (error.ends_with(no_list)) {
    field = error.substr(0, error.size() - no_list.size());
    reason = "must not be an array";
  }
  // The parser of protobuf 3.21 repeats the lines around an error; check_json() finds each such error first.
  if (error.find('\n') != std::string_view::npos) reason = "the JSON cannot be read";
  return field.empty() ? reason : "field " + base::printable(field) + ": " + reason;
}

status parse_json(Message& message, const std::string& text, json_read_options options) {
  json::JsonParseOptions parse;
  parse.ignore_unknown_fields = options.ignore_unknown_fields;
  const auto outcome = json::JsonStringToMessage(text, &message, parse);
  if (outcome.ok()) return {};
  return status::invalid_argument(
      readable(std::string_view(outcome.message().data(), outcome.message().size())));
}

// Newer versions have renamed the option.
template <class Options>
void set_emit_defaults(Options& to, bool emit) {
  if constexpr (requires { to.always_print_primitive_fields; }) to.always_print_primitive_fields = emit;
  else to.always_print_fields_with_no_presence = emit;
}

std::string default_json(const FieldDescriptor& field, json_write_options options) {
  if (field.is_map()) return "{}";
  if (field.is_repeated()) return "[]";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64: return '"' + std::to_string(field.default_value_int64()) + '"';
    case FieldDescriptor::CPPTYPE_UINT64: return '"' + std::to_string(field.default_value_uint64()) + '"';
    case FieldDescriptor::CPPTYPE_BOOL: return field.default_value_bool() ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM: {
      if (options.enums_as_numbers) return std::to_string(field.default_value_enum()->number());
      return '"' + std::string(field.default_value_enum()->name()) + '"';
    }
    case FieldDescriptor::CPPTYPE_STRING: return "\"\"";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return field.message_type()->well_known_type() == Descriptor::WELLKNOWNTYPE_UNSPECIFIED ? "{}" : "null";
    default: return "0";
  }
}

std::string map_key(const Message& entry, const FieldDescriptor& key) {
  const google::protobuf::Reflection& reflection = *entry.GetReflection();
  switch (key.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return std::to_string(reflection.GetInt32(entry, &key));
    case FieldDescriptor::CPPTYPE_INT64: return std::to_string(reflection.GetInt64(entry, &key));
    case FieldDescriptor::CPPTYPE_UINT32: return std::to_string(reflection.GetUInt32(entry, &key));
    case FieldDescriptor::CPPTYPE_UINT64: return std::to_string(reflection.GetUInt64(entry, &key));
    case FieldDescriptor::CPPTYPE_BOOL: return reflection.GetBool(entry, &key) ? "true" : "false";
    default: return reflection.GetString(entry, &key);
  }
}

// Writes a repeated field of messages, or a map of them.
status write_elements(const Message& message, const FieldDescriptor& field, std::string& to,
                      json_write_options options) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  to.push_back(field.is_map() ? '{' : '[');
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (i != 0) to.push_back(',');
    const Message& element = reflection.GetRepeatedMessage(message, &field, i);
    if (field.is_map()) {
      append_json_string(to, map_key(element, *field.message_type()->map_key()));
      to.push_back(':');
    }
    const Message& value =
        field.is_map() ? element.GetReflection()->GetMessage(element, field.message_type()->map_value())
                       : element;
    if (status failed = write_json(value, to, options); !failed.ok()) return failed;
  }
  to.push_back(field.is_map() ? '}' : ']');
  return {};
}

}  // namespace

status read_json(Message& message, std::string_view from, json_read_options options) {
  if (read_plain_json(message, from, options.cost)) return {};
  return read_json_by_protobuf(message, from, options);
}

status read_json_by_protobuf(Message& message, std::string_view from, json_read_options options) {
  message.Clear();
  if (status broken = check_json(from, message.GetDescriptor(), options.cost); !broken.ok()) return broken;
  return parse_json(message, std::string(from), options);
}

status read_json_field(Message& message, const FieldDescriptor& field, std::string_view from,
                       json_read_options options) {
  message.Clear();
  // Exactly one value: no text can add a second field to the object below.
  if (status broken = check_json(from, field, options.cost); !broken.ok()) return broken;
  std::string object = "{\"";
  object.append(field.name()).append("\":").append(from).append("}");
  return parse_json(message, object, options);
}

status write_json(const Message& message, std::string& to, json_write_options options) {
  const bool usual = !options.proto_field_names && !options.emit_defaults && !options.enums_as_numbers;
  if (usual && write_plain_json(message, to)) return {};
  return write_json_by_protobuf(message, to, options);
}

status write_json_by_protobuf(const Message& message, std::string& to, json_write_options options) {
  json::JsonPrintOptions print;
  print.preserve_proto_field_names = options.proto_field_names;
  print.always_print_enums_as_ints = options.enums_as_numbers;
  set_emit_defaults(print, options.emit_defaults);
  std::string text;
  const auto outcome = json::MessageToJsonString(message, &text, print);
  if (!outcome.ok())
    return status::internal("the message " + std::string(message.GetTypeName()) +
                            " cannot be written as JSON: " +
                            readable(std::string_view(outcome.message().data(), outcome.message().size())));
  if (to.empty()) to = std::move(text);
  else to.append(text);
  return {};
}

status write_json_field(const Message& message, const FieldDescriptor& field, std::string& to,
                        json_write_options options) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const bool present =
      field.is_repeated() ? reflection.FieldSize(message, &field) != 0 : reflection.HasField(message, &field);
  if (!present) {
    to.append(default_json(field, options));
    return {};
  }
  if (!field.is_repeated() && field.message_type())
    return write_json(reflection.GetMessage(message, &field), to, options);
  const FieldDescriptor& element = field.is_map() ? *field.message_type()->map_value() : field;
  if (element.message_type()) return write_elements(message, field, to, options);
  // The mapping writes whole messages only: one that has this field alone.
  const std::unique_ptr<Message> alone(message.New());
  alone->CopyFrom(message);
  std::vector<const FieldDescriptor*> others;
  reflection.ListFields(message, &others);
  for (const FieldDescriptor* f : others)
    if (f != &field) reflection.ClearField(alone.get(), f);
  std::string object;
  options.emit_defaults = false;
  options.proto_field_names = true;  // which contain no ':'
  if (status failed = write_json(*alone, object, options); !failed.ok()) return failed;
  const std::size_t value = object.find(':') + 1;
  to.append(object, value, object.size() - 1 - value);
  return {};
}

}  // namespace rpc
}  // namespace coracle
