// entry_text: an entry of a binary log as a line for people, or as a line of JSON.
#pragma once

#include "grpc/binarylog/v1/binarylog.pb.h"

#include <string>
#include <string_view>

namespace coracle::tools {

// One line, and one for each pair of metadata. `method` is that of the call, which its first entry alone
// names.
std::string entry_lines(const ::grpc::binarylog::v1::GrpcLogEntry& entry, std::string_view method);
std::string entry_json(const ::grpc::binarylog::v1::GrpcLogEntry& entry, std::string_view method);

}  // namespace coracle::tools
