#include "server/call/refusal.hpp"

#include "base/hot_and_cold.hpp"
#include "protocol/grpc/accepted_encodings.hpp"
#include "protocol/grpc/header_names.hpp"
#include "protocol/grpc/status_headers.hpp"
#include "server/router.hpp"
#include "transport/header_block.hpp"

#include <charconv>
#include <cstddef>
#include <span>
#include <string_view>

namespace coracle::server_internal {

namespace {

void refuse_web_call(transport::exchange x, const call_request& request, const status& reason,
                     encoding_set accepted, std::string_view retry_ms) {
  x.begin_headers();
  x.add_field(":status", "200");
  if (request.unknown_encoding)
    x.add_field(protocol::grpc::accept_encoding_header, protocol::grpc::accepted_encodings_text(accepted));
  x.end_headers(false);
  x.begin_headers();
  struct {
    void add(std::string_view name, std::string_view value) noexcept { to.add_field(name, value); }
    transport::exchange& to;
  } block{x};
  protocol::grpc::add_status(block, reason);
  if (!retry_ms.empty()) x.add_field(protocol::grpc::retry_pushback_header, retry_ms);
  x.end_headers(true);
  x.release();
}

}  // namespace

CORACLE_COLD void refuse(transport::exchange x, const call_request& request, const status& reason,
                         encoding_set accepted) {
  if (x.has_target()) return refuse_web_call(x, request, reason, accepted, {});
  transport::header_block block(request.subtype->reply_headers);
  protocol::grpc::add_status(block, reason);
  if (request.unknown_encoding)
    block.add(protocol::grpc::accept_encoding_header, protocol::grpc::accepted_encodings_text(accepted));
  const bytes_view whole[] = {block.bytes()};
  x.answer_with_block(whole);
}

namespace {

// The field grpc-retry-pushback-ms up to its value, encoded in advance.
const transport::header_block& pushback_name() {
  static const auto& block = *new transport::header_block([] {
    transport::header_block b;
    b.add(protocol::grpc::retry_pushback_header, {});
    return transport::header_block().append(
        b.bytes().first(b.bytes().size() - 1));  // without the empty value
  }());
  return block;
}

}  // namespace

CORACLE_COLD void refuse(transport::exchange x, const call_request& request, const rejection& r,
                         std::optional<int> retry_ms) {
  // The value as RFC 7541 5.2 has it: its length in 7 bits, and the digits, without Huffman's code.
  char value[1 + 11];
  char* end = value + 1;
  if (retry_ms) end = std::to_chars(end, value + sizeof value, *retry_ms).ptr;
  const std::string_view digits(value + 1, static_cast<std::size_t>(end - value - 1));
  value[0] = static_cast<char>(digits.size());
  if (x.has_target()) return refuse_web_call(x, request, r.outcome(), {}, digits);
  const bytes_view pieces[] = {request.subtype->reply_headers.bytes(), r.fields(), pushback_name().bytes(),
                               as_bytes(std::string_view(value, static_cast<std::size_t>(end - value)))};
  x.answer_with_block(std::span(pieces).first(retry_ms ? 4 : 2));
}

}  // namespace coracle::server_internal
