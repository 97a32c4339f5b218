// uri: percent-encoding of paths and queries (RFC 3986 2.1, and the URL Standard's
// application/x-www-form-urlencoded), and the pairs of a query.
#pragma once

#include <string>
#include <string_view>

namespace coracle::protocol::web {

// A request target in origin form (RFC 9112 3.2.1).
struct request_target {
  std::string_view path;
  std::string_view query;  // without the '?'; empty if there is none
};
[[nodiscard]] constexpr request_target split_target(std::string_view target) noexcept {
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return {target, {}};
  return {target.substr(0, mark), target.substr(mark + 1)};
}

// How decode() treats two characters.
enum class uri_part : unsigned char {
  path,           // '+' is itself
  path_segments,  // the same, and "%2F" remains, because '/' separates segments
  query,          // '+' means a space
};

// Appends the decoded text to `out`. Returns false, with `out` unspecified, if an escape is broken. Other
// characters are taken as they are. The result may contain any byte and need not be UTF-8.
[[nodiscard]] bool decode(std::string_view text, uri_part part, std::string& out);

// Whether each '%' begins an escape of two hexadecimal digits.
[[nodiscard]] bool has_valid_escapes(std::string_view text) noexcept;

// Appends `text`, in which every byte except the unreserved characters (RFC 3986 2.3) is an escape. The
// result is valid as one segment of a path and as a name or a value of a query.
void encode_uri_component(std::string_view text, std::string& out);

// One pair of a query, still encoded.
struct query_pair {
  std::string_view text;  // the whole pair
  std::string_view name;
  std::string_view value;  // empty if there is no '='
};
// Removes the first pair from `query`. Returns false at its end. Empty pairs, as in "a=1&&b=2", are skipped.
[[nodiscard]] bool take_query_pair(std::string_view& query, query_pair& out) noexcept;

}  // namespace coracle::protocol::web
