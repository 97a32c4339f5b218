// encode_spans: finished spans as messages of opentelemetry.proto.trace.v1.
#pragma once

#include "coracle/telemetry/finished_span.hpp"
#include "telemetry/otlp/requests.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace coracle::telemetry_internal {

[[nodiscard]] encoded_batch encode_spans(std::span<const finished_span> spans, std::string_view resource,
                                         std::size_t request_bytes_max);

// AnyValue.
[[nodiscard]] std::string encode_any(const attribute_value& value);
// KeyValue, as the field `field`.
void put_attributes(std::string& to, std::uint32_t field, const attribute_list& attributes);

}  // namespace coracle::telemetry_internal
