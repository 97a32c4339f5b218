// The memory resource of a runtime, with tasks that move between loops and threads.
#include "support/counting_resource.hpp"
#include "support/every_backend.hpp"

#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/sleep.hpp"

#include <atomic>

namespace coracle::task_memory_test {
namespace {

using testing_support::any_world;
using testing_support::counting_resource;
using testing_support::world_kind;

class Memory : public testing::TestWithParam<world_kind> {};
INSTANTIATE_TEST_SUITE_P(On, Memory, testing_support::all_kinds, testing_support::every_backend::case_name);

// Not inlined, since clang would merge their frames into those of their awaiters.
[[gnu::noinline]] task<> nothing() { co_return; }

[[gnu::noinline]] task<> children(int count) {
  for (int i = 0; i < count; ++i) co_await nothing();
}

task<std::uint64_t> spent_on_children(int count) {
  const auto before = coro::frame_pool::count().frames;
  co_await children(count);
  co_return coro::frame_pool::count().frames - before;
}

TEST_P(Memory, EveryFrameMadeOnALoopComesFromTheResource) {
  counting_resource resource;
  {
    any_world world(GetParam(), 1, &resource);
    if (!world.get()) GTEST_SKIP() << world.missing();
    const std::size_t before = resource.taken();
    EXPECT_EQ(sync_wait(*world.get(), spent_on_children(50)), 51u);
    EXPECT_GE(resource.taken(), before + 51);
  }
  EXPECT_EQ(resource.open_blocks(), 0);
}

task<> sleep_and_end(std::atomic<int>& ended) {
  co_await sleep_for(std::chrono::milliseconds(1));
  ++ended;
}

task<> spawn_from_a_loop(runtime& rt, std::atomic<int>& ended) {
  for (int i = 0; i < 20; ++i) rt.spawn(sleep_and_end(ended));
  co_return;
}

TEST_P(Memory, FramesMadeOnOneLoopAndFreedOnAnotherGoBackToIt) {
  counting_resource resource;
  std::atomic<int> ended = 0;
  {
    any_world world(GetParam(), 3, &resource);
    if (!world.get()) GTEST_SKIP() << world.missing();
    world.get()->spawn(spawn_from_a_loop(*world.get(), ended));
    world.get()->run();
    EXPECT_EQ(ended, 20);
    EXPECT_GE(resource.taken(), 20u);
  }
  EXPECT_EQ(resource.open_blocks(), 0);
  EXPECT_EQ(resource.open_bytes(), 0);
}

task<task<>> make_a_task() { co_return children(3); }

TEST_P(Memory, AFrameFreedByAPlainThreadAfterTheRuntimeGoesBackToIt) {
  counting_resource resource;
  {
    task<> left;
    {
      any_world world(GetParam(), 1, &resource);
      if (!world.get()) GTEST_SKIP() << world.missing();
      left = sync_wait(*world.get(), make_a_task());
    }
    EXPECT_EQ(resource.open_blocks(), 1);
  }
  EXPECT_EQ(resource.open_blocks(), 0);
}

}  // namespace
}  // namespace coracle::task_memory_test
