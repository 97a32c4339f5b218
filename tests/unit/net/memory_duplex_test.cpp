// The guarantees of memory duplexes beyond the contract (duplex_test.cpp): bounds, and two loops.
#include "net/memory_duplex.hpp"

#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "support/every_backend.hpp"
#include "unit/net/connection.hpp"
#include "unit/net/recorder.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

namespace coracle::net::memory_duplex_test {
namespace {

using namespace std::chrono_literals;
using testing_support::any_world;
using testing_support::world_kind;
using line = std::unique_ptr<duplex>;

memory_pair_options holding(std::size_t bytes) {
  memory_pair_options options;
  options.buffer_bytes = bytes;
  return options;
}

task<> small_buffer(std::size_t bytes) {
  auto pair = make_memory_duplex_pair(*loop::current(), *loop::current(), holding(bytes));
  recorder left(std::move(pair.first));
  recorder right(std::move(pair.second));
  const std::string text = pattern(10'000, 1);
  EXPECT_TRUE(left.send(text));
  co_await right.until_size(text.size());
  EXPECT_TRUE(right.text == text);
  co_await left.until_sent(1);
  EXPECT_EQ(left.sends.front(), 10'000);
  co_await left.closed_down();
  co_await right.closed_down();
}

class MemoryBuffer : public testing::TestWithParam<std::size_t> {};
TEST_P(MemoryBuffer, OfAnySizeCarriesEverything) {
  any_world world(world_kind::sim);
  sync_wait(*world.get(), world.get()->at(0), small_buffer(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Bytes, MemoryBuffer, testing::Values(1, 2, 3, 7, 64, 9'999, 10'000, 10'001));

task<> never_started() {
  auto pair = make_memory_duplex_pair(*loop::current(), *loop::current());
  recorder left(std::move(pair.first));
  EXPECT_TRUE(left.send("into the void"));
  pair.second.reset();
  co_await left.until_end();
  EXPECT_EQ(*left.end, 0);
  co_await left.closed_down();
}
TEST(MemoryDuplex, AnEndThatWasNeverStartedEndsTheOther) {
  any_world world(world_kind::sim);
  sync_wait(*world.get(), world.get()->at(0), never_started());
}

// Each end on its own loop, thread and driver.
template <class Left, class Right>
void on_two_loops(const memory_pair_options& options, Left left, Right right) {
  any_world world(world_kind::epoll, 2);
  runtime& rt = *world.get();
  auto pair = make_memory_duplex_pair(rt.at(0), rt.at(1), options);
  std::thread other([&] { sync_wait(rt, rt.at(1), right(std::move(pair.second))); });
  sync_wait(rt, rt.at(0), left(std::move(pair.first)));
  other.join();
}

task<> bulk_end(line l, std::uint32_t mine, std::uint32_t theirs) {
  recorder r(std::move(l));
  const std::string out = pattern(3 << 20, mine);
  const std::string expected = pattern(3 << 20, theirs);
  for (std::size_t at = 0; at < out.size(); at += 1 << 20) {
    EXPECT_TRUE(r.send(std::string_view(out).substr(at, 1 << 20)));
    co_await r.until_sent((at >> 20) + 1);
    if (at == 0) r.pause();
    if (at == 0) r.resume();
  }
  r.line->shutdown_send();
  co_await r.until_end();
  EXPECT_EQ(*r.end, 0);
  EXPECT_TRUE(r.text == expected);
  co_await r.closed_down();
}

TEST(MemoryDuplex, CarriesBulkBothWaysBetweenTwoLoops) {
  on_two_loops(
      holding(10'000), [](line l) { return bulk_end(std::move(l), 1, 2); },
      [](line l) { return bulk_end(std::move(l), 2, 1); });
}

task<> end_that_leaves(line l, bool abort) {
  recorder r(std::move(l));
  EXPECT_TRUE(r.send("some words"));
  co_await r.closed_down(abort);
}

task<> end_that_stays(line l) {
  recorder r(std::move(l));
  co_await r.until_end();
  EXPECT_TRUE(*r.end == 0 || *r.end == -ECONNRESET);
  co_await r.closed_down();
}

TEST(MemoryDuplex, OneLoopLeavesWhileTheOtherStays) {
  for (int i = 0; i < 50; ++i)
    on_two_loops(
        {}, [i](line l) { return end_that_leaves(std::move(l), i % 2 == 0); },
        [](line l) { return end_that_stays(std::move(l)); });
}

TEST(MemoryDuplex, BothLoopsLeaveAtOnce) {
  for (int i = 0; i < 50; ++i)
    on_two_loops(
        {}, [](line l) { return end_that_leaves(std::move(l), false); },
        [](line l) { return end_that_leaves(std::move(l), true); });
}

}  // namespace
}  // namespace coracle::net::memory_duplex_test
