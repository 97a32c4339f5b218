#include "rest/openapi_schemas.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <utility>

namespace coracle::rest {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

json_node reference_to(const std::string& component) {
  return {{"$ref", "#/components/schemas/" + component}};
}

// Without the space that follows "//", and without empty lines at both ends.
std::string trimmed_comment(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    std::string line = text.substr(at, end - at);
    if (!line.empty() && line.front() == ' ') line.erase(0, 1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
    if (!line.empty() || !out.empty()) out.append(line).push_back('\n');
    at = end + 1;
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

json_node number_schema(const char* type, const char* format) { return {{"type", type}, {"format", format}}; }

// What the mapping writes for a type that has a form of its own; null for others.
json_node well_known_schema(const Descriptor& type) {
  const auto nullable = [](json_node schema) {
    schema["type"] = json_node::array({schema["type"], "null"});
    return schema;
  };
  switch (type.well_known_type()) {
    case Descriptor::WELLKNOWNTYPE_DOUBLEVALUE: return nullable(number_schema("number", "double"));
    case Descriptor::WELLKNOWNTYPE_FLOATVALUE: return nullable(number_schema("number", "float"));
    case Descriptor::WELLKNOWNTYPE_INT64VALUE: return nullable(number_schema("string", "int64"));
    case Descriptor::WELLKNOWNTYPE_UINT64VALUE: return nullable(number_schema("string", "uint64"));
    case Descriptor::WELLKNOWNTYPE_INT32VALUE: return nullable(number_schema("integer", "int32"));
    case Descriptor::WELLKNOWNTYPE_UINT32VALUE: return nullable(number_schema("integer", "uint32"));
    case Descriptor::WELLKNOWNTYPE_STRINGVALUE: return nullable({{"type", "string"}});
    case Descriptor::WELLKNOWNTYPE_BYTESVALUE:
      return nullable({{"type", "string"}, {"contentEncoding", "base64"}});
    case Descriptor::WELLKNOWNTYPE_BOOLVALUE: return nullable({{"type", "boolean"}});
    case Descriptor::WELLKNOWNTYPE_TIMESTAMP: return number_schema("string", "date-time");
    case Descriptor::WELLKNOWNTYPE_DURATION:
      return {{"type", "string"},
              {"pattern", "^-?[0-9]+(\\.[0-9]{1,9})?s$"},
              {"examples", json_node::array({"1.5s"})}};
    case Descriptor::WELLKNOWNTYPE_FIELDMASK:
      return {{"type", "string"}, {"description", "Names of fields, separated by commas."}};
    case Descriptor::WELLKNOWNTYPE_STRUCT: return {{"type", "object"}, {"additionalProperties", true}};
    case Descriptor::WELLKNOWNTYPE_LISTVALUE: return {{"type", "array"}, {"items", json_node::object()}};
    case Descriptor::WELLKNOWNTYPE_VALUE: return json_node::object();
    case Descriptor::WELLKNOWNTYPE_ANY:
      return {{"type", "object"},
              {"properties", {{"@type", {{"type", "string"}, {"description", "The type of the message."}}}}},
              {"required", json_node::array({"@type"})},
              {"additionalProperties", true}};
    default: return nullptr;
  }
}

}  // namespace

template <class Element>
std::string comment_of(const Element& element) {
  google::protobuf::SourceLocation at;
  if (!element.GetSourceLocation(&at)) return {};
  std::string comment = trimmed_comment(at.leading_comments);
  return comment.empty() ? trimmed_comment(at.trailing_comments) : comment;
}
template std::string comment_of(const google::protobuf::MethodDescriptor&);
template std::string comment_of(const google::protobuf::ServiceDescriptor&);
template std::string comment_of(const FieldDescriptor&);

std::string openapi_schemas::name_of(const FieldDescriptor& field) const {
  return std::string(proto_field_names_ ? field.name() : field.json_name());
}

json_node openapi_schemas::of(const FieldDescriptor& field) {
  if (field.is_map())
    return {{"type", "object"}, {"additionalProperties", value_of(*field.message_type()->map_value())}};
  if (field.is_repeated()) return {{"type", "array"}, {"items", value_of(field)}};
  return value_of(field);
}

json_node openapi_schemas::value_of(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: return number_schema("integer", "int32");
    case FieldDescriptor::CPPTYPE_UINT32: return number_schema("integer", "uint32");
    case FieldDescriptor::CPPTYPE_INT64: return number_schema("string", "int64");
    case FieldDescriptor::CPPTYPE_UINT64: return number_schema("string", "uint64");
    case FieldDescriptor::CPPTYPE_FLOAT: return number_schema("number", "float");
    case FieldDescriptor::CPPTYPE_DOUBLE: return number_schema("number", "double");
    case FieldDescriptor::CPPTYPE_BOOL: return {{"type", "boolean"}};
    case FieldDescriptor::CPPTYPE_STRING:
      if (field.type() == FieldDescriptor::TYPE_BYTES)
        return {{"type", "string"}, {"contentEncoding", "base64"}};
      return {{"type", "string"}};
    case FieldDescriptor::CPPTYPE_ENUM: return of(*field.enum_type());
    case FieldDescriptor::CPPTYPE_MESSAGE: break;
  }
  return of(*field.message_type());
}

json_node openapi_schemas::of(const EnumDescriptor& type) {
  const std::string name(type.full_name());
  if (name == "google.protobuf.NullValue") return {{"type", "null"}};
  if (!components_.contains(name)) {
    json_node schema{{"type", "string"}};
    std::string description = comment_of(type);
    for (int i = 0; i < type.value_count(); ++i) {
      schema["enum"].push_back(std::string(type.value(i)->name()));
      const std::string comment = comment_of(*type.value(i));
      if (!comment.empty())
        description.append(description.empty() ? "" : "\n")
            .append("- `")
            .append(type.value(i)->name())
            .append("`: ")
            .append(comment);
    }
    if (!description.empty()) schema["description"] = description;
    components_[name] = schema;
  }
  return reference_to(name);
}

json_node openapi_schemas::of(const Descriptor& message) {
  if (json_node schema = well_known_schema(message); !schema.is_null()) return schema;
  const std::string name(message.full_name());
  if (!components_.contains(name)) {
    components_[name] = nullptr;  // a message may contain itself
    components_[name] = component_of(message);
  }
  return reference_to(name);
}

json_node openapi_schemas::component_of(const Descriptor& message) {
  json_node schema{{"type", "object"}};
  if (std::string comment = comment_of(message); !comment.empty()) schema["description"] = std::move(comment);
  json_node properties = json_node::object();
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    json_node property = of(field);
    std::string comment = comment_of(field);
    if (const auto* oneof = field.real_containing_oneof()) {
      comment.append(comment.empty() ? "" : "\n\n").append("At most one field of `").append(oneof->name());
      comment.append("` may be set.");
    }
    if (!comment.empty()) property["description"] = comment;  // beside $ref, too, in OpenAPI 3.1
    if (field.options().deprecated()) property["deprecated"] = true;
    if (field.is_required()) schema["required"].push_back(name_of(field));
    properties[name_of(field)] = std::move(property);
  }
  if (!properties.empty()) schema["properties"] = std::move(properties);
  if (message.options().deprecated()) schema["deprecated"] = true;
  return schema;
}

