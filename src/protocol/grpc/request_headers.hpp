// request_headers: reads a client's request headers in one pass, and writes them.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/compress/encoding.hpp"
#include "http/field_slot.hpp"
#include "protocol/grpc/accepted_encodings.hpp"
#include "protocol/grpc/content_type.hpp"
#include "protocol/grpc/header_names.hpp"
#include "protocol/grpc/timeout.hpp"
#include "protocol/grpc/wire_metadata.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::protocol::grpc {

struct request_headers {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  enum class verb : std::uint8_t { other, get, head, post, put, patch, remove, options };
  enum class content : std::uint8_t { none, other, grpc };
  verb method = verb::other;
  content type = content::none;
  bool root_path = false;  // :path is "/"
  bool bad_timeout = false;
  bool bad_metadata = false;  // a -bin value is not valid base64
  bool unknown_encoding = false;
  encoding received = encoding::identity;  // grpc-encoding
  encoding_set accepted;  // grpc-accept-encoding
  std::uint32_t route_index = none;  // find_route()'s result for :path
  std::uint32_t subtype_index = none;  // find_subtype()'s result for the content-type, if it is content::grpc
  duration timeout = duration::max();
  // :authority, or else host, if the reader was given a place for that of the connection.
  [[nodiscard]] std::string_view authority() const noexcept {
    return other_authority.empty() ? connection_authority : std::string_view(other_authority);
  }
  std::string_view connection_authority;
  // Values of a request for an unregistered method:
  std::string unknown_path;  // a :path without a route; set if keeps_unknown_paths()
  std::string other_content_type;  // if it is content::other
  std::string other_authority;  // one that is not that of the connection's first request
};

// `Routes` is what the server knows when it reads a request:
//   std::optional<std::uint32_t> find_route(path), find_subtype(name)   each smaller than 2^19
//   bool keeps_unknown_paths()
//   encoding_set encodings                                              those permitted in requests
//
// Most fields of most requests repeat from call to call. The meaning of a field is stored as a slot with its
// HPACK entry, so that its text is parsed once per connection.
template <class Routes, class Metadata>
class request_reader {
 public:
  // authority: where the connection keeps the :authority of its requests, which rarely changes; may be null.
  request_reader(const Routes& routes, request_headers& out, Metadata& received,
                 std::unique_ptr<std::string>* authority = nullptr) noexcept
      : routes_(routes), out_(out), received_(received), authority_(authority) {}

  // Reads every field of `fields`, a transport::header_source. Metadata is passed to received.add_received().
  // Returns false if the block violates the rules of HTTP/2.
  template <class Fields>
  [[nodiscard]] bool read(Fields& fields) {
    return fields.read([&](std::uint32_t slot, auto text) -> std::uint32_t {
      if (meaning_of(slot) == meaning::metadata) {
        const auto field = text();
        received_.add_received(field.name, field.value);
      } else if (!by_slot(slot)) {
        const auto field = text();
        return by_text(field.name, field.value);
      }
      return 0;
    });
  }

 private:
  // A slot consists of the field's meaning (upper bits) and a detail.
  enum class meaning : std::uint32_t {
    unknown = 0,
    nothing,
    get,
    head,
    post,
    route,
    path_root,
    grpc_content,
    grpc_encoding,
    accept_encoding,
    authority,
    metadata
  };
  static constexpr unsigned detail_bits = 19;
  static constexpr std::uint32_t detail_max = (1u << detail_bits) - 1;
  // Returns 0, which is not a slot, if the detail does not fit.
  static constexpr std::uint32_t slot_of(meaning m, std::uint32_t detail = 0) noexcept {
    return detail > detail_max ? 0 : (static_cast<std::uint32_t>(m) << detail_bits) | detail;
  }
  static constexpr meaning meaning_of(std::uint32_t slot) noexcept {
    return static_cast<meaning>(slot >> detail_bits);
  }
  static constexpr std::uint32_t detail_of(std::uint32_t slot) noexcept { return slot & detail_max; }
  static_assert(((static_cast<std::uint32_t>(meaning::metadata) << detail_bits) | detail_max) <=
                http::field_slot_max);

  // Applies the field; returns the slot to store, 0 for none.
  [[gnu::noinline]] std::uint32_t by_text(std::string_view name, std::string_view value) {
    if (name.front() == ':') return pseudo(name, value);
    if (name == "content-type") return content_type(value);
    if (name == "te" || name == "content-length") return slot_of(meaning::nothing);
    // RFC 9113 8.3.1: nginx and HAProxy pass on the Host of HTTP/1.1 in place of :authority.
    if (name == "host") return authority_ && out_.authority().empty() ? authority(value) : 0;
    if (name == timeout_header) {
      const auto parsed = parse_timeout(value);
      out_.bad_timeout = !parsed;
      if (parsed) out_.timeout = *parsed;
      return 0;
    }
    if (name == encoding_header) {
      if (const auto e = accepted_encoding(value, routes_.encodings))
        return act(slot_of(meaning::grpc_encoding, static_cast<std::uint32_t>(*e)));
      out_.unknown_encoding = true;
      return 0;
    }
    if (name == accept_encoding_header)
      return act(slot_of(meaning::accept_encoding, parse_accepted_encodings(value).bits()));
    if (is_binary_key(name)) {
      const auto put = [&](std::string_view key, std::string_view one) { received_.add_received(key, one); };
      if (!read_wire_field(name, value, put)) out_.bad_metadata = true;
      return 0;
    }
    received_.add_received(name, value);
    return slot_of(meaning::metadata);
  }

