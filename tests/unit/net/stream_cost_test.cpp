// The cost of an echo, from the counters of the loop.
#include "coracle/net/stream.hpp"

#include "support/every_backend.hpp"
#include "unit/net/connection.hpp"

#include <gtest/gtest.h>

namespace coracle::net::stream_cost_test {
namespace {

class EchoCost : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, EchoCost, testing_support::all_kinds, EchoCost::case_name);

constexpr int messages = 200;

task<> answer(stream& s) {
  for (int i = 0; i < messages; ++i) {
    const std::string text = co_await read_text(s, 5);
    const status sent = co_await write_text(s, text);
    EXPECT_TRUE(sent.ok()) << sent;
  }
}

task<> ask(stream& s) {
  for (int i = 0; i < messages; ++i) {
    const status sent = co_await write_text(s, "hello");
    EXPECT_TRUE(sent.ok()) << sent;
    const std::string text = co_await read_text(s, 5);
    EXPECT_EQ(text, "hello");
  }
}

task<loop_counters> spent_on_echo() {
  stream_pair pair = co_await connected_pair();
  const loop_counters before = loop::current()->stats();
  co_await when_all(answer(pair.server), ask(pair.client));
  co_return loop::current()->stats() - before;
}

TEST_P(EchoCost, IsAtMostOneSystemCallATurnOnIoUring) {
  const loop_counters spent = run(spent_on_echo());
  EXPECT_GE(spent.submissions, 2u * messages);
  EXPECT_GE(spent.completions, 4u * messages) << "as many writes and as much that was read, on either side";
  EXPECT_LE(spent.turns, 8u * messages);
  if (sim_world()) {
    EXPECT_EQ(spent.system_calls, 0u);
  }
  if (rt().backend_name() != "io_uring" || testing_support::io_uring_has_faults()) return;
  EXPECT_LE(spent.system_calls, spent.turns);
  EXPECT_GE(spent.system_calls, 2u * messages) << "each side has to wait for the other";
}

TEST_P(EchoCost, GrowsNoMemory) {
  run(spent_on_echo());
  if (coro::frame_pool::from_heap()) GTEST_SKIP() << "this build takes frames from the heap";
  EXPECT_EQ(run(spent_on_echo()).heap_blocks, 0u);
}

}  // namespace
}  // namespace coracle::net::stream_cost_test
