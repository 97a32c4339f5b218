#include "tools/schema/schema.hpp"

#include "tools/failure.hpp"
#include "tools/schema/definition_files.hpp"
#include "tools/schema/unknown_name.hpp"
#include "tools/terminal_text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace coracle::tools {

namespace pb = google::protobuf;

namespace {

// Definitions spell movie.Movie as ".movie.Movie".
std::string_view without_dot(std::string_view name) {
  if (name.starts_with('.')) name.remove_prefix(1);
  return name;
}

}  // namespace

void schema::error_collector::RecordError(std::string_view file, std::string_view element, const pb::Message*,
                                          ErrorLocation, std::string_view reason) {
  text.append("\n  ").append(file).append(": ").append(element).append(": ").append(reason);
}

schema::schema(std::unique_ptr<definitions> from)
    : from_(std::move(from)), pool_(&from_->files(), &error_collector_), factory_(&pool_) {
  for (const std::string& file : from_->first())
    if (!pool_.FindFileByName(file)) throw failure(file + " cannot be used" + because());
}

std::string schema::because() const {
  const std::string more = from_->errors();
  return (more.empty() ? std::string() : ": " + more) + error_collector_.text;
}

const std::vector<std::string>& schema::services() {
  if (!std::exchange(services_known_, true)) {
    services_ = from_->services();
    for (std::string& name : services_) name = terminal_line(name);  // the server chooses the names
    std::sort(services_.begin(), services_.end(), [](const std::string& a, const std::string& b) {
      return is_of_grpc(a) == is_of_grpc(b) ? a < b : is_of_grpc(b);
    });
  }
  return services_;
}

std::vector<const pb::ServiceDescriptor*> schema::defined_services() {
  std::vector<const pb::ServiceDescriptor*> all;
  for (const std::string& name : services())
    if (const auto* found = pool_.FindServiceByName(name)) all.push_back(found);
  if (all.empty() && !services().empty())
    throw failure("the definition of " + services().front() + " is not available" + because());
  return all;
}

const pb::ServiceDescriptor* schema::find_service(std::string_view name) {
  name = without_dot(name);
  if (const auto* found = pool_.FindServiceByName(std::string(name))) return found;
  const pb::ServiceDescriptor* found = nullptr;
  for (const std::string& one : services()) {
    if (!ends_in_parts(one, name)) continue;
    if (found) return nullptr;  // which of them?
    found = pool_.FindServiceByName(one);
    if (!found) throw failure("the definition of " + one + " is not available" + because());
  }
  return found;
}

const pb::ServiceDescriptor& schema::service(std::string_view name) {
  if (const auto* found = find_service(name)) return *found;
  throw unknown_name("service", name, services());
}

const pb::MethodDescriptor* schema::find_method(std::string_view name) {
  if (name.starts_with('/')) name.remove_prefix(1);
  name = without_dot(name);
  const std::size_t end = name.find_last_of("/.");
  if (end == std::string_view::npos) {
    const pb::MethodDescriptor* found = nullptr;
    for (const auto* one : defined_services()) {
      const auto* here = one->FindMethodByName(std::string(name));
      if (found && here) return nullptr;
      if (here) found = here;
    }
    return found;
  }
  const auto* of = find_service(name.substr(0, end));
  return of ? of->FindMethodByName(std::string(name.substr(end + 1))) : nullptr;
}

const pb::MethodDescriptor& schema::method(std::string_view name) {
  if (const auto* found = find_method(name)) return *found;
  throw unknown_name("method", name, method_names());
}

std::vector<std::string> schema::method_names() {
  std::vector<std::string> all;
  for (const auto* s : defined_services())
    for (int i = 0; i < s->method_count(); ++i) all.push_back(path_of(*s->method(i)).substr(1));
  return all;
}

namespace {

void add_types(std::vector<std::string>& to, const pb::Descriptor& type) {
  if (type.options().map_entry()) return;
  to.push_back(std::string(type.full_name()));
  for (int i = 0; i < type.nested_type_count(); ++i) add_types(to, *type.nested_type(i));
  for (int i = 0; i < type.enum_type_count(); ++i) to.push_back(std::string(type.enum_type(i)->full_name()));
}

}  // namespace

