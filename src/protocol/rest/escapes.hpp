// escapes: percent-escapes in the paths and queries of REST.
#pragma once

#include <string>
#include <string_view>

namespace coracle::protocol::rest {

// Whether each '%' begins an escape of two hexadecimal digits.
[[nodiscard]] bool has_valid_escapes(std::string_view text) noexcept;
// Decodes the value of a variable. Of a variable that may contain '/', "%2F" and "%2f" stay as they are, so
// that they differ from the separators. The value may be anything, such as ".." or NUL.
[[nodiscard]] std::string decode_variable(std::string_view raw, bool several);

}  // namespace coracle::protocol::rest
