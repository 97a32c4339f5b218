// printable: makes text that a peer sent safe for a status or a log line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::base {

// This many bytes are enough to identify the text; more would only fill logs.
inline constexpr std::size_t printable_bytes_max = 200;

// Returns the first `max_bytes` bytes, with "?" in place of each byte that is not printable ASCII (line ends
// included), and with "..." appended when the text is longer.
std::string printable(std::string_view untrusted, std::size_t max_bytes = printable_bytes_max);

}  // namespace coracle::base
