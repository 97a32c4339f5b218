#include "console/schema_json.hpp"

#include "console/schema.hpp"
#include "services/json_text.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace coracle::console {

namespace {

namespace pb = google::protobuf;

// The comment before an element, or else the one that follows it on its line.
template <class Element>
std::string comment_of(const Element& element) {
  pb::SourceLocation where;
  if (!element.GetSourceLocation(&where)) return {};
  std::string text = where.leading_comments.empty() ? where.trailing_comments : where.leading_comments;
  std::string lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::size_t begin = text[at] == ' ' ? at + 1 : at;
    lines.append(text, begin, end - begin).append("\n");
    at = end + 1;
  }
  while (!lines.empty() && (lines.back() == '\n' || lines.back() == ' ')) lines.pop_back();
  return lines;
}

class schema_writer {
 public:
  explicit schema_writer(const schema& types) : types_(types) {}

  services::ordered_json write() {
    services::ordered_json services = services::ordered_json::array();
    for (const pb::ServiceDescriptor* const service : types_.services()) add(*service, services);
    while (!pending_.empty()) {
      const pb::Descriptor& type = *pending_.back();
      pending_.pop_back();
      messages_[std::string(type.full_name())] = message(type);
    }
    return {{"services", std::move(services)},
            {"messages", std::move(messages_)},
            {"enums", std::move(enums_)},
            {"errors", types_.errors()}};
  }

 private:
  void add(const pb::ServiceDescriptor& service, services::ordered_json& to) {
    services::ordered_json methods = services::ordered_json::array();
    for (int i = 0; i < service.method_count(); ++i) {
      const pb::MethodDescriptor& method = *service.method(i);
      use(*method.input_type());
      use(*method.output_type());
      methods.push_back({{"name", std::string(method.name())},
                         {"path", "/" + std::string(service.full_name()) + "/" + std::string(method.name())},
                         {"comment", comment_of(method)},
                         {"deprecated", method.options().deprecated()},
                         {"clientStreaming", method.client_streaming()},
                         {"serverStreaming", method.server_streaming()},
                         {"input", std::string(method.input_type()->full_name())},
                         {"output", std::string(method.output_type()->full_name())}});
    }
    to.push_back({{"name", std::string(service.full_name())},
                  {"file", std::string(service.file()->name())},
                  {"comment", comment_of(service)},
                  {"methods", std::move(methods)}});
  }

  // A message of google.protobuf with a form of its own in JSON needs no fields here.
  void use(const pb::Descriptor& type) {
    const std::string name(type.full_name());
    if (messages_.contains(name)) return;
    messages_[name] = nullptr;
    pending_.push_back(&type);
  }

  void use(const pb::EnumDescriptor& type) {
    const std::string name(type.full_name());
    if (enums_.contains(name)) return;
    services::ordered_json values = services::ordered_json::array();
    for (int i = 0; i < type.value_count(); ++i) {
      services::ordered_json value{{"name", std::string(type.value(i)->name())},
                                   {"number", type.value(i)->number()}};
      if (std::string comment = comment_of(*type.value(i)); !comment.empty())
        value["comment"] = std::move(comment);
      values.push_back(std::move(value));
    }
    enums_[name] = {{"comment", comment_of(type)}, {"values", std::move(values)}};
  }

  services::ordered_json message(const pb::Descriptor& type) {
    services::ordered_json fields = services::ordered_json::array();
    if (type.well_known_type() == pb::Descriptor::WELLKNOWNTYPE_UNSPECIFIED)
      for (int i = 0; i < type.field_count(); ++i) fields.push_back(field(*type.field(i)));
    return {{"comment", comment_of(type)}, {"fields", std::move(fields)}};
  }

  services::ordered_json field(const pb::FieldDescriptor& of) {
    services::ordered_json made{{"name", std::string(of.name())}, {"json", std::string(of.json_name())}};
    const pb::FieldDescriptor& value = of.is_map() ? *of.message_type()->map_value() : of;
    made["type"] = value.type_name();
    if (value.message_type()) {
      made["type"] = "message";
      made["typeName"] = std::string(value.message_type()->full_name());
      use(*value.message_type());
    } else if (value.enum_type()) {
      made["typeName"] = std::string(value.enum_type()->full_name());
      use(*value.enum_type());
    }
    if (of.is_map()) made["mapKey"] = of.message_type()->map_key()->type_name();
    else if (of.is_repeated()) made["repeated"] = true;
    if (const pb::OneofDescriptor* const choice = of.real_containing_oneof())
      made["oneof"] = std::string(choice->name());
    else if (!of.is_repeated() && of.has_presence() && !of.message_type()) made["optional"] = true;
    if (of.is_required()) made["required"] = true;
    if (of.options().deprecated()) made["deprecated"] = true;
    if (std::string comment = comment_of(of); !comment.empty()) made["comment"] = std::move(comment);
    return made;
  }

  const schema& types_;
  services::ordered_json messages_ = services::ordered_json::object();
  services::ordered_json enums_ = services::ordered_json::object();
  std::vector<const pb::Descriptor*> pending_;
};

}  // namespace

std::string schema_json(const schema& types) { return services::text_of(schema_writer(types).write()); }

}  // namespace coracle::console
