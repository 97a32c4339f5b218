#include "http/date.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::http::date_test {
namespace {

using namespace std::chrono;

constexpr sys_seconds example(seconds(784'111'777));  // RFC 9110 5.6.7
constexpr sys_seconds in_2026(seconds(1'780'000'000));

TEST(Date, IsWrittenInTheFixedForm) {
  EXPECT_EQ(format_date(example), "Sun, 06 Nov 1994 08:49:37 GMT");
  EXPECT_EQ(format_date(sys_seconds()), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(format_date(sys_days(2024y / February / 29)), "Thu, 29 Feb 2024 00:00:00 GMT");
}

TEST(Date, IsReadInThreeForms) {
  for (const char* text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"})
    EXPECT_EQ(parse_date(text, in_2026), example) << text;
}

TEST(Date, WhatIsWrittenCanBeRead) {
  for (std::int64_t t = 0; t < 4'000'000'000; t += 86'399'987)
    EXPECT_EQ(parse_date(format_date(sys_seconds(seconds(t))), in_2026), sys_seconds(seconds(t)));
}

TEST(Date, AShortYearIsAtMostFiftyYearsAhead) {
  EXPECT_EQ(parse_date("Friday, 01-Jan-76 00:00:00 GMT", in_2026), sys_days(2076y / January / 1));
  EXPECT_EQ(parse_date("Saturday, 01-Jan-77 00:00:00 GMT", in_2026), sys_days(1977y / January / 1));
}

TEST(Date, AnythingElseIsNone) {
  for (const char* text :
       {"", "Sun", "Sun, 06 Nov 1994", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "784111777",
        ", 06 Nov 1994 08:49:37 GMT"})
    EXPECT_EQ(parse_date(text, in_2026), std::nullopt) << text;
}

}  // namespace
}  // namespace coracle::http::date_test
