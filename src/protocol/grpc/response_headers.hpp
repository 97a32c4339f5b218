// response_headers: what a server says in its response headers, its trailers, or both in one block.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/compress/encoding.hpp"
#include "coracle/http/header_list.hpp"
#include "http/field_slot.hpp"

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
  bool has_status = false;  // grpc-status was there
  status_code code = status_code::unknown;
  std::string message;
  std::string details;
  http::header_list metadata;  // as the application reads it: binary values are decoded
  // grpc-retry-pushback-ms (gRFC A6): present, and how long to wait; present without a time that can be read (negative,
  // not a number, several) means: do not retry.
  bool pushback = false;
  std::optional<duration> retry_after;

  // Reads every field of `fields`, a transport::header_source. False when the block breaks HTTP's rules: its content is
  // then to be ignored.
  template <class Fields>
  [[nodiscard]] bool read(Fields& fields) {
    return fields.read([&](std::uint32_t slot, auto text) -> std::uint32_t {
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
  }
  // The messages are in the form that was asked for; empty is the binary format. A response that names no form is
  // accepted, since C-core's servers name none.
  [[nodiscard]] bool has_form(std::string_view asked) const noexcept;

 private:
  // Of the fields that most responses have; left as a slot, so that their text is read once per connection.
  enum class meaning : std::uint32_t { unknown, ok_status, grpc_content, nothing };
  [[gnu::noinline]] meaning read_text(std::string_view name, std::string_view value);
  void read_pushback(std::string_view text) noexcept;
};

}  // namespace coracle::protocol::grpc
