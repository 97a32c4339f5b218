#include "codegen/model.hpp"

#include "codegen/comments.hpp"
#include "codegen/names.hpp"
#include "codegen/options.hpp"

#include <google/protobuf/compiler/code_generator.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::codegen {

namespace {

// Newer versions of protobuf return names as views; this project needs strings with all of them.
template <class Descriptor>
std::string full_name_of(const Descriptor& described) {
  return std::string(described.full_name());
}

std::string stem_of(const google::protobuf::FileDescriptor& file) {
  return std::string(google::protobuf::compiler::StripProto(std::string(file.name())));
}

// The full name of the service in the paths of calls.
std::string wire_name(const google::protobuf::ServiceDescriptor& service, const options& chosen) {
  if (!chosen.wire_package) return full_name_of(service);
  return concat({*chosen.wire_package, ".", std::string(service.name())});
}

method_model model_of(const google::protobuf::MethodDescriptor& method, const options& chosen) {
  method_model m;
  m.comments = comments_of(method);
  m.name = method_name(method);
  m.path = concat({"/", wire_name(*method.service(), chosen), "/", std::string(method.name())});
  m.request = message_class(*method.input_type());
  m.reply = message_class(*method.output_type());
  m.streams_requests = method.client_streaming();
  m.streams_replies = method.server_streaming();
  m.no_side_effects =
      method.options().idempotency_level() == google::protobuf::MethodOptions::NO_SIDE_EFFECTS;
  m.deprecated = method.options().deprecated();
  return m;
}

service_model model_of(const google::protobuf::ServiceDescriptor& service, const options& chosen) {
  service_model s;
  s.comments = comments_of(service);
  s.name = service_class(service);
  s.full_name = wire_name(service, chosen);
  s.fake = fake_class(service, s.name);
  s.fake_group = fake_group(service);
  s.deprecated = service.options().deprecated();
  for (int i = 0; i < service.method_count(); ++i) s.methods.push_back(model_of(*service.method(i), chosen));
  return s;
}

bool uses_deprecated_messages(const google::protobuf::ServiceDescriptor& service) {
  for (int i = 0; i < service.method_count(); ++i) {
    const auto& method = *service.method(i);
    if (method.input_type()->options().deprecated() || method.output_type()->options().deprecated())
      return true;
  }
  return false;
}

}  // namespace

file_model model_of(const google::protobuf::FileDescriptor& file, const options& chosen) {
  file_model f;
  f.proto = std::string(file.name());
  f.header = concat({stem_of(file), ".coracle.hpp"});
  f.fake_header = concat({stem_of(file), ".coracle.fake.hpp"});
  f.module_file = concat({stem_of(file), ".coracle.cppm"});
  f.module = chosen.module;
  f.messages = concat({stem_of(file), ".pb.h"});
  f.package_space = package_namespace(std::string(file.package()));
  f.types = declared_names(file);
  f.name_space = f.package_space;
  if (!f.name_space.empty()) f.name_space += "::";
  f.name_space += chosen.inner_namespace;
  for (int i = 0; i < file.service_count(); ++i) {
    f.services.push_back(model_of(*file.service(i), chosen));
    f.uses_deprecated_messages |= uses_deprecated_messages(*file.service(i));
  }
  return f;
}

namespace {

// The library's own namespace, and the package of its own copies of gRPC's services.
constexpr std::string_view library_namespace = "coracle";
constexpr std::string_view library_package = "coracle.wellknown";

bool is_within(std::string_view outer, std::string_view name, char separator) {
  return name.starts_with(outer) && (name.size() == outer.size() || name[outer.size()] == separator);
}

// protoc's C++ generator declares all of these in the namespace of the package.
bool is_declared(const google::protobuf::DescriptorPool& pool, const std::string& name) {
  return pool.FindMessageTypeByName(name) || pool.FindEnumTypeByName(name) ||
         pool.FindEnumValueByName(name) || pool.FindExtensionByName(name);
}

// The same, or a package. Services and methods have no C++ declarations except those of plugins.
bool is_declared_or_package(const google::protobuf::DescriptorPool& pool, const std::string& name) {
  return pool.FindFileContainingSymbol(name) && !pool.FindServiceByName(name) && !pool.FindMethodByName(name);
}

// The types that a file declares, by protoc's names for their C++ classes. Nested types are classes of the
// namespace, too: A.B is A_B. A name that is a keyword gets an underscore appended.
class declared_types {
 public:
  // Collects the types of the file and of all its imports, whose headers are included with its own.
  explicit declared_types(const google::protobuf::FileDescriptor& file) { add_file(file); }

