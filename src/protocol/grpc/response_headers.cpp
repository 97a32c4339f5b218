#include "protocol/grpc/response_headers.hpp"

#include "base/percent.hpp"
#include "coracle/base/impl/base64.hpp"
#include "protocol/grpc/accepted_encodings.hpp"
#include "protocol/grpc/content_type.hpp"
#include "protocol/grpc/header_names.hpp"
#include "protocol/grpc/status_headers.hpp"
#include "protocol/grpc/wire_metadata.hpp"

#include <charconv>
#include <utility>

namespace coracle::protocol::grpc {

// Returns the meaning to store with the field.
response_headers::meaning response_headers::read_text(std::string_view name, std::string_view value) {
  if (name == status_header) {
    has_status = true;
    code = parse_status_code(value);
    return code == status_code::ok ? meaning::ok_status : meaning::unknown;
  }
  if (name == ":status") {
    http_status = 0;
    for (char c : value) http_status = http_status * 10 + (c - '0');
    return meaning::unknown;
  }
  if (name == "content-type") {
    const auto found = content_subtype(value);
    grpc_content = found.has_value();
    subtype = found.value_or("");
    return grpc_content && subtype.empty() ? meaning::grpc_content : meaning::unknown;
  }
  if (name == message_header) {
    message = base::percent_decode(value);
  } else if (name == status_details_header) {
    (void)base::base64_decode(value, details);
  } else if (name == retry_pushback_header) {
    read_pushback(value);
    metadata.add(name, value);
  } else if (name == encoding_header) {
    const auto e = accepted_encoding(value, encoding_set::all());
    unknown_encoding = !e;
    encoding = e.value_or(coracle::encoding::identity);
  } else if (is_protocol_field(name)) {
    return meaning::nothing;
  } else {
    read_wire_field(name, value, [&](std::string_view key, std::string_view one) { metadata.add(key, one); });
  }
  return meaning::unknown;
}

bool response_headers::has_form(std::string_view asked) const noexcept {
  return subtype.empty() || subtype == (asked.empty() ? std::string_view("proto") : asked);
}

void response_headers::read_pushback(std::string_view text) noexcept {
  retry_after.reset();
  if (std::exchange(pushback, true)) return;
  std::int32_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error != std::errc() || end != text.data() + text.size() || ms < 0) return;
  retry_after = std::chrono::milliseconds(ms);
}

}  // namespace coracle::protocol::grpc
