#include "telemetry/binary_log/filter.hpp"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

namespace coracle::telemetry_internal::filter_test {
namespace {

constexpr std::uint64_t all = log_limits::all;

binary_log_filter parsed(std::string_view text) {
  auto filter = binary_log_filter::parse(text);
  EXPECT_EQ(filter.status(), status()) << text;
  return filter ? *std::move(filter) : binary_log_filter();
}

using limits = std::optional<log_limits>;
const limits none;
limits of(std::uint64_t header_bytes, std::uint64_t message_bytes) {
  return log_limits{header_bytes, message_bytes};
}

TEST(BinaryLogFilter, AnEmptyFilterLogsNothing) {
  EXPECT_TRUE(parsed("").logs_nothing());
  EXPECT_EQ(parsed("").find("/p.S/M"), none);
  EXPECT_TRUE(parsed("-p.S/M").logs_nothing());
}

TEST(BinaryLogFilter, BracesSayHowMuchIsLogged) {
  const std::pair<const char*, limits> cases[] = {
      {"*", of(all, all)},
      {"*{h}", of(all, 0)},
      {"*{m}", of(0, all)},
      {"*{h;m}", of(all, all)},
      {"*{h:256}", of(256, 0)},
      {"*{m:256}", of(0, 256)},
      {"*{h:1;m:2}", of(1, 2)},
      {"*{h;m:2}", of(all, 2)},
      {"*{h:1;m}", of(1, all)},
      {"*{h:0;m:0}", of(0, 0)},
      {"*{m:18446744073709551615}", of(0, all)},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(parsed(text).find("/p.S/M"), expected) << text;
}

TEST(BinaryLogFilter, TheMostExactRuleWins) {
  const auto filter = parsed("*{h},p.S/*{m:1},p.S/M{m:2},-p.S/Secret,a/b.c/D");
  EXPECT_EQ(filter.find("/p.S/M"), of(0, 2));
  EXPECT_EQ(filter.find("/p.S/Other"), of(0, 1));
  EXPECT_EQ(filter.find("/p.S/Secret"), none);
  EXPECT_EQ(filter.find("/p.T/M"), of(all, 0));
  EXPECT_EQ(filter.find("/a/b.c/D"), of(all, all));
  EXPECT_EQ(parsed("p.S/M").find("/p.S/N"), none);
  EXPECT_EQ(parsed("p.S/*").find("/p.S2/N"), none);
  EXPECT_EQ(parsed("p.S/*,-p.S/M").find("/p.S/M"), none);
  // An exact rule wins over what a wildcard excludes nothing of.
  EXPECT_EQ(parsed("-p.S/M,*").find("/p.S/M"), none);
}

TEST(BinaryLogFilter, AMalformedFilterIsRefusedWithItsPosition) {
  const std::pair<const char*, const char*> cases[] = {
      {"p.S/M,", "at character 7, \"\""},
      {",*", "at character 1, \"\""},
      {"*,*", "at character 3, \"*\": there is another rule"},
      {"*,*{h}", "at character 3, \"*{h}\": there is another rule"},
      {"p.S/*,p.S/*", "at character 7"},
      {"p.S/M,p.S/M{h}", "at character 7"},
      {"p.S/M,-p.S/M", "at character 7"},
      {"-p.S/M,p.S/M", "at character 8"},
      {"-p.S/M,-p.S/M", "at character 8"},
      {"-p.S/*", "without \"*\" and braces"},
      {"-*", "without \"*\" and braces"},
      {"-p.S/M{h}", "without \"*\" and braces"},
      {"*/M", "a service cannot be \"*\""},
      {"*/*", "a service cannot be \"*\""},
      {"/p.S/M", "remove the slash"},
      {"p.S", "a rule is \"*\", Service/*"},
      {"p.S/", "the name of the method is malformed"},
      {"/M", "remove the slash"},
      {"p-q.S/M", "the name of the service is malformed"},
      {"p.S/M N", "the name of the method is malformed"},
      {"p.S/M{}", "each letter with an optional limit"},
      {"p.S/M{", "each letter with an optional limit"},
      {"p.S/M{x}", "each letter with an optional limit"},
      {"p.S/M{m;h}", "each letter with an optional limit"},
      {"p.S/M{h;h}", "each letter with an optional limit"},
      {"p.S/M{h:}", "each letter with an optional limit"},
      {"p.S/M{h:-1}", "each letter with an optional limit"},
      {"p.S/M{h: 1}", "each letter with an optional limit"},
      {"p.S/M{h:1,m:2}", "each letter with an optional limit"},
      {"p.S/M{h:18446744073709551616}", "each letter with an optional limit"},
      {"p.S/M{h}x", "each letter with an optional limit"},
      {"p.S/M{h;m;}", "each letter with an optional limit"},
      {" *", "a rule is \"*\", Service/*"},
  };
  for (const auto& [text, expected] : cases) {
    const auto filter = binary_log_filter::parse(text);
    EXPECT_EQ(filter.status().code(), status_code::invalid_argument) << text;
    EXPECT_THAT(std::string(filter.status().message()), ::testing::HasSubstr(expected)) << text;
  }
}

}  // namespace
}  // namespace coracle::telemetry_internal::filter_test
