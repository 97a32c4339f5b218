#include "coracle/coro/yield.hpp"

#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::yield_test {
namespace {

using test::manual_executor;
using test::started;

task<> say(std::string& to, char text) {
  for (int i = 0; i < 3; ++i) {
    to += text;
    co_await yield();
  }
}
task<> forever() {
  for (;;) co_await yield();
}

TEST(Yield, TasksThatYieldTakeTurns) {
  manual_executor on;
  std::string text;
  started a(say(text, 'a'));
  started b(say(text, 'b'));
  EXPECT_EQ(text, "ab");
  on.run();
  EXPECT_EQ(text, "ababab");
  EXPECT_TRUE(a.ended() && b.ended());
}

TEST(Yield, AStopEndsAComputationThatYields) {
  manual_executor on;
  coro::stop_source stop;
  const coro::environment e{stop.token()};
  started s(forever(), e);
  stop.request_stop();
  EXPECT_FALSE(s.ended());
  on.run();
  EXPECT_TRUE(s.threw<coro::cancelled>());
}

}  // namespace
}  // namespace coracle::yield_test
