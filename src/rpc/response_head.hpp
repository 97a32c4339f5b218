// response_head: what a block of fields from a server says: the head, the trailers, or both in one.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/compress/encoding.hpp"
#include "coracle/rpc/metadata.hpp"
#include "transport/exchange_handler.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace coracle::calls {

struct response_head {
  int http_status = 0;  // 0: not said, as in trailers
  bool grpc_content = false;
  coracle::encoding encoding = coracle::encoding::identity;  // grpc-encoding
  bool unknown_encoding = false;
  std::string subtype;  // of the content-type; may be empty
  bool has_status = false;  // grpc-status was there
  status_code code = status_code::unknown;
  std::string message;
  std::string details;
  coracle::metadata metadata;
  // grpc-retry-pushback-ms (gRFC A6): said, and how long to wait; said without a time that can be read (negative,
  // not a number, several) means: do not retry.
  bool pushback = false;
  std::optional<duration> retry_after;

  // Pulls every field. False when the block breaks HTTP's rules: forget it, on_reset() follows.
  [[nodiscard]] bool read(transport::header_source& fields);
  // The messages are in the form that was asked for; empty is the binary format. A server that names none, as
  // C-core's do for any, is believed.
  [[nodiscard]] bool has_form(std::string_view asked) const noexcept;

 private:
  // Of the fields that most responses have; left as a slot, so that their text is looked at once.
  enum class meaning : std::uint32_t { unknown, ok_status, grpc_content, nothing };
  static constexpr std::uint32_t slot_of(meaning m) noexcept { return static_cast<std::uint32_t>(m); }
  [[gnu::noinline]] meaning read_text(const transport::field& f);
  void read_pushback(std::string_view text) noexcept;
};

}  // namespace coracle::calls
