// What a program of C++23 has besides. This file is compiled as C++23, and links the library as it was built.
// A test exists where the compiler's standard library has what it tests.
#include "coracle/base/expected.hpp"
#include "coracle/base/format.hpp"
#include "coracle/base/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace coracle::newer_standard_test {

static_assert(__cplusplus > 202002L, "this file is to be compiled as C++23 (tests/unit.cmake)");

TEST(ANewerStandard, ReadsTheResultsOfALibraryOfAnotherOne) {
  const result<std::string> failed = status::not_found("no such movie");
  EXPECT_EQ(failed.status().to_string(), "NOT_FOUND: no such movie");
}

#ifdef __cpp_lib_expected

TEST(AnExpected, HasTheValueOfAResult) {
  const std::expected<std::string, status> e = to_expected(result<std::string>("Metropolis"));
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(*e, "Metropolis");
}

TEST(AnExpected, HasTheStatusOfAFailedResult) {
  const auto e = to_expected(result<int>(status::not_found("no such movie")));
  ASSERT_FALSE(e.has_value());
  EXPECT_EQ(e.error(), status::not_found("no such movie"));
}

TEST(AnExpected, TakesAValueThatCanOnlyBeMoved) {
  std::expected<std::unique_ptr<int>, status> e =
      to_expected(result<std::unique_ptr<int>>(std::make_unique<int>(7)));
  ASSERT_TRUE(e.has_value());
  const result<std::unique_ptr<int>> back = to_result(std::move(e));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(**back, 7);
}

TEST(AnExpected, BecomesAResultWithTheSameStatus) {
  const result<int> r = to_result(std::expected<int, status>(std::unexpected(status::aborted("again"))));
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.status(), status::aborted("again"));
  EXPECT_EQ(to_result(std::expected<bool, status>(false)).value(), false);
}

TEST(AnExpected, OfNothingIsAStatus) {
  EXPECT_TRUE(to_expected(status()).has_value());
  EXPECT_EQ(to_expected(status::internal("x")).error(), status::internal("x"));
  EXPECT_EQ(to_status(std::expected<void, status>()), status());
  EXPECT_EQ(to_status(std::expected<void, status>(std::unexpected(status::internal("x")))),
            status::internal("x"));
}

TEST(AnExpected, WhoseErrorIsOkIsRefused) {
  EXPECT_THROW(static_cast<void>(to_result(std::expected<int, status>(std::unexpected(status())))),
               usage_error);
  EXPECT_THROW(static_cast<void>(to_status(std::expected<void, status>(std::unexpected(status())))),
               usage_error);
}

// --8<-- [start:expected]
std::expected<int, status> half(int n) {
  if (n % 2 != 0) return std::unexpected(status::out_of_range("odd"));
  return n / 2;
}

result<int> half_of(const result<int>& r) {
  const std::expected<int, status> e = to_expected(r);
  return to_result(e ? half(*e) : e);
}
// --8<-- [end:expected]

TEST(AnExpected, IsWhatFunctionsOfTheProgramReturn) {
  EXPECT_EQ(half_of(8).value(), 4);
  EXPECT_EQ(half_of(7).status(), status::out_of_range("odd"));
  EXPECT_EQ(half_of(status::aborted("again")).status(), status::aborted("again"));
}

#endif
#ifdef __cpp_lib_format

TEST(Format, WritesAStatusAsItsText) {
  EXPECT_EQ(std::format("{}", status::not_found("no such movie")), "NOT_FOUND: no such movie");
  EXPECT_EQ(std::format("{}", status()), status().to_string());
}

TEST(Format, WritesACodeByItsName) { EXPECT_EQ(std::format("[{}]", status_code::data_loss), "[DATA_LOSS]"); }

TEST(Format, HasTheOptionsOfAText) {
  EXPECT_EQ(std::format("{:>12}|{:.3}", status_code::aborted, status::internal("x")), "     ABORTED|INT");
}

#endif

}  // namespace coracle::newer_standard_test
