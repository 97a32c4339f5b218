#include "coracle/base/status.hpp"
#include "coracle/base/result.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

namespace coracle::status_test {
namespace {

TEST(Status, IsOkUntilToldOtherwise) {
  const status s;
  EXPECT_TRUE(s.ok());
  EXPECT_EQ(s.message(), "");
  EXPECT_EQ(s.to_string(), "OK");
}

TEST(Status, SaysItsNameAndText) {
  std::ostringstream out;
  out << status::not_found("no such movie");
  EXPECT_EQ(out.str(), "NOT_FOUND: no such movie");
  EXPECT_EQ(status(status_code::aborted).to_string(), "ABORTED");
  EXPECT_EQ(name_of(static_cast<status_code>(77)), "UNKNOWN");
}

TEST(Status, ComparesByCodeTextAndDetails) {
  EXPECT_EQ(status::internal("x"), status::internal("x"));
  EXPECT_NE(status::internal("x"), status::internal("y"));
  EXPECT_NE(status::internal("x"), status::unknown("x"));
  EXPECT_NE(status(status_code::internal, "x", "d"), status::internal("x"));
}

TEST(Result, HoldsAValueOrTheReasonForNone) {
  result<std::unique_ptr<int>> good = std::make_unique<int>(7);
  ASSERT_TRUE(good);
  EXPECT_EQ(**good, 7);
  EXPECT_TRUE(good.status().ok());
  const result<int> bad = status::not_found("gone");
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.status(), status::not_found("gone"));
}

TEST(Result, ThrowsItsStatusWhenAskedForAValueItHasNot) {
  const result<int> bad = status::not_found("gone");
  try {
    (void)bad.value();
    FAIL();
  } catch (const status_error& e) {
    EXPECT_EQ(e.status(), status::not_found("gone"));
    EXPECT_STREQ(e.what(), "NOT_FOUND: gone");
  }
  EXPECT_EQ(result<int>(status::unknown()).value_or(3), 3);
  EXPECT_EQ(result<int>(4).value_or(3), 4);
}

TEST(Result, MisuseThrowsAndSaysTheStatus) {
  const result<int> bad = status::not_found("gone");
  test::expect_misuse([&] { (void)*bad; }, "check it first, or use value(); its status is NOT_FOUND: gone");
  test::expect_misuse([&] { (void)bad.operator->(); }, "check it first");
  test::expect_misuse([] { (void)result<int>(status()); }, "not OK");
}

}  // namespace
}  // namespace coracle::status_test
