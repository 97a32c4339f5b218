// process_log(): the binary log of the process, which GRPC_BINARY_LOG_FILTER turns on (gRFC A16).
#pragma once

#include "coracle/telemetry/binary_log.hpp"

#include <memory>

namespace grpc::internal {

// Of all servers and channels; null if the filter is empty. The first use reads the environment; it ends the process
// with a message if the filter is malformed, as A16 demands, or the file cannot be opened. Any thread.
[[nodiscard]] const std::shared_ptr<const coracle::binary_log>& process_log();

}  // namespace grpc::internal
