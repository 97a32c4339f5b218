// Messages as JSON text and back: protobuf's mapping, for types that are known at run time.
#pragma once

#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace coracle::tools {

// indented: over several lines. Throws failure, with protobuf's reason.
[[nodiscard]] std::string to_json(const google::protobuf::Message& message, bool indented);
// A name that the message does not have is a failure: most are slips of the pen.
void from_json(std::string_view text, google::protobuf::Message& into);

}  // namespace coracle::tools
