// names: maps the names of a .proto to names in C++.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class Descriptor;
class EnumDescriptor;
class FileDescriptor;
class MethodDescriptor;
class ServiceDescriptor;
}  // namespace google::protobuf

namespace coracle::codegen {

std::string concat(std::initializer_list<std::string_view> parts);

// The name that protoc's own C++ generator gives the class: "::pkg::Outer_Inner".
std::string message_class(const google::protobuf::Descriptor& message);
std::string enum_class(const google::protobuf::EnumDescriptor& choices);

// What protoc declares of the types of `file` for users, in the namespace of its package. Not the constants
// E_MIN and E_MAX of an enum E: a translation unit has its own.
std::vector<std::string> declared_names(const google::protobuf::FileDescriptor& file);

// A name that C++ or the generated classes use for something else gets a trailing underscore, as in protoc,
// and further ones while a sibling has the resulting name.
std::string service_class(const google::protobuf::ServiceDescriptor& service);
std::string method_name(const google::protobuf::MethodDescriptor& method);

// "a.b" becomes "a::b"; keywords are escaped as above.
std::string package_namespace(std::string_view package);

// The class of the fake of `service`, whose own class is `service_class`.
std::string fake_class(const google::protobuf::ServiceDescriptor& service, const std::string& service_class);
// The name of the member of a fake that groups the behaviours of its methods.
std::string fake_group(const google::protobuf::ServiceDescriptor& service);

// One or more identifiers joined by "::", none of them reserved.
bool is_namespace_name(std::string_view text);
// One or more identifiers joined by dots.
bool is_package_name(std::string_view text);
// Such a name that C++ does not reserve, alone or followed by a colon and that of a partition.
bool is_module_name(std::string_view text);

// Quotes `text` as a C++ string literal.
std::string literal(std::string_view text);

}  // namespace coracle::codegen
