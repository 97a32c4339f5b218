#include "codegen/model.hpp"

#include "codegen/comments.hpp"
#include "codegen/names.hpp"
#include "codegen/options.hpp"

#include <google/protobuf/compiler/code_generator.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

namespace coracle::codegen {

namespace {

// Newer versions of protobuf hand out names as views; this project wants strings from all of them.
template <class Descriptor>
std::string full_name_of(const Descriptor& described) {
  return std::string(described.full_name());
}

std::string stem_of(const google::protobuf::FileDescriptor& file) {
  return std::string(google::protobuf::compiler::StripProto(std::string(file.name())));
}

// As calls name it.
std::string wire_name(const google::protobuf::ServiceDescriptor& service, const options& wanted) {
  if (!wanted.wire_package) return full_name_of(service);
  return concat({*wanted.wire_package, ".", std::string(service.name())});
}

method_model model_of(const google::protobuf::MethodDescriptor& method, const options& wanted) {
  method_model m;
  m.comments = comments_of(method);
  m.name = method_name(method);
  m.path = concat({"/", wire_name(*method.service(), wanted), "/", std::string(method.name())});
  m.request = message_class(*method.input_type());
  m.reply = message_class(*method.output_type());
  m.streams_requests = method.client_streaming();
  m.streams_replies = method.server_streaming();
  m.deprecated = method.options().deprecated();
  return m;
}

service_model model_of(const google::protobuf::ServiceDescriptor& service, const options& wanted) {
  service_model s;
  s.comments = comments_of(service);
  s.name = service_class(service);
  s.full_name = wire_name(service, wanted);
  s.fake = fake_class(service, s.name);
  s.fake_group = fake_group(service);
  s.deprecated = service.options().deprecated();
  for (int i = 0; i < service.method_count(); ++i) s.methods.push_back(model_of(*service.method(i), wanted));
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

file_model model_of(const google::protobuf::FileDescriptor& file, const options& wanted) {
  file_model f;
  f.proto = std::string(file.name());
  f.header = concat({stem_of(file), ".coracle.hpp"});
  f.fake_header = concat({stem_of(file), ".coracle.fake.hpp"});
  f.messages = concat({stem_of(file), ".pb.h"});
  f.name_space = package_namespace(std::string(file.package()));
  if (!f.name_space.empty()) f.name_space += "::";
  f.name_space += wanted.inner_namespace;
  for (int i = 0; i < file.service_count(); ++i) {
    f.services.push_back(model_of(*file.service(i), wanted));
    f.uses_deprecated_messages |= uses_deprecated_messages(*file.service(i));
  }
  return f;
}

std::string clash_of(const google::protobuf::FileDescriptor& file, const options& wanted) {
  const std::string first = wanted.inner_namespace.substr(0, wanted.inner_namespace.find("::"));
  std::string name(file.package());
  if (!name.empty()) name += '.';
  name += first;
  // protoc's C++ has all of these in the namespace of the package.
  const auto& pool = *file.pool();
  if (!pool.FindMessageTypeByName(name) && !pool.FindEnumTypeByName(name) &&
      !pool.FindEnumValueByName(name) && !pool.FindExtensionByName(name)) {
    return {};
  }
  return concat({"the services cannot be put into the namespace ", first, ", because ", name,
                 " has that name already; choose another one with the option namespace=NAME"});
}

}  // namespace coracle::codegen