  // Applies a slot of any meaning except `metadata`. Returns false if the slot has no meaning, and the text
  // must be read.
  bool by_slot(std::uint32_t slot) {
    using verb = request_headers::verb;
    switch (meaning_of(slot)) {
      case meaning::unknown:
      case meaning::metadata: return false;
      case meaning::nothing: return true;
      case meaning::get: return out_.method = verb::get, true;
      case meaning::head: return out_.method = verb::head, true;
      case meaning::post: return out_.method = verb::post, true;
      case meaning::route: return out_.route_index = detail_of(slot), true;
      case meaning::path_root: return out_.root_path = true;
      case meaning::grpc_content:
        out_.type = request_headers::content::grpc;
        out_.subtype_index = detail_of(slot);
        return true;
      case meaning::grpc_encoding: return out_.received = static_cast<encoding>(detail_of(slot)), true;
      case meaning::authority: return out_.connection_authority = **authority_, true;
      case meaning::accept_encoding: return out_.accepted = encoding_set::from_bits(detail_of(slot)), true;
    }
    switch (slot) {
      case http::static_field_slot(2): return out_.method = verb::get, true;
      case http::static_field_slot(3): return out_.method = verb::post, true;
      case http::static_field_slot(6):
      case http::static_field_slot(7): return true;  // :scheme
      default: return false;
    }
  }

  std::uint32_t pseudo(std::string_view name, std::string_view value) {
    if (name == ":method") return method(value);
    if (name == ":path") {
      if (const std::optional<std::uint32_t> route = routes_.find_route(value)) {
        out_.route_index = *route;
        return slot_of(meaning::route, *route);
      }
      if (routes_.keeps_unknown_paths()) out_.unknown_path = value;
      return value == "/" ? act(slot_of(meaning::path_root)) : 0;
    }
    if (name == ":authority" && authority_) return authority(value);
    return slot_of(meaning::nothing);  // :scheme has no effect here
  }

  std::uint32_t method(std::string_view value) {
    using verb = request_headers::verb;
    if (value == "POST") return act(slot_of(meaning::post));
    if (value == "GET") return act(slot_of(meaning::get));
    if (value == "HEAD") return act(slot_of(meaning::head));
    out_.method = value == "PUT"       ? verb::put
                  : value == "PATCH"   ? verb::patch
                  : value == "DELETE"  ? verb::remove
                  : value == "OPTIONS" ? verb::options
                                       : verb::other;
    return 0;
  }

  // The slots of a connection refer to the first authority. A request to another one replaces it only for
  // this request, since slots may be read later.
  std::uint32_t authority(std::string_view value) {
    constexpr std::size_t kept_bytes = 256;
    if (!*authority_ && value.size() <= kept_bytes) *authority_ = std::make_unique<std::string>(value);
    if (*authority_ && **authority_ == value) return act(slot_of(meaning::authority));
    out_.other_authority = value;
    return 0;
  }

  std::uint32_t content_type(std::string_view value) {
    const std::optional<std::string_view> name = content_subtype(value);
    if (const std::optional<std::uint32_t> known = name ? routes_.find_subtype(*name) : std::nullopt)
      return act(slot_of(meaning::grpc_content, *known));
    out_.type = request_headers::content::other;
    out_.other_content_type = value;
    return 0;
  }

  std::uint32_t act(std::uint32_t slot) {
    by_slot(slot);
    return slot;
  }

  const Routes& routes_;
  request_headers& out_;
  Metadata& received_;
  std::unique_ptr<std::string>* const authority_;
};

// The header fields that all calls of a method with the same options share.
struct request_fields {
  std::string_view scheme;
  std::string_view path;
  std::string_view authority;
  std::string_view subtype;  // of the content-type; empty: protobuf's binary format
  encoding sent = encoding::identity;  // of the messages; identity is not written
  encoding_set accepted;
  std::string_view user_agent;
};

// Adds the fields with to.add_field(name, value).
template <class Exchange>
void add_request_fields(Exchange& to, const request_fields& f) {
  to.add_field(":method", "POST");
  to.add_field(":scheme", f.scheme);
  to.add_field(":path", f.path);
  to.add_field(":authority", f.authority);
  to.add_field("te", "trailers");
  if (f.subtype.empty()) to.add_field("content-type", plain_content_type);
  else to.add_field("content-type", content_type_of(f.subtype));
  if (f.sent != encoding::identity) to.add_field(encoding_header, name_of(f.sent));
  to.add_field(accept_encoding_header, accepted_encodings_text(f.accepted));
  to.add_field("user-agent", f.user_agent);
}

}  // namespace coracle::protocol::grpc
