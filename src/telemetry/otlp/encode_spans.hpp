// encode_spans: finished spans as messages of opentelemetry.proto.trace.v1.
#pragma once

#include "coracle/telemetry/finished_span.hpp"
#include "telemetry/otlp/requests.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::telemetry_internal {

struct spans_batch {
  std::vector<export_request> requests;
  std::size_t too_large = 0;  // spans that fit into no request
};

[[nodiscard]] spans_batch encode_spans(std::span<const finished_span> spans, std::string_view resource,
                                       std::size_t request_bytes_max);

// AnyValue; also of log records.
[[nodiscard]] std::string encode_any(const attribute_value& value);
// KeyValue, as the field `field`.
void put_attributes(std::string& to, std::uint32_t field, const attribute_list& attributes);

}  // namespace coracle::telemetry_internal
