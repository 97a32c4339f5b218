#include "protocol/web/conditions.hpp"

#include <gtest/gtest.h>

namespace coracle::protocol::web::conditions_test {
namespace {

using std::chrono::sys_seconds;
constexpr sys_seconds modified(std::chrono::seconds(784'111'777));
constexpr sys_seconds now(std::chrono::seconds(1'780'000'000));
constexpr const char* date = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr const char* before = "Sun, 06 Nov 1994 08:49:36 GMT";
constexpr const char* after = "Sun, 06 Nov 1994 08:49:38 GMT";
constexpr validators strong{"\"a,b\"", modified};
constexpr validators weak{"W/\"a,b\"", modified};

condition_outcome none_match(const char* value, const validators& v = strong) {
  request_conditions c;
  c.if_none_match = value;
  return evaluate(c, v, now);
}
condition_outcome match(const char* value, const validators& v = strong) {
  request_conditions c;
  c.if_match = value;
  return evaluate(c, v, now);
}

TEST(Conditions, IfNoneMatchComparesWeakly) {
  for (const char* value : {"\"a,b\"", "W/\"a,b\"", "\"x\", \"a,b\"", "*", " * ", "\"x\",,W/\"a,b\""}) {
    EXPECT_EQ(none_match(value), condition_outcome::not_modified) << value;
    EXPECT_EQ(none_match(value, weak), condition_outcome::not_modified) << value;
  }
  for (const char* value : {"", "\"a\"", "a,b", "\"a,b", "\"A,B\"", ","})
    EXPECT_EQ(none_match(value), condition_outcome::proceed) << value;
}

TEST(Conditions, IfMatchComparesStrongly) {
  EXPECT_EQ(match("\"x\", \"a,b\""), condition_outcome::proceed);
  EXPECT_EQ(match("*"), condition_outcome::proceed);
  EXPECT_EQ(match("W/\"a,b\""), condition_outcome::failed);
  EXPECT_EQ(match("W/\"a,b\"", weak), condition_outcome::failed);
  EXPECT_EQ(match("\"x\""), condition_outcome::failed);
}

TEST(Conditions, DatesCountWhereThereIsNoTag) {
  request_conditions c;
  c.if_modified_since = date;
  EXPECT_EQ(evaluate(c, strong, now), condition_outcome::not_modified);
  c.if_modified_since = after;
  EXPECT_EQ(evaluate(c, strong, now), condition_outcome::not_modified);
  c.if_modified_since = before;
  EXPECT_EQ(evaluate(c, strong, now), condition_outcome::proceed);
  c.if_modified_since = "yesterday";
  EXPECT_EQ(evaluate(c, strong, now), condition_outcome::proceed);
  c.if_modified_since = date;
  c.if_none_match = "\"other\"";
  EXPECT_EQ(evaluate(c, strong, now), condition_outcome::proceed) << "RFC 9110 13.1.3";
}

TEST(Conditions, IfUnmodifiedSinceFailsForANewerVersion) {
  request_conditions c;
  c.if_unmodified_since = before;
  EXPECT_EQ(evaluate(c, strong, now), condition_outcome::failed);
  c.if_unmodified_since = date;
  EXPECT_EQ(evaluate(c, strong, now), condition_outcome::proceed);
  c.if_unmodified_since = before;
  c.if_match = "\"a,b\"";
  EXPECT_EQ(evaluate(c, strong, now), condition_outcome::proceed) << "RFC 9110 13.1.4";
}

TEST(Conditions, IfRangeNeedsTheSameVersion) {
  request_conditions c;
  EXPECT_TRUE(permits_range(c, strong, now));
  for (const char* value : {"\"a,b\"", date}) {
    c.if_range = value;
    EXPECT_TRUE(permits_range(c, strong, now)) << value;
  }
  for (const char* value : {"\"other\"", "W/\"a,b\"", before, after, "", "yesterday"}) {
    c.if_range = value;
    EXPECT_FALSE(permits_range(c, strong, now)) << value;
  }
  c.if_range = "W/\"a,b\"";
  EXPECT_FALSE(permits_range(c, weak, now));
}

}  // namespace
}  // namespace coracle::protocol::web::conditions_test
