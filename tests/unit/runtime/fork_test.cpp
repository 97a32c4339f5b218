// A child of fork() has no threads and shares rings with its parent: it must not use a runtime of its parent.
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

namespace coracle::fork_test {
namespace {

task<int> one() { co_return 1; }

TEST(ForkDeath, ARuntimeThatRunsIsRefusedInAChild) {
  testing::FLAGS_gtest_death_test_style = "fast";  // a plain fork
  runtime rt(2);
  rt.start();
  EXPECT_EQ(sync_wait(rt, one()), 1);
  EXPECT_DEATH(static_cast<void>(sync_wait(rt, one())), "a child of fork\\(\\) uses a runtime of its parent");
  EXPECT_DEATH(rt.run(), "a child of fork\\(\\)");
  EXPECT_EQ(sync_wait(rt, one()), 1) << "the parent goes on";
}

TEST(Fork, AChildMayHaveARuntimeOfItsOwn) {
  testing::FLAGS_gtest_death_test_style = "fast";
  runtime rt;
  rt.start();
  EXPECT_EXIT(
      {
        runtime own;
        std::_Exit(sync_wait(own, one()) == 1 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace coracle::fork_test
