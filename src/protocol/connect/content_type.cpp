#include "protocol/connect/content_type.hpp"

#include "protocol/web/ascii.hpp"
#include "protocol/web/media_type.hpp"

namespace coracle::protocol::connect {

namespace {

// What most requests have, so that they need no parser.
constexpr content usual(std::string_view value) noexcept {
  if (value == "application/proto") return {false, proto_codec};
  if (value == "application/json") return {false, json_codec};
  if (value == "application/connect+proto") return {true, proto_codec};
  if (value == "application/connect+json") return {true, json_codec};
  return {};
}

}  // namespace

std::optional<content> parse_content_type(std::string_view value) {
  if (const content c = usual(value); !c.codec.empty()) return c;
  const auto media = web::parse_media_type(value);
  if (!media || !web::equal_ignoring_case(media->type, "application")) return std::nullopt;
  constexpr std::string_view stream_prefix = "connect+";
  content c;
  c.codec = media->subtype;
  if (web::starts_with_ignoring_case(c.codec, stream_prefix)) {
    c.stream = true;
    c.codec.remove_prefix(stream_prefix.size());
    if (c.codec.empty()) return std::nullopt;
  } else if (web::starts_with_ignoring_case(c.codec, "grpc")) {
    const std::string_view after = c.codec.substr(4);
    if (after.empty() || after.front() == '+' || after.front() == '-') return std::nullopt;
  }
  if (web::equal_ignoring_case(c.codec, proto_codec)) c.codec = proto_codec;
  if (web::equal_ignoring_case(c.codec, json_codec)) {
    c.codec = json_codec;
    const auto charset = media->parameter("charset");
    if (charset && !web::equal_ignoring_case(*charset, "utf-8")) return std::nullopt;
  }
  return c;
}

}  // namespace coracle::protocol::connect
