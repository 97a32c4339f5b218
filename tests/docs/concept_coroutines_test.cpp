// The code of docs/concepts/coroutines.md.
// --8<-- [start:includes]
#include <coracle/runtime.hpp>

#include <chrono>
#include <cstdio>
// --8<-- [end:includes]

#include <gtest/gtest.h>

namespace concept_coroutines {

// --8<-- [start:program]
using namespace std::chrono_literals;

coracle::task<int> twice(int number) {
  co_await coracle::sleep_for(10ms);  // suspends here; the thread does other work meanwhile
  co_return 2 * number;
}

coracle::task<int> sum() {
  const int a = co_await twice(1);
  const int b = co_await twice(2);  // begins when the first has ended
  co_return a + b;
}

int main() {
  coracle::runtime runtime;
  const int result = coracle::sync_wait(runtime, sum());  // blocks this thread, and no loop
  std::printf("%d\n", result);
  return 0;
}
// --8<-- [end:program]

TEST(ConceptCoroutines, ATaskRunsWhenItIsAwaited) {
  coracle::runtime runtime;
  EXPECT_EQ(coracle::sync_wait(runtime, sum()), 6);
  EXPECT_EQ(main(), 0);
}

}  // namespace concept_coroutines
