#include "protocol/connect/get_request.hpp"

#include "base/printable.hpp"
#include "coracle/base/impl/base64.hpp"
#include "protocol/connect/content_type.hpp"
#include "protocol/connect/header_names.hpp"
#include "protocol/web/uri.hpp"

#include <algorithm>
#include <array>

namespace coracle::protocol::connect {

namespace {

enum parameter : unsigned char { version, codec, message, base64, compression, parameter_count };
constexpr std::array<std::string_view, parameter_count> names{"connect", "encoding", "message", "base64",
                                                              "compression"};

// RFC 4648 5, with or without padding.
bool decode_base64url(std::string text, std::string& out) {
  if (text.find_first_of("+/") != std::string::npos) return false;
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  return base::base64_decode(text, out);
}

std::string base64url(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() / 3 * 4 + 3);
  base::base64_encode(bytes, text);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

std::string quoted(parameter p) { return std::string("\"").append(names[p]).append("\""); }

}  // namespace

std::optional<get_request> parse_get_request(std::string_view query, std::string& reason) {
  std::array<std::optional<std::string>, parameter_count> values;
  const auto refuse = [&reason](std::string text) {
    reason = std::move(text);
    return std::nullopt;
  };
  web::query_pair pair;
  std::string name;
  while (web::take_query_pair(query, pair)) {
    name.clear();
    // A name with a broken escape is not one of the protocol's, and unknown parameters are ignored.
    if (!web::decode(pair.name, web::uri_part::query, name)) continue;
    const auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) continue;
    const auto p = static_cast<parameter>(known - names.begin());
    if (values[p]) return refuse("the query parameter " + quoted(p) + " occurs more than once");
    if (!web::decode(pair.value, web::uri_part::query, values[p].emplace()))
      return refuse("the query parameter " + quoted(p) + " has a broken percent escape");
  }
  if (values[version] && *values[version] != get_protocol_version)
    return refuse("the query parameter " + quoted(version) + " must be \"v1\", not \"" +
                  base::printable(*values[version]) + "\"");
  for (const parameter p : {codec, message})
    if (!values[p]) return refuse("the query parameter " + quoted(p) + " is missing");
  if (values[codec]->empty()) return refuse("the query parameter " + quoted(codec) + " is empty");
  get_request out;
  out.has_version = values[version].has_value();
  out.codec = std::move(*values[codec]);
  if (values[compression]) out.compression = std::move(*values[compression]);
  if (values[base64] == "1") {
    if (!decode_base64url(std::move(*values[message]), out.message))
      return refuse("the query parameter " + quoted(message) + " is not valid base64url");
  } else {
    out.message = std::move(*values[message]);
  }
  return out;
}

std::optional<std::string> write_get_target(const get_target_parts& parts, std::size_t bytes_max) {
  // Neither form of a message is shorter than the message; do not encode a large one in vain.
  if (parts.message.size() > bytes_max) return std::nullopt;
  const bool as_text = parts.codec == json_codec && parts.compression.empty();
  std::string out(parts.path);
  out.append("?connect=").append(get_protocol_version);
  if (!as_text) out += "&base64=1";
  if (!parts.compression.empty()) {
    out += "&compression=";
    web::encode_uri_component(parts.compression, out);
  }
  out += "&encoding=";
  web::encode_uri_component(parts.codec, out);
  out += "&message=";
  if (as_text) web::encode_uri_component(parts.message, out);
  else out += base64url(parts.message);
  if (out.size() > bytes_max) return std::nullopt;
  return out;
}

}  // namespace coracle::protocol::connect
