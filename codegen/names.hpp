// From the names of a .proto to names in C++.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace google::protobuf {
class Descriptor;
class EnumDescriptor;
class MethodDescriptor;
class ServiceDescriptor;
}  // namespace google::protobuf

namespace coracle::codegen {

std::string concat(std::initializer_list<std::string_view> parts);

// As protoc's own C++ generator names the class: "::pkg::Outer_Inner".
std::string message_class(const google::protobuf::Descriptor& message);
std::string enum_class(const google::protobuf::EnumDescriptor& choices);

// A name that C++ or the generated classes use for something else gets a trailing underscore, as protoc
// does it; further ones as long as that is the name of a sibling.
std::string service_class(const google::protobuf::ServiceDescriptor& service);
std::string method_name(const google::protobuf::MethodDescriptor& method);

// "a.b" is "a::b"; keywords as above.
std::string package_namespace(std::string_view package);

// The class of the fake of `service`, which is of class `service_class`.
std::string fake_class(const google::protobuf::ServiceDescriptor& service, const std::string& service_class);
// What a fake calls the group of its methods' behaviours.
std::string fake_group(const google::protobuf::ServiceDescriptor& service);

// One or more identifiers joined by "::", none of them reserved.
bool is_namespace_name(std::string_view text);
// One or more identifiers joined by dots.
bool is_package_name(std::string_view text);

// As a C++ string literal, with its quotes.
std::string literal(std::string_view text);

}  // namespace coracle::codegen
