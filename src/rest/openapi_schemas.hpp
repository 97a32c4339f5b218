// openapi_schemas: JSON Schemas of messages, as protobuf's JSON mapping writes them.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace google::protobuf {
class Descriptor;
class EnumDescriptor;
class FieldDescriptor;
}  // namespace google::protobuf

namespace coracle::rest {

using json_node = nlohmann::ordered_json;

// The comment of a message, field, enum, value, method or service: what stands above it, or behind it on
// its line. Empty if the descriptors have no source information.
template <class Element>
std::string comment_of(const Element& element);

// Collects the schemas of a document's components.
class openapi_schemas {
 public:
  explicit openapi_schemas(bool proto_field_names) noexcept : proto_field_names_(proto_field_names) {}

  // A schema, which refers to a component for a message or an enum.
  [[nodiscard]] json_node of(const google::protobuf::FieldDescriptor& field);
  [[nodiscard]] json_node of(const google::protobuf::Descriptor& message);
  [[nodiscard]] std::string name_of(const google::protobuf::FieldDescriptor& field) const;
  // google.rpc.Status, and the error of Connect.
  [[nodiscard]] json_node rest_error();
  [[nodiscard]] json_node connect_error();
  // The components, in the order of their names.
  [[nodiscard]] json_node take();

 private:
  [[nodiscard]] json_node value_of(const google::protobuf::FieldDescriptor& field);
  [[nodiscard]] json_node of(const google::protobuf::EnumDescriptor& type);
  [[nodiscard]] json_node component_of(const google::protobuf::Descriptor& message);

  bool proto_field_names_;
  nlohmann::json components_ = nlohmann::json::object();  // sorted
};

}  // namespace coracle::rest
