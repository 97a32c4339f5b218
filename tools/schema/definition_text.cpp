#include "tools/schema/definition_text.hpp"

#include "tools/schema/trailing_comments.hpp"
#include "tools/schema/unknown_name.hpp"
#include "tools/terminal_text.hpp"

#include <set>
#include <utility>
#include <vector>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;

// Begins with the full name, because the text itself has no package.
template <class Descriptor>
std::string text(const Descriptor& d) {
  return terminal_text("// " + std::string(d.full_name()) + "\n" + commented_text(d));
}

// Adds a message, and the messages and enums of its fields, each once.
void add_with_parts(std::string& to, const pb::Descriptor& type, std::set<std::string>& added) {
  if (!added.insert(std::string(type.full_name())).second) return;
  to += text(type);
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    if (const auto* part = field.message_type(); part && part->containing_type() != &type) {
      if (part->full_name().compare(0, 16, "google.protobuf.") != 0) add_with_parts(to, *part, added);
    } else if (const auto* choice = field.enum_type(); choice && choice->containing_type() != &type) {
      if (added.insert(std::string(choice->full_name())).second) to += text(*choice);
    }
  }
}

}  // namespace

std::string definition_text(const pb::ServiceDescriptor& service) { return text(service); }

std::string definition_text(const pb::MethodDescriptor& method) {
  std::string all = terminal_text(commented_text(method));
  std::set<std::string> added;
  add_with_parts(all, *method.input_type(), added);
  add_with_parts(all, *method.output_type(), added);
  return all;
}

std::string definition_text(schema& types, const std::string& name, const std::string& hint) {
  if (const auto* type = types.find_message(name)) {
    std::string all;
    std::set<std::string> added;
    add_with_parts(all, *type, added);
    return all;
  }
  if (const auto* choice = types.find_enum(name)) return text(*choice);
  if (const auto* service = types.find_service(name)) return text(*service);
  if (const auto* method = types.find_method(name)) return definition_text(*method);
  if (const auto* type = types.find_message_ending(name)) {
    std::string all;
    std::set<std::string> added;
    add_with_parts(all, *type, added);
    return all;
  }
  if (const auto* choice = types.find_enum_ending(name)) return text(*choice);
  std::vector<std::string> all = types.services();
  for (std::string& one : types.method_names()) all.push_back(std::move(one));
  for (std::string& one : types.type_names()) all.push_back(std::move(one));
  throw unknown_name("service, method, message or enum", name, all, hint);
}

std::string methods_text(const pb::ServiceDescriptor& service) {
  std::string all;
  for (int i = 0; i < service.method_count(); ++i) all += path_of(*service.method(i)).substr(1) + "\n";
  return all;
}

}  // namespace coracle::tools
