// expect_misuse: a violation of a contract of the library throws usage_error, whose text states the fix.
#pragma once

#include "coracle/base/usage_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace coracle::test {

template <class Wrong>
void expect_misuse(Wrong wrong, const std::string& fix) {
  try {
    wrong();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const usage_error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr(fix));
  }
}

}  // namespace coracle::test
