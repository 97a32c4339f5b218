// media_type: the value of content-type, and the elements of accept (RFC 9110 8.3.1).
#pragma once

#include "protocol/web/ascii.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace coracle::protocol::web {

// A parsed value. The parts borrow from it and have the case in which they were sent; compare them with is().
struct media_type {
  std::string_view type;
  std::string_view subtype;
  std::string_view parameters;  // what follows the subtype: empty, or text that begins with ';'

  [[nodiscard]] bool is(std::string_view a_type, std::string_view a_subtype) const noexcept {
    return equal_ignoring_case(type, a_type) && equal_ignoring_case(subtype, a_subtype);
  }
  // Returns the value of the first parameter with that name, in any case, and without quotes.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
};

// Parses `type/subtype`, followed by parameters. Returns nullopt if the text violates the grammar; "*" is a
// token, therefore media ranges such as "text/*" are accepted.
[[nodiscard]] std::optional<media_type> parse_media_type(std::string_view text) noexcept;

}  // namespace coracle::protocol::web
