#include "protocol/connect/get_request.hpp"

#include "protocol/web/uri.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace coracle::protocol::connect::get_request_test {
namespace {

std::optional<get_request> parse(std::string_view query) {
  std::string reason;
  auto got = parse_get_request(query, reason);
  EXPECT_EQ(reason.empty(), got.has_value()) << reason;
  return got;
}

std::string reason_of(std::string_view query) {
  std::string reason;
  EXPECT_FALSE(parse_get_request(query, reason)) << query;
  return reason;
}

TEST(ConnectGet, IsReadInAnyOrderWithParametersThatAreUnknown) {
  const get_request expected{true, "json", "", R"({"name": "Buf"})"};
  EXPECT_EQ(parse("connect=v1&encoding=json&message=%7B%22name%22%3A%20%22Buf%22%7D"), expected);
  EXPECT_EQ(parse("message=%7B%22name%22:+%22Buf%22%7D&x=1&x=2&%zz=%zz&encoding=json&connect=v1"), expected);
}

TEST(ConnectGet, IsReadInBase64WithAndWithoutPadding) {
  for (const std::string_view message : {"-_8", "-_8=", "-_8%3D", "%2D_8"})
    EXPECT_EQ(parse("base64=1&compression=gzip&encoding=proto&message=" + std::string(message)),
              (get_request{false, "proto", "gzip", "\xfb\xff"}))
        << message;
  EXPECT_EQ(parse("base64=1&encoding=proto&message=")->message, "");
}

TEST(ConnectGet, IgnoresAnyOtherValueOfBase64) {
  for (const std::string_view value : {"0", "true", "", "11"})
    EXPECT_EQ(parse("base64=" + std::string(value) + "&encoding=json&message=Zg")->message, "Zg");
}

TEST(ConnectGet, ThatIsInvalidNamesTheParameter) {
  struct row {
    std::string_view query, reason;
  };
  for (const auto& [query, reason] :
       {row{"", "the query parameter \"encoding\" is missing"},
        row{"message=", "the query parameter \"encoding\" is missing"},
        row{"encoding=&message=", "the query parameter \"encoding\" is empty"},
        row{"encoding=json", "the query parameter \"message\" is missing"},
        row{"encoding=json&message=1&message=1", "the query parameter \"message\" occurs more than once"},
        row{"encoding=json&%65ncoding=json&message=",
            "the query parameter \"encoding\" occurs more than once"},
        row{"connect=v1&connect=v1&encoding=json&message=",
            "the query parameter \"connect\" occurs more than once"},
        row{"encoding=json&message=%7", "the query parameter \"message\" has a broken percent escape"},
        row{"encoding=%xx&message=", "the query parameter \"encoding\" has a broken percent escape"},
        row{"compression=%&encoding=json&message=",
            "the query parameter \"compression\" has a broken percent escape"},
        row{"connect=v2&encoding=json&message=",
            "the query parameter \"connect\" must be \"v1\", not \"v2\""},
        row{"connect=&encoding=json&message=", "the query parameter \"connect\" must be \"v1\", not \"\""},
        row{"connect=%0a&encoding=json&message=",
            "the query parameter \"connect\" must be \"v1\", not \"?\""},
        row{"base64=1&encoding=proto&message=Z", "the query parameter \"message\" is not valid base64url"},
        row{"base64=1&encoding=proto&message=%2B_8",
            "the query parameter \"message\" is not valid base64url"},
        row{"base64=1&encoding=proto&message=Zm+9", "the query parameter \"message\" is not valid base64url"},
        row{"base64=1&encoding=proto&message=Zm9v=",
            "the query parameter \"message\" is not valid base64url"}})
    EXPECT_EQ(reason_of(query), reason) << query;
}

std::string query_of(const std::string& target) { return std::string(web::split_target(target).query); }

TEST(ConnectGet, IsWrittenInTheOrderOfTheDocument) {
  EXPECT_EQ(write_get_target({"/a.B/C", "json", "", R"({"x":1})"}),
            "/a.B/C?connect=v1&encoding=json&message=%7B%22x%22%3A1%7D");
  EXPECT_EQ(write_get_target({"/a.B/C", "proto", "", "\xfb\xff"}),
            "/a.B/C?connect=v1&base64=1&encoding=proto&message=-_8");
  EXPECT_EQ(write_get_target({"/a.B/C", "json", "gzip", "f"}),
            "/a.B/C?connect=v1&base64=1&compression=gzip&encoding=json&message=Zg");
}

TEST(ConnectGet, ComesBackWhole) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  for (const std::string_view codec : {"json", "proto", "x+y&z"}) {
    for (const std::string_view compression : {"", "gzip"}) {
      for (std::size_t size = 0; size <= all.size(); size += 51) {
        const std::string message = all.substr(all.size() - size);
        const auto target = write_get_target({"/a.B/C", codec, compression, message});
        ASSERT_TRUE(target);
        EXPECT_EQ(parse(query_of(*target)),
                  (get_request{true, std::string(codec), std::string(compression), message}));
      }
    }
  }
}

TEST(ConnectGet, HasALimitedLength) {
  const std::string message(100, 'm');
  const std::size_t size = write_get_target({"/a.B/C", "json", "", message})->size();
  EXPECT_TRUE(write_get_target({"/a.B/C", "json", "", message}, size));
  EXPECT_FALSE(write_get_target({"/a.B/C", "json", "", message}, size - 1));
  EXPECT_FALSE(write_get_target({"/a.B/C", "json", "", message}, 0));
  EXPECT_FALSE(write_get_target({"/a.B/C", "proto", "", std::string(default_get_target_bytes_max, 'm')}));
  EXPECT_TRUE(write_get_target({"/a.B/C", "proto", "", std::string(default_get_target_bytes_max / 2, 'm')}));
}

}  // namespace
}  // namespace coracle::protocol::connect::get_request_test
