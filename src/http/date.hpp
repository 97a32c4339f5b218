// date: the values of Date, Last-Modified and the conditions on dates (RFC 9110 5.6.7).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http {

// "Sun, 06 Nov 1994 08:49:37 GMT", which has 29 characters until the year 9999.
[[nodiscard]] std::string format_date(std::chrono::sys_seconds t);

// Also accepts the two obsolete forms, "Sunday, 06-Nov-94 08:49:37 GMT" and "Sun Nov  6 08:49:37 1994".
// `now` decides the century of the first one: a date that seems to be more than 50 years in the future is in
// the past. Returns nothing for anything else; a wrong name of the day is not noticed.
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_date(std::string_view text,
                                                                 std::chrono::sys_seconds now);

}  // namespace coracle::http
