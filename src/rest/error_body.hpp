// error_body: a status as JSON of google.rpc.Status, the body of an HTTP error.
#pragma once

#include "coracle/base/status.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace google::protobuf {
class DescriptorPool;
}

namespace coracle::rest {

// Appends {"code":5,"message":"...","details":[{"@type":"type.googleapis.com/...", ...}]}. Details whose type
// `pool` has, or that error_details.hpp defines, are written as JSON; others as {"@type":...,"value":base64}.
// Null means the pool of the generated code. Text that is not UTF-8 is replaced by U+FFFD.
void write_error_body(const status& s, std::string& to,
                      const google::protobuf::DescriptorPool* pool = nullptr);

// The reverse, for a client: reads the body of a response with this HTTP status, or nothing if it is not such
// JSON. A code that gRPC does not have becomes UNKNOWN. Details that are JSON are read if `pool` or
// error_details.hpp has their type; others are left out.
[[nodiscard]] std::optional<status> read_error_body(std::string_view body,
                                                    const google::protobuf::DescriptorPool* pool = nullptr);

}  // namespace coracle::rest
