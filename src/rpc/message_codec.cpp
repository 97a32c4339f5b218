// message_codec: the only file that uses protobuf's JSON mapping, whose location differs between versions.
#include "coracle/rpc/message_codec.hpp"

#include "base/printable.hpp"
#include "rpc/json_fault.hpp"
#include "rpc/json_mapping.hpp"
#include "rpc/json_syntax.hpp"
#include "rpc/plain_json.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

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

bool is_read(Message& message, const std::string& text, bool ignore_unknown_fields) {
  json::JsonParseOptions parse;
  parse.ignore_unknown_fields = ignore_unknown_fields;
  return json::JsonStringToMessage(text, &message, parse).ok();
}

json_search search_for_fault(const Message& prototype, std::string_view text, bool ignore_unknown_fields) {
  return search_json_fault(prototype, text, ignore_unknown_fields,
                           [](const Message& of, const std::string& part, bool ignore) {
                             const std::unique_ptr<Message> read(of.New());
                             return is_read(*read, part, ignore);
                           });
}

// The search for what is wrong costs as much again for each time that it reads the text.
status parse_json(Message& message, const std::string& text, json_read_options options) {
  if (is_read(message, text, options.ignore_unknown_fields)) return {};
  const json_search search = search_for_fault(message, text, options.ignore_unknown_fields);
  if (options.cost) static_cast<void>(options.cost->charge(search.bytes / text.size() * options.cost->used));
  return status::invalid_argument(search.found.text());
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

json_fault find_json_fault(const Message& prototype, std::string_view text, bool ignore_unknown_fields) {
  return search_for_fault(prototype, text, ignore_unknown_fields).found;
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
    return status::internal(
        "the message " + std::string(message.GetTypeName()) + " cannot be written as JSON: " +
        base::printable(std::string_view(outcome.message().data(), outcome.message().size())));
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
