// plain_json: a fast path of the JSON mapping, for messages and texts that need only its most common rules.
#pragma once

#include "rpc/json_syntax.hpp"

#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace coracle::rpc {

// protobuf's mapping goes through the binary format and a table of types, which takes several times as long
// as the rest of a small call. These functions handle messages of integers, bools, enums, strings, bytes and
// messages, single and repeated; reading, also floating point, maps, Timestamp, the wrappers, null and
// escapes. They return false for everything else: other well-known types, extensions, unknown fields and
// whatever is an error. protobuf's mapping then has to decide, so that each rule beyond the common ones, and
// each error, exists once (decision 0016).
//
// Where they return true, the result is what protobuf's mapping gives, and check_json() accepts the text.

// Appends the JSON to `to`, which is unchanged if the result is false.
[[nodiscard]] bool write_plain_json(const google::protobuf::Message& message, std::string& to);
// Clears the message and reads into it; `message` is unspecified if the result is false. With `cost`, each
// value is charged; the result is also false if the limit is exceeded.
[[nodiscard]] bool read_plain_json(google::protobuf::Message& message, std::string_view from,
                                   json_cost* cost = nullptr);

}  // namespace coracle::rpc
