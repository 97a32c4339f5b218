// The cost of a steady call in coroutine frames and memory.
#include "support/echo_fixture.hpp"

#include "coracle/coro/impl/frame_pool.hpp"

namespace coracle::testing_support::frames_test {
namespace {

class frames : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, frames, every_world_and_link, echo_fixture::case_name);

constexpr int calls_made = 100;

// Client and server share one loop here, which counts both.
struct program {
  static task<loop_counters> say(echo_stub s) {
    const echo::Text request;
    const loop_counters before = loop::current()->stats();
    for (int i = 0; i < calls_made; ++i) {
      const auto reply = co_await s.Say(request);
      EXPECT_TRUE(reply.ok());
    }
    co_return loop::current()->stats() - before;
  }
  static task<loop_counters> say_at_once(echo_stub s) {
    const echo::Text request;
    const loop_counters before = loop::current()->stats();
    for (int i = 0; i < calls_made; ++i) {
      const auto reply = co_await s.SayAtOnce(request);
      EXPECT_TRUE(reply.ok());
    }
    co_return loop::current()->stats() - before;
  }
};

TEST_P(frames, AUnaryCallIsOneFrameOnTheServerAndThatOfItsCallerOnTheClient) {
  run(program::say(stub()));
  EXPECT_EQ(run(program::say(stub())).frames, static_cast<std::uint64_t>(calls_made));
}

TEST_P(frames, AHandlerThatRepliesAtOnceHasNone) {
  run(program::say_at_once(stub()));
  EXPECT_EQ(run(program::say_at_once(stub())).frames, 0u);
}

TEST_P(frames, ASteadyCallTakesItsMemoryFromTheLoopsPool) {
  if (coro::frame_pool::from_heap())
    GTEST_SKIP() << "sanitizer builds take frames from the heap, to see their misuse";
  run(program::say(stub()));
  EXPECT_EQ(run(program::say(stub())).heap_blocks, 0u);
}

}  // namespace
}  // namespace coracle::testing_support::frames_test
