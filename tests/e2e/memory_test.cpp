// The memory resource of a runtime: it counts every frame of a call, and has everything back at the end.
#include "support/counting_resource.hpp"
#include "support/echo_fixture.hpp"

#include "coracle/coro/impl/frame_pool.hpp"

namespace coracle::testing_support::memory_test {
namespace {

class memory : public ::testing::TestWithParam<world_kind> {};
INSTANTIATE_TEST_SUITE_P(On, memory, all_kinds, every_backend::case_name);

constexpr int calls_made = 20;

// Client and server share one loop, so that its pool counts both.
task<coro::frame_pool::counters> say(echo_stub s) {
  const echo::Text request;
  const auto before = coro::frame_pool::count();
  for (int i = 0; i < calls_made; ++i) {
    const auto reply = co_await s.Say(request);
    EXPECT_TRUE(reply.ok());
  }
  coro::frame_pool::counters spent = coro::frame_pool::count();
  spent.frames -= before.frames;
  spent.heap_blocks -= before.heap_blocks;
  co_return spent;
}

TEST_P(memory, AResourceSeesEveryFrameOfACallAndGetsAllOfThemBack) {
  counting_resource resource;
  {
    any_world world(GetParam(), 1, &resource);
    if (!world.get()) GTEST_SKIP() << world.missing();
    runtime& rt = *world.get();
    echo_service service;
    server s(rt, {});
    s.add(service);
    ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
    channel c(rt, "127.0.0.1:" + std::to_string(s.port()), insecure());
    sync_wait(rt, rt.at(0), say(echo_stub(c)));
    const std::size_t before = resource.taken();
    const auto spent = sync_wait(rt, rt.at(0), say(echo_stub(c)));
    EXPECT_GE(spent.frames, static_cast<std::uint64_t>(calls_made));
    EXPECT_GT(spent.heap_blocks, spent.frames) << "the calls themselves come from it, too";
    EXPECT_GE(resource.taken() - before, spent.heap_blocks);
    EXPECT_GT(resource.open_blocks(), 0) << "the server's and the channel's own tasks";
  }
  EXPECT_EQ(resource.open_blocks(), 0);
  EXPECT_EQ(resource.open_bytes(), 0);
}

}  // namespace
}  // namespace coracle::testing_support::memory_test
