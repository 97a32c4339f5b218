// request_line, status_line: the first line of a message (RFC 9112 3 and 4).
#pragma once

#include "http1/refusal.hpp"

#include <cstdint>
#include <string_view>

namespace coracle::http1 {

// A host with an optional port, as Host and an absolute target have it (RFC 9110 4.2.1, 7.2). The views refer
// to the parsed text.
struct authority {
  std::string_view host{};
  std::string_view port{};  // digits; empty if there is none
};

// Returns false unless `text` is a host of RFC 3986 3.2.2, which may be empty, with an optional port of at
// most 65535. User information is refused (RFC 9110 4.2.4).
[[nodiscard]] bool read_authority(std::string_view text, authority& into) noexcept;
// Whether both name the same server for URIs of the scheme: hosts ignore case, and an absent port is the
// scheme's.
[[nodiscard]] bool same_authority(const authority& a, const authority& b, std::string_view scheme) noexcept;

struct request_line {
  std::string_view method{};
  std::string_view scheme{};  // "http" or "https" if the target is absolute
  std::string_view authority{};  // of an absolute target
  std::string_view path{};  // origin form, without the "/" that add_slash asks for; "*" for OPTIONS
  bool add_slash = false;  // the target is absolute and has a query, but no path
  bool is_1_0 = false;
};

// The reason to refuse a peer that does not speak HTTP/1.x, by its first octet or its first line: it names
// the protocol if that is known.
[[nodiscard]] std::string_view not_http(std::string_view first) noexcept;

// Reads the line without its CRLF.
[[nodiscard]] refusal read_request_line(std::string_view line, request_line& into) noexcept;

struct status_line {
  int code = 0;
  std::string_view code_text{};
  std::string_view reason{};
  bool is_1_0 = false;
};

[[nodiscard]] refusal read_status_line(std::string_view line, status_line& into) noexcept;

// Whether the line has the begin of a version, "HTTP/", in any case. A first line without one is no HTTP/1.x.
[[nodiscard]] bool names_http(std::string_view line) noexcept;

}  // namespace coracle::http1