std::vector<std::string> schema::type_names() {
  std::vector<std::string> all;
  for (const auto* const file : files()) {
    if (file->package() == "google.protobuf") continue;
    for (int i = 0; i < file->message_type_count(); ++i) add_types(all, *file->message_type(i));
    for (int i = 0; i < file->enum_type_count(); ++i)
      all.push_back(std::string(file->enum_type(i)->full_name()));
  }
  return all;
}

const pb::Descriptor* schema::find_message(const std::string& name) {
  return pool_.FindMessageTypeByName(std::string(without_dot(name)));
}
std::vector<const pb::FileDescriptor*> schema::files() {
  std::vector<const pb::FileDescriptor*> all;
  const std::vector<std::string> first = from_->first();
  for (const std::string& name : first) all.push_back(pool_.FindFileByName(name));
  if (first.empty())
    for (const auto* one : defined_services()) all.push_back(one->file());
  return with_imports(all);
}

namespace {

void find_ending(const pb::Descriptor& type, std::string_view parts,
                 std::vector<const pb::Descriptor*>& found) {
  if (ends_in_parts(type.full_name(), parts)) found.push_back(&type);
  for (int i = 0; i < type.nested_type_count(); ++i) find_ending(*type.nested_type(i), parts, found);
}

}  // namespace

const pb::Descriptor* schema::find_message_ending(std::string_view parts) {
  std::vector<const pb::Descriptor*> found;
  for (const pb::FileDescriptor* const file : files())
    for (int i = 0; i < file->message_type_count(); ++i)
      find_ending(*file->message_type(i), without_dot(parts), found);
  return found.size() == 1 ? found.front() : nullptr;
}

namespace {

void find_enums_ending(const pb::Descriptor& type, std::string_view parts,
                       std::vector<const pb::EnumDescriptor*>& found) {
  for (int i = 0; i < type.enum_type_count(); ++i)
    if (ends_in_parts(type.enum_type(i)->full_name(), parts)) found.push_back(type.enum_type(i));
  for (int i = 0; i < type.nested_type_count(); ++i) find_enums_ending(*type.nested_type(i), parts, found);
}

}  // namespace

const pb::EnumDescriptor* schema::find_enum_ending(std::string_view parts) {
  parts = without_dot(parts);
  std::vector<const pb::EnumDescriptor*> found;
  for (const pb::FileDescriptor* const file : files()) {
    for (int i = 0; i < file->enum_type_count(); ++i)
      if (ends_in_parts(file->enum_type(i)->full_name(), parts)) found.push_back(file->enum_type(i));
    for (int i = 0; i < file->message_type_count(); ++i)
      find_enums_ending(*file->message_type(i), parts, found);
  }
  return found.size() == 1 ? found.front() : nullptr;
}

const pb::EnumDescriptor* schema::find_enum(const std::string& name) {
  return pool_.FindEnumTypeByName(std::string(without_dot(name)));
}

std::unique_ptr<pb::Message> schema::make(const pb::Descriptor& type) {
  return std::unique_ptr<pb::Message>(factory_.GetPrototype(&type)->New());
}

namespace {

std::string usual_json_name(const std::string& name) {
  std::string json;
  bool upper = false;
  for (const char c : name) {
    if (c != '_') json += upper && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    upper = c == '_';
  }
  return json;
}

void forget_in(pb::DescriptorProto& type) {
  for (pb::FieldDescriptorProto& field : *type.mutable_field())
    if (field.json_name() == usual_json_name(field.name())) field.clear_json_name();
  for (pb::DescriptorProto& inner : *type.mutable_nested_type()) forget_in(inner);
}

}  // namespace

void forget_usual_json_names(pb::FileDescriptorProto& file) {
  for (pb::DescriptorProto& type : *file.mutable_message_type()) forget_in(type);
}

bool is_of_grpc(std::string_view service) noexcept {
  constexpr std::string_view all[] = {"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                                      "grpc.reflection.v1alpha.ServerReflection",
                                      "grpc.channelz.v1.Channelz"};
  return std::find(std::begin(all), std::end(all), service) != std::end(all);
}

std::string path_of(const pb::MethodDescriptor& method) {
  return "/" + std::string(method.service()->full_name()) + "/" + std::string(method.name());
}

}  // namespace coracle::tools
