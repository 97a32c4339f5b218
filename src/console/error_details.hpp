// error_details: the types of google/rpc/error_details.proto, which a console knows without a server's help.
#pragma once

#include <memory>
#include <string>

namespace google::protobuf {
class Descriptor;
class Message;
}  // namespace google::protobuf

namespace coracle::console {

// Null if there is no such type. It lives as long as the program.
[[nodiscard]] const google::protobuf::Descriptor* find_error_detail(const std::string& type_name);

// An empty message of a type that find_error_detail() returned.
[[nodiscard]] std::unique_ptr<google::protobuf::Message> make_error_detail(
    const google::protobuf::Descriptor& type);

}  // namespace coracle::console
