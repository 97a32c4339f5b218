// The readers of gRPC-Web and of Connect. The first byte of the input chooses the reader, the second how
// the rest is cut into pieces.
#include "coracle/base/bytes.hpp"
#include "coracle/base/impl/base64.hpp"
#include "protocol/connect/code.hpp"
#include "protocol/connect/content_type.hpp"
#include "protocol/connect/encodings.hpp"
#include "protocol/connect/error.hpp"
#include "protocol/connect/get_request.hpp"
#include "protocol/connect/timeout.hpp"
#include "protocol/cors.hpp"
#include "protocol/grpc_web/content_type.hpp"
#include "protocol/grpc_web/text_body.hpp"
#include "protocol/grpc_web/trailers.hpp"
#include "protocol/web/media_type.hpp"
#include "protocol/web/origin.hpp"
#include "protocol/web/uri.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

using namespace coracle;
using namespace coracle::protocol;

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

// Calls f with pieces of `text` of that size, each in memory of its own. Stops when f returns false.
template <class F>
bool in_pieces(std::string_view text, std::size_t size, F f) {
  for (std::size_t at = 0; at < text.size(); at += size)
    if (!f(std::string(text.substr(at, size)))) return false;
  return true;
}

void text_body(std::string_view text, std::size_t size) {
  std::string whole, cut;
  grpc_web::text_decoder at_once, in_parts;
  const bool fine = at_once.decode(text, whole);
  require(in_pieces(text, size, [&](const std::string& p) { return in_parts.decode(p, cut); }) == fine);
  require(cut == whole && at_once.complete() == in_parts.complete());
  if (!at_once.complete()) return;
  // Without padding in its middle, it is what the decoder of complete texts accepts, too.
  if (text.find('=') >= text.size() - std::min<std::size_t>(text.size(), 2)) {
    std::string expected;
    require(base::base64_decode(text, expected) && expected == whole);
  }
  grpc_web::text_encoder encoder;
  std::string again, back;
  in_pieces(whole, size, [&](const std::string& p) { return encoder.encode(as_bytes(p), again), true; });
  encoder.flush(again);
  require(again == base::padded_base64(whole));
  grpc_web::text_decoder reader;
  require(reader.decode(again, back) && reader.complete() && back == whole);
}

// Returns whether the lines are valid.
bool read_lines(std::string_view content, http::header_list& out) {
  grpc_web::trailer_lines lines(content);
  return lines.read([&](std::uint32_t, auto text) {
    const http::header_view field = text();
    out.add(field.name, field.value);
  });
}

void trailers(std::string_view content) {
  http::header_list fields, back;
  if (!read_lines(content, fields)) return;
  require(fields.size() <= grpc_web::trailer_fields_max);
  grpc_web::trailer_block block;
  for (const auto field : fields) block.add(field.name, field.value);
  const std::string frame = block.take_frame();
  require(read_lines(std::string_view(frame).substr(envelope_prefix_bytes), back) && back == fields);
}

struct body {
  std::string messages;
  std::string last;
  web::body_reader::state end = web::body_reader::state::need_more;
  bool complete = false;
  friend bool operator==(const body&, const body&) = default;
};

body read_body(std::string_view bytes, std::size_t size) {
  using state = web::body_reader::state;
  grpc_web::body_reader reader(1000);
  body out;
  in_pieces(bytes, size, [&](const std::string& piece) {
    bytes_view rest = as_bytes(piece);
    while (true) {
      switch (const state s = reader.next(rest)) {
        case state::need_more: return true;
        case state::messages: out.messages += as_text(reader.messages()); break;
        case state::last: out.last = reader.last(); break;
        default: out.end = s; return false;
      }
    }
  });
  out.complete = reader.complete();
  require(out.messages.size() + out.last.size() <= bytes.size() && out.last.size() <= 1000);
  require(!out.complete || !reader.inside_frame());
  return out;
}

void error_json(std::string_view text) {
  const connect::error e = connect::read_error(text, 401);
  require(e.code != status_code::ok);
  require(connect::read_error(connect::write_error(e.code, e.message, e.details), 401) == e);
}

void end_stream_json(std::string_view text) {
  const auto got = connect::read_end_stream(text);
  if (!got || got->metadata.size() > 100) return;
  http::header_list wire;
  for (const auto field : got->metadata) {
    if (!field.name.ends_with("-bin") || field.name.size() == 4) {
      wire.add(field.name, field.value);
      continue;
    }
    std::string encoded;
    base::base64_encode(field.value, encoded);
    wire.add(field.name, encoded);
  }
  const auto again =
      connect::read_end_stream(connect::write_end_stream(got->error ? &*got->error : nullptr, wire));
  require(again && again->error == got->error && again->metadata.size() == got->metadata.size());
}

void get_query(std::string_view query) {
  std::string reason;
  const auto got = connect::parse_get_request(query, reason);
  require(got.has_value() == reason.empty());
  if (!got) return;
  const auto target = connect::write_get_target({"/s/m", got->codec, got->compression, got->message},
                                                std::numeric_limits<std::size_t>::max());
  require(target.has_value());
  auto again = connect::parse_get_request(web::split_target(*target).query, reason);
  require(again.has_value() && again->has_version);
  again->has_version = got->has_version;
  require(again == got);
}

void header_values(std::string_view text) {
  if (const auto m = web::parse_media_type(text)) (void)m->parameter("charset");
  if (const auto c = connect::parse_content_type(text))
    require(connect::parse_content_type(connect::content_type_of(c->stream, c->codec)) == c);
  if (const auto c = grpc_web::parse_content_type(text))
    require(grpc_web::parse_content_type(grpc_web::content_type_of(c->text, c->subtype)) == c);
  if (const auto t = connect::parse_timeout(text); t && t->count() > 0)
    require(connect::parse_timeout(connect::format_timeout(*t).view()) == t);
  (void)connect::parse_accept_encoding(text);
  if (const auto where = web::parse_host_port(text)) require(web::same_host(where->host, where->host));
  if (const auto from = web::parse_origin(text)) require(web::same_origin(*from, *from) != from->opaque);
  (void)web::is_loopback_host(text);
}

void cross_origin(std::string_view text) {
  static const cors rules([] {
    cors_policy p;
    p.allowed_origins = {"https://app.example"};
    p.any_header = true;
    return p;
  }());
  cors_request r;
  r.method = "OPTIONS";
  r.authority = "api.example";
  r.origin = text.substr(0, text.find('\n'));
  r.request_method = "POST";
  r.request_headers = text.substr(std::min(text.size(), r.origin.size() + 1));
  const cors_decision d = rules.decide(r);
  http::header_list fields;
  rules.add_preflight_fields(d, r, fields);
  for (const auto field : fields) require(field.value.find_first_of("\r\n") == std::string_view::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text = as_text({data + 2, size - 2});
  const std::size_t piece = data[1] % 16 + 1u;
  switch (data[0] % 8) {
    case 0: text_body(text, piece); break;
    case 1: trailers(text); break;
    case 2: require(read_body(text, piece) == read_body(text, text.size() + 1)); break;
    case 3: error_json(text); break;
    case 4: end_stream_json(text); break;
    case 5: get_query(text); break;
    case 6: header_values(text); break;
    default: cross_origin(text); break;
  }
  return 0;
}
