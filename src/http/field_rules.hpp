// field_rules: the rules for a single header field, independent of its message.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace coracle::http {

// The rule that a header field or a header section violates. Each violation makes the message malformed (RFC
// 9113 8.1.1): a stream error of type PROTOCOL_ERROR.
enum class field_error : std::uint8_t {
  none = 0,
  // Rules for a field by itself.
  name_empty,               // RFC 9110 5.1
  name_upper_case,          // RFC 9113 8.2.1
  name_character,           // RFC 9113 8.2.1: not a token, or contains ':'
  value_character,          // RFC 9113 8.2.1: NUL, CR or LF
  value_edge_whitespace,    // RFC 9113 8.2.1: space or tab at either end
  connection_specific,      // RFC 9113 8.2.2
  te_not_trailers,          // RFC 9113 8.2.2
  content_length_value,     // RFC 9110 8.6
  pseudo_unknown,           // RFC 9113 8.3
  method_value,             // RFC 9110 9.1: not a token
  scheme_value,             // RFC 3986 3.1
  path_value,               // RFC 9113 8.3.1: empty, or neither absolute nor "*"
  path_character,           // RFC 3986 2: contains a character that is not printable ASCII
  authority_value,          // RFC 9113 8.3.1: holds user information
  authority_character,      // RFC 3986 2: the same for :authority and host
  status_value,             // RFC 9113 8.3.2: not three digits of at least 100, or 101 (8.6)
  // Rules for a field in its message.
  pseudo_in_wrong_message,  // RFC 9113 8.3: :status in a request, :path in a response, any in trailers
  pseudo_after_regular,     // RFC 9113 8.3
  pseudo_duplicate,         // RFC 9113 8.3
  content_length_duplicate, // RFC 9110 8.6
  // Rules for the section as a whole.
  method_missing,           // RFC 9113 8.3.1
  scheme_missing,
  path_missing,
  asterisk_without_options, // RFC 9113 8.3.1
  authority_missing,        // RFC 9113 8.5: CONNECT names its target there
  connect_with_scheme,      // RFC 9113 8.5
  connect_with_path,
  status_missing,           // RFC 9113 8.3.2
};

// Returns a short sentence for logs and GOAWAY debug data, in static storage.
[[nodiscard]] std::string_view to_string(field_error error) noexcept;

// Checks that the name is a lower-case token (RFC 9110 5.6.2) of at least one character. The caller must
// remove the colon of a pseudo-header before, since it is not allowed here.
[[nodiscard]] field_error check_field_name(std::string_view name) noexcept;

// Returns true unless the value contains NUL, CR or LF. Other octets are tolerated, as RFC 9110 5.5 allows.
[[nodiscard]] bool valid_value_characters(std::string_view value) noexcept;
[[nodiscard]] constexpr bool has_edge_whitespace(std::string_view value) noexcept {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  return !value.empty() && (blank(value.front()) || blank(value.back()));
}

// RFC 3986 2: a URI consists of printable ASCII characters (0x21 to 0x7E); other octets are percent-encoded.
// The few printable characters that RFC 3986 also excludes, such as '{', are tolerated, because clients send
// them unencoded.
[[nodiscard]] bool valid_uri_characters(std::string_view text) noexcept;

// Returns whether the text may be an authority in the forms of http and https, which have no user information
// (RFC 9110 4.2.4): :authority and host.
[[nodiscard]] bool valid_authority(std::string_view text) noexcept;

// Returns whether the text is a token. A token with upper-case letters is a valid method (RFC 9110 9.1).
[[nodiscard]] bool valid_token(std::string_view text) noexcept;

// Parses digits, at most 2^64 - 1 (RFC 9110 8.6). Lists of equal lengths are rejected.
[[nodiscard]] std::optional<std::uint64_t> parse_content_length(std::string_view value) noexcept;

}  // namespace coracle::http
