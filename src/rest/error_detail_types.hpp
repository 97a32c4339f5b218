// error_detail_types: the descriptors of google.rpc's error details, for programs without generated code of
// them.
#pragma once

#include <string_view>

namespace google::protobuf {
class Descriptor;
}

namespace coracle::rest {

// Returns the type of that full name, such as "google.rpc.ErrorInfo", or null. The descriptors are never
// destroyed, and in no pool of the program.
[[nodiscard]] const google::protobuf::Descriptor* find_error_detail_type(std::string_view full_name);

}  // namespace coracle::rest
