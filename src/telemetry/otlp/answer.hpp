// answer: what a collector's answer to an export request means (OTLP specification, "Failures").
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/rpc/bytes_message.hpp"
#include "telemetry/otlp/wire.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

struct export_answer {
  enum class kind : std::uint8_t {
    delivered,  // also partly: see rejected
    retry,      // the same request may succeed later
    refused,    // it never will
  };
  kind type = kind::refused;
  std::optional<duration> pause;  // at least so long before the next request, if the collector asked for it
  std::uint64_t rejected = 0;  // items, of a request that was delivered
  std::string reason;  // of a failure, or a warning of the collector; for the log
};

[[nodiscard]] export_answer read_grpc_answer(const result<bytes_message>& reply);
// `http_status` is 0 if no response arrived. `retry_after` is the value of that header.
[[nodiscard]] export_answer read_http_answer(const result<bytes_message>& reply, int http_status,
                                             std::string_view retry_after, wall_time now);
// The value of Retry-After (RFC 9110 10.2.3): seconds, or a date in the form of IMF-fixdate. Nothing, if it
// is neither.
[[nodiscard]] std::optional<duration> parse_retry_after(std::string_view text, wall_time now);

}  // namespace coracle::telemetry_internal
