#include "rpc/response_head.hpp"

#include "protocol/grpc/base64.hpp"
#include "protocol/grpc/content_type.hpp"
#include "protocol/grpc/status_mapping.hpp"
#include "protocol/grpc/status_message.hpp"
#include "rpc/accepted_encodings.hpp"
#include "rpc/wire_metadata.hpp"

#include <charconv>
#include <cstdint>
#include <utility>

namespace coracle::calls {

namespace {

// ":status: 200"
constexpr std::uint32_t slot_of_200 = http2::header_reader::static_slot(8);

}  // namespace

bool response_head::read(transport::header_source& fields) {
  return fields.read([&](std::uint32_t slot, auto text) -> std::uint32_t {
    switch (slot) {
      case slot_of(meaning::ok_status):
        has_status = true;
        code = status_code::ok;
        return 0;
      case slot_of(meaning::grpc_content): grpc_content = true; return 0;
      case slot_of(meaning::nothing): return 0;
      case slot_of_200: http_status = 200; return 0;
      default: return slot_of(read_text(text()));
    }
  });
}

// Gives what to leave at the field.
response_head::meaning response_head::read_text(const transport::field& f) {
  if (f.name == "grpc-status") {
    has_status = true;
    code = protocol::grpc::parse_status_code(f.value);
    return code == status_code::ok ? meaning::ok_status : meaning::unknown;
  }
  if (f.name == ":status") {
    http_status = 0;
    for (char c : f.value) http_status = http_status * 10 + (c - '0');
    return meaning::unknown;
  }
  if (f.name == "content-type") {
    const auto name = protocol::grpc::content_subtype(f.value);
    grpc_content = name.has_value();
    subtype = name.value_or("");
    return grpc_content && subtype.empty() ? meaning::grpc_content : meaning::unknown;
  }
  if (f.name == "grpc-message") {
    message = protocol::grpc::percent_decode(f.value);
  } else if (f.name == "grpc-status-details-bin") {
    protocol::grpc::base64_decode(f.value, details);
  } else if (f.name == "grpc-retry-pushback-ms") {
    read_pushback(f.value);
  } else if (f.name == "grpc-encoding") {
    const auto e = accepted_encoding(f.value, encoding_set::all());
    unknown_encoding = !e;
    encoding = e.value_or(coracle::encoding::identity);
  } else if (is_reserved_key(f.name)) {
    return meaning::nothing;
  } else {
    add_wire_field(metadata, f.name, f.value);
  }
  return meaning::unknown;
}

bool response_head::has_form(std::string_view asked) const noexcept {
  return subtype.empty() || subtype == (asked.empty() ? std::string_view("proto") : asked);
}

void response_head::read_pushback(std::string_view text) noexcept {
  retry_after.reset();
  if (std::exchange(pushback, true)) return;
  std::int32_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error != std::errc() || end != text.data() + text.size() || ms < 0) return;
  retry_after = std::chrono::milliseconds(ms);
}

}  // namespace coracle::calls
