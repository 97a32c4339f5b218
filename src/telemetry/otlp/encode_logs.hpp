// encode_logs: log lines as messages of opentelemetry.proto.logs.v1.
#pragma once

#include "coracle/base/log_record.hpp"
#include "telemetry/otlp/requests.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

// Encodes a line as a LogRecord. The limits of base/log_line.hpp apply, so that a record takes some 5 KiB at
// most, whatever a peer sends.
[[nodiscard]] std::string encode_log_record(const log_record& line);

[[nodiscard]] encoded_batch encode_logs(std::span<const std::string> records, std::string_view resource,
                                        std::size_t request_bytes_max);

}  // namespace coracle::telemetry_internal
