// The time that a loop uses as the present when bytes arrive after a wait.
#include "coracle/coro/sleep.hpp"
#include "runtime/backend.hpp"
#include "support/every_backend.hpp"
#include "unit/net/connection.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

namespace coracle::net::stream_arrival_time_test {
namespace {

using namespace std::chrono_literals;
using testing_support::any_world;

class ArrivalTime : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(Backends, ArrivalTime, testing_support::all_kinds,
                         testing_support::every_backend::case_name);

task<address> listen(std::optional<listener>& door) {
  door = listener::open(address::loopback_v4(0)).value();
  co_return door->local_address();
}

// Writes at intervals, while the reader's loop only waits.
task<> write_late(std::optional<listener>& door, std::atomic<time_point>& written) {
  result<stream> s = co_await door->accept();
  for (int i = 0; i < 3; ++i) {
    co_await sleep_for(20ms);  // sleeps on purpose: so long does the reader's loop wait
    written = loop::current()->io().now();
    const status sent = co_await write_text(*s, "x");
    EXPECT_TRUE(sent.ok());
    const std::string answer = co_await read_text(*s, 1);
    EXPECT_EQ(answer, "y");
  }
  co_await door->close();
}

task<> read_in_time(address from, const std::atomic<time_point>& written) {
  result<stream> s = co_await stream::connect(from);
  loop& here = *loop::current();
  for (int i = 0; i < 3; ++i) {
    const std::string got = co_await read_text(*s, 1);
    EXPECT_EQ(got, "x");
    EXPECT_GE(here.now(), written.load());
    const time_point arrived = here.now();
    co_await sleep_for(10ms);  // sleeps on purpose: it must not be over already
    EXPECT_GE(here.io().now() - arrived, 10ms);
    const status sent = co_await write_text(*s, "y");
    EXPECT_TRUE(sent.ok());
  }
}

TEST_P(ArrivalTime, IsThePresentAndNotTheTimeBeforeTheWait) {
  any_world world(GetParam(), 2);
  runtime& two = *world.get();
  std::optional<listener> door;
  const address at = sync_wait(two, two.at(0), listen(door));
  std::atomic<time_point> written{};
  two.spawn_on(two.at(0), write_late(door, written));
  sync_wait(two, two.at(1), read_in_time(at, written));
  two.run();
}

}  // namespace
}  // namespace coracle::net::stream_arrival_time_test
