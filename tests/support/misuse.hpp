// expect_misuse: what breaks a contract of the library throws usage_error, whose text says how to fix it.
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
