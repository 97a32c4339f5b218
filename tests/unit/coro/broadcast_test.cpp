#include "coracle/coro/broadcast.hpp"

#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"
#include "support/turned_executor.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::broadcast_test {
namespace {

using test::manual_executor;
using test::started;
using test::turned_executor;

struct listened {
  std::vector<std::string> received;
  std::uint64_t lost = 0;
  bool closed = false;
};

task<> listen(broadcast<std::string>::subscriber& to, listened& l, int times) {
  for (; times != 0; --times) {
    auto received = co_await to.next();
    if (!received) {
      l.closed = true;
      co_return;
    }
    l.received.push_back(received->message());
    l.lost += received->lost();
  }
}

TEST(Broadcast, EverySubscriberHearsEachMessageFromItsSubscriptionOn) {
  manual_executor on;
  broadcast<std::string> b(4);
  broadcast<std::string>::subscriber first(b);
  b.send("a");
  broadcast<std::string>::subscriber second(b);
  b.send("b");
  b.close();
  listened one, two;
  started x(listen(first, one, 9));
  started y(listen(second, two, 9));
  EXPECT_EQ(one.received, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(two.received, (std::vector<std::string>{"b"}));
  EXPECT_TRUE(one.closed && two.closed);
  EXPECT_EQ(one.lost + two.lost, 0U);
}

TEST(Broadcast, WakesAllThatWaitThroughTheExecutor) {
  manual_executor on;
  broadcast<std::string> b(1);
  broadcast<std::string>::subscriber first(b), second(b);
  listened one, two;
  started x(listen(first, one, 1));
  started y(listen(second, two, 1));
  b.send("a");
  b.send("b");
  EXPECT_TRUE(one.received.empty()) << "not on the sender's stack";
  on.run();
  EXPECT_EQ(one.received, (std::vector<std::string>{"a"})) << "what it was given was not pushed out";
  EXPECT_EQ(two.received, (std::vector<std::string>{"a"}));
}

TEST(Broadcast, TellsASlowSubscriberHowManyItLost) {
  manual_executor on;
  broadcast<std::string> b(2);
  broadcast<std::string>::subscriber slow(b);
  for (const char* m : {"a", "b", "c", "d", "e"}) b.send(m);
  listened l;
  started x(listen(slow, l, 1));
  EXPECT_EQ(l.received, (std::vector<std::string>{"d"}));
  EXPECT_EQ(l.lost, 3U);
  started y(listen(slow, l, 1));
  EXPECT_EQ(l.received, (std::vector<std::string>{"d", "e"}));
  EXPECT_EQ(l.lost, 3U) << "said once";
}

TEST(Broadcast, ACopyOfASubscriberStandsWhereItStands) {
  manual_executor on;
  broadcast<std::string> b(2);
  broadcast<std::string>::subscriber first(b);
  b.send("a");
  broadcast<std::string>::subscriber second(first);
  listened one, two;
  started x(listen(first, one, 1));
  started y(listen(second, two, 1));
  EXPECT_EQ(one.received, two.received);
}

TEST(Broadcast, AStoppedNextHasHeardNothing) {
  manual_executor on;
  broadcast<std::string> b(2);
  broadcast<std::string>::subscriber s(b);
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  listened l;
  started x(listen(s, l, 1), stopping);
  stop.request_stop();
  b.send("a");
  on.run();
  EXPECT_TRUE(x.threw<coro::cancelled>());
  started y(listen(s, l, 1));
  EXPECT_EQ(l.received, (std::vector<std::string>{"a"}));
}

TEST(Broadcast, CloseEndsThoseWhoWaitAndDropsWhatComesAfter) {
  manual_executor on;
  broadcast<std::string> b(2);
  broadcast<std::string>::subscriber s(b);
  listened l;
  started x(listen(s, l, 1));
  b.close();
  b.close();
  b.send("late");
  on.run();
  EXPECT_TRUE(l.closed);
  EXPECT_TRUE(l.received.empty());
}

TEST(Broadcast, SubscribersAndSendersOfOtherExecutorsReachItsHome) {
  turned_executor owner_loop, away;
  broadcast<std::string> b(2, owner_loop);
  std::optional<broadcast<std::string>::subscriber> s;
  listened l;
  std::optional<started> x;
  away.enter([&] {
    s.emplace(b);
    x.emplace(listen(*s, l, 3));
    b.send("a");
    b.send("b");
    b.close();
  });
  for (int n = 0; n != 6; ++n) {
    owner_loop.turn();
    away.turn();
  }
  EXPECT_TRUE(x->ended());
  EXPECT_TRUE(l.closed);
  EXPECT_EQ(l.received, (std::vector<std::string>{"a", "b"}));
}

TEST(BroadcastDeathTest, DestroyingOneThatIsWaitedForAborts) {
  EXPECT_DEATH(
      {
        manual_executor on;
        auto b = std::make_unique<broadcast<std::string>>(1);
        broadcast<std::string>::subscriber s(*b);
        listened l;
        started x(listen(s, l, 1));
        b.reset();
      },
      "close\\(\\) it and join them first");
}

TEST(Broadcast, ACapacityOfZeroThrows) {
  test::expect_misuse([] { broadcast<std::string> none(0); }, "capacity of 1 or more");
}

}  // namespace
}  // namespace coracle::broadcast_test
