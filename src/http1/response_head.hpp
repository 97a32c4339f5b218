// response_head: the status line and the fields of an HTTP/1.1 response, and where they end (RFC 9112).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace coracle::http1 {

inline constexpr std::string_view line_end = "\r\n";
inline constexpr std::string_view head_end = "\r\n\r\n";

// RFC 9112 4. The reason refers to the line.
struct response_line {
  int code;
  bool is_1_0;  // HTTP/1.0, which closes the connection unless it says otherwise
  std::string_view reason;
};

// Reads the status line that `head` begins with, up to the first line end or to the end of `head`. Returns
// nothing if it is not one of HTTP/1.x.
std::optional<response_line> read_response_line(std::string_view head) noexcept;

// Returns the minimum number of bytes that are missing at the end of the headers, 0 if they are complete:
// who reads only this many never reads beyond the headers.
std::size_t missing_bytes(std::string_view head) noexcept;

}  // namespace coracle::http1
