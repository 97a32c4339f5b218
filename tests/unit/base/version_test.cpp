#include "coracle/base/version.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::version_test {
namespace {

TEST(Version, IsTheSameAsMacrosAndAsText) {
  EXPECT_EQ(version_text, std::to_string(CORACLE_VERSION_MAJOR) + "." +
                              std::to_string(CORACLE_VERSION_MINOR) + "." +
                              std::to_string(CORACLE_VERSION_PATCH));
  EXPECT_STREQ(version_text, CORACLE_PROJECT_VERSION);
}

}  // namespace
}  // namespace coracle::version_test