json_node openapi_schemas::rest_error() {
  if (!components_.contains("google.rpc.Status"))
    components_["google.rpc.Status"] = json_node{
        {"type", "object"},
        {"description", "An error."},
        {"properties",
         {{"code", {{"type", "integer"}, {"format", "int32"}, {"description", "A code of google.rpc.Code."}}},
          {"message", {{"type", "string"}}},
          {"details",
           {{"type", "array"},
            {"items",
             {{"type", "object"},
              {"properties", {{"@type", {{"type", "string"}}}}},
              {"required", json_node::array({"@type"})},
              {"additionalProperties", true}}}}}}},
        {"required", json_node::array({"code"})}};
  return reference_to("google.rpc.Status");
}

json_node openapi_schemas::connect_error() {
  if (!components_.contains("connect.Error"))
    components_["connect.Error"] =
        json_node{{"type", "object"},
                  {"description", "An error of the Connect protocol."},
                  {"properties",
                   {{"code", {{"type", "string"}, {"examples", json_node::array({"not_found"})}}},
                    {"message", {{"type", "string"}}},
                    {"details",
                     {{"type", "array"},
                      {"items",
                       {{"type", "object"},
                        {"properties",
                         {{"type", {{"type", "string"}}},
                          {"value", {{"type", "string"}, {"contentEncoding", "base64"}}},
                          {"debug", json_node::object()}}}}}}}}},
                  {"required", json_node::array({"code"})}};
  return reference_to("connect.Error");
}

json_node openapi_schemas::take() {
  json_node all = json_node::object();
  for (auto& [name, schema] : components_.items()) all[name] = std::move(schema);
  return all;
}

}  // namespace coracle::rest
