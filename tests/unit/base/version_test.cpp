#include "coracle/base/version.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace coracle::version_test {
namespace {

using ::testing::AnyOf;
using ::testing::StrEq;

TEST(Version, IsTheSameAsMacrosAndAsText) {
  const std::string number = std::to_string(CORACLE_VERSION_MAJOR) + "." +
                             std::to_string(CORACLE_VERSION_MINOR) + "." +
                             std::to_string(CORACLE_VERSION_PATCH);
  EXPECT_THAT(version_text, AnyOf(StrEq(number), StrEq(number + "-dev")));
  EXPECT_STREQ(version_text, CORACLE_PROJECT_VERSION);
}

}  // namespace
}  // namespace coracle::version_test