  // Returns the full name of the type with this C++ name, which begins with "::"; empty if there is none.
  [[nodiscard]] std::string find(const std::string& name) const {
    const auto found = types_.find(name);
    return found == types_.end() ? std::string() : found->second;
  }

 private:
  void add_file(const google::protobuf::FileDescriptor& file) {
    if (!files_.insert(&file).second) return;
    for (int i = 0; i < file.dependency_count(); ++i) add_file(*file.dependency(i));
    for (int i = 0; i < file.message_type_count(); ++i) add_message(*file.message_type(i));
    for (int i = 0; i < file.enum_type_count(); ++i) add_enum(*file.enum_type(i));
  }
  void add_message(const google::protobuf::Descriptor& message) {
    types_.emplace(message_class(message), full_name_of(message));
    for (int i = 0; i < message.nested_type_count(); ++i) add_message(*message.nested_type(i));
    for (int i = 0; i < message.enum_type_count(); ++i) add_enum(*message.enum_type(i));
  }
  // The values of an enum within a message begin with its name: those of the enum E of A are A_E_VALUE.
  void add_enum(const google::protobuf::EnumDescriptor& choices) {
    const std::string name = enum_class(choices);
    types_.emplace(name, full_name_of(choices));
    for (int i = 0; choices.containing_type() && i < choices.value_count(); ++i) {
      const auto& value = *choices.value(i);
      types_.emplace(concat({name, "_", std::string(value.name())}), full_name_of(value));
    }
  }

  std::set<const google::protobuf::FileDescriptor*> files_;
  std::map<std::string, std::string> types_;
};

std::string reservation_of(const std::string& package, const options& chosen) {
  if (is_within(library_namespace, package, '.') && !is_within(library_package, package, '.'))
    return concat(
        {"the package ", package,
         " is reserved, because protoc puts its messages into the namespace coracle of the library, "
         "whatever the option namespace=NAME says; choose another package, and keep the paths of calls with "
         "the option wire_package=",
         package});
  if (package.empty() && is_within(library_namespace, chosen.inner_namespace, ':'))
    return concat({"the services cannot be put into the namespace ", chosen.inner_namespace,
                   ", because coracle is the namespace of the library; choose another one with the option "
                   "namespace=NAME"});
  return {};
}

}  // namespace

std::string clash_of(const google::protobuf::FileDescriptor& file, const options& chosen) {
  const std::string package(file.package());
  if (std::string reserved = reservation_of(package, chosen); !reserved.empty()) return reserved;
  if (file.service_count() == 0) return {};
  const auto& pool = *file.pool();
  const declared_types types(file);
  const std::string& inner = chosen.inner_namespace;
  std::string name = package;
  const std::string outer = package.empty() ? "::" : concat({"::", package_namespace(package), "::"});
  for (std::size_t at = 0; at < inner.size();) {
    const std::size_t end = std::min(inner.find("::", at), inner.size());
    if (!name.empty()) name += '.';
    name.append(inner, at, end - at);
    if (is_declared(pool, name))
      return concat({"the services cannot be put into the namespace ", inner.substr(0, end), ", because ",
                     name, " already has that name; choose another one with the option namespace=NAME"});
    if (const std::string type = types.find(outer + inner.substr(0, end)); !type.empty())
      return concat({"the services cannot be put into the namespace ", inner.substr(0, end), ", because ",
                     type,
                     " already has that name in C++; choose another one with the option namespace=NAME"});
    at = end + 2;
  }
  for (int i = 0; i < file.service_count(); ++i) {
    const auto& service = *file.service(i);
    std::vector<std::string> classes{service_class(service)};
    if (chosen.fakes) classes.push_back(fake_class(service, classes.front()));
    for (const std::string& made : classes) {
      const std::string whole = concat({name, ".", made});
      if (is_declared_or_package(pool, whole))
        return concat({"the service ", full_name_of(service), " cannot have the class ", inner, "::", made,
                       ", because ", whole,
                       " already has that name; choose another namespace with the option namespace=NAME"});
      if (const std::string type = types.find(concat({outer, inner, "::", made})); !type.empty())
        return concat(
            {"the service ", full_name_of(service), " cannot have the class ", inner, "::", made,
             ", because ", type,
             " already has that name in C++; choose another namespace with the option namespace=NAME"});
    }
  }
  return {};
}

}  // namespace coracle::codegen
