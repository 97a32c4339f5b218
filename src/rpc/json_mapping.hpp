// json_mapping: protobuf's JSON mapping with strict reading and errors that name the field. It is
// implemented in message_codec.cpp, the only file that includes protobuf's; plain_json.hpp is its fast path.
#pragma once

#include "coracle/base/status.hpp"
#include "rpc/json_syntax.hpp"

#include <string>
#include <string_view>

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace coracle::rpc {

struct json_read_options {
  bool ignore_unknown_fields = false;
  json_cost* cost = nullptr;  // of a peer's text: limits what reading it may take
};

struct json_write_options {
  bool proto_field_names = false;  // "movie_id", not "movieId"
  bool emit_defaults = false;  // fields without presence, even if they have their default value
  bool enums_as_numbers = false;
};

// Clears the message, then reads one JSON value into it. `from` is first checked by check_json()
// (rpc/json_syntax.hpp), so that all versions of protobuf accept the same text. The status is
// INVALID_ARGUMENT and names the field or the position, in words of our own; or RESOURCE_EXHAUSTED if the
// text exceeds the cost. `message` is then unspecified.
status read_json(google::protobuf::Message& message, std::string_view from, json_read_options options = {});
// The same for the value of one field of `message`, of any kind; the others are cleared.
status read_json_field(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                       std::string_view from, json_read_options options = {});

// Appends the JSON to `to`. INTERNAL if protobuf cannot write the message, such as a Timestamp out of range.
status write_json(const google::protobuf::Message& message, std::string& to, json_write_options options = {});
// The same for the value of one field. A field without a value is written as its default value, a message of
// google.protobuf (such as Timestamp) as null.
status write_json_field(const google::protobuf::Message& message,
                        const google::protobuf::FieldDescriptor& field, std::string& to,
                        json_write_options options = {});

// read_json() and write_json() without the fast path.
status read_json_by_protobuf(google::protobuf::Message& message, std::string_view from,
                             json_read_options options = {});
status write_json_by_protobuf(const google::protobuf::Message& message, std::string& to,
                              json_write_options options = {});

}  // namespace coracle::rpc
