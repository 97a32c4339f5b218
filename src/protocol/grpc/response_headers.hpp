// response_headers: reads a server's response headers, its trailers, or both in one block.
#pragma once

#include "base/hot_and_cold.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/compress/encoding.hpp"
#include "coracle/http/header_list.hpp"
#include "http/field_slot.hpp"
#include "protocol/grpc/essential_fields.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

struct response_headers {
  int http_status = 0;  // 0: absent, as in trailers
  bool grpc_content = false;
  coracle::encoding encoding = coracle::encoding::identity;  // grpc-encoding
  bool unknown_encoding = false;
  std::string subtype;      // of the content-type; may be empty
  bool has_status = false;  // grpc-status was present
  status_code code = status_code::unknown;
  std::string message;
  std::string details;
  http::header_list metadata;  // as the application reads it: binary values are decoded
  // Whether grpc-retry-pushback-ms (gRFC A6) was present, and the time to wait. If the time is absent because
  // the value is unusable (negative, not a number, several values), the client must not retry.
  bool pushback = false;
  std::optional<duration> retry_after;
  // Not 0: the fields exceed the client's limit, and this is their size. Of those beyond the limit, only
  // essential ones were read, and of the message its beginning.
  std::uint64_t too_large_bytes = 0;

  // Reads every field of `fields`, a transport::header_source. Returns false if the block violates the rules
  // of HTTP; its content must then be ignored.
  template <class Fields>
  [[nodiscard]] bool read(Fields& fields) {
    const bool whole = fields.read([&](std::uint32_t slot, auto text) -> std::uint32_t {
      if (slot == http::static_field_slot(8)) {  // ":status: 200"
        http_status = 200;
        return 0;
      }
      switch (static_cast<meaning>(slot)) {
        case meaning::ok_status:
          has_status = true;
          code = status_code::ok;
          return 0;
        case meaning::grpc_content: grpc_content = true; return 0;
        case meaning::nothing: return 0;
        case meaning::unknown: break;
      }
      const auto field = text();
      return static_cast<std::uint32_t>(read_text(field.name, field.value));
    });
    if constexpr (requires { fields.too_large(); }) {
      if (fields.too_large()) [[unlikely]]
        return read_excess(fields);
    }
    return whole;
  }
  // Whether the messages have the content-subtype `asked`; empty means protobuf's binary format. A response
  // without a subtype is accepted, because C-core's servers send none.
  [[nodiscard]] bool has_form(std::string_view asked) const noexcept;

 private:
  // The meaning of fields that most responses have, stored as a slot, so that their text is parsed once per
  // connection.
  enum class meaning : std::uint32_t { unknown, ok_status, grpc_content, nothing };
  [[gnu::noinline]] meaning read_text(std::string_view name, std::string_view value);
  template <class Fields>
  CORACLE_COLD bool read_excess(Fields& fields) {
    essential_fields essential;
    fields.read_excess([&](std::string_view name, std::string_view value) {
      if (essential.take(name, value)) read_text(name, value);
    });
    too_large_bytes = fields.list_bytes();
    return fields.ok();
  }
  void read_pushback(std::string_view text) noexcept;
};

}  // namespace coracle::protocol::grpc
