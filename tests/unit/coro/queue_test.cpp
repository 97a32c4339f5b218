#include "coracle/coro/queue.hpp"

#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::queue_test {
namespace {

using test::manual_executor;
using test::started;

task<> send_one(queue<int>& c, int n, std::optional<bool>& sent) { sent = co_await c.send(n); }

task<> receive_one(queue<int>& c, std::vector<int>& to) {
  const std::optional<int> n = co_await c.receive();
  to.push_back(n.value_or(-1));
}

task<> send_all(queue<int>& c, int from, int end) {
  for (int n = from; n != end; ++n) {
    const bool sent = co_await c.send(n);
    EXPECT_TRUE(sent);
  }
}

task<> receive_all(queue<int>& c, std::vector<int>& to) {
  for (;;) {
    const std::optional<int> n = co_await c.receive();
    if (!n) co_return;
    to.push_back(*n);
  }
}

TEST(Queue, OfCapacityZeroASendWaitsUntilAReceiverTakesTheMessage) {
  manual_executor on;
  queue<int> c(0);
  std::optional<bool> sent;
  std::vector<int> got;
  EXPECT_FALSE(c.try_send(7));
  started a(send_one(c, 1, sent));
  EXPECT_FALSE(sent);
  started b(receive_one(c, got));
  EXPECT_EQ(got, std::vector<int>{1}) << "the receiver found a sender and need not wait";
  EXPECT_FALSE(sent) << "not on the receiver's stack";
  on.run();
  EXPECT_EQ(sent, true);
}

TEST(Queue, OfCapacityZeroAWaitingReceiverGetsTheMessageOfTrySend) {
  manual_executor on;
  queue<int> c(0);
  std::vector<int> got;
  started b(receive_one(c, got));
  EXPECT_TRUE(c.try_send(1));
  EXPECT_FALSE(c.try_send(2)) << "there was one receiver";
  on.run();
  EXPECT_EQ(got, std::vector<int>{1});
}

TEST(Queue, ASendWaitsOnlyWhileItIsFull) {
  manual_executor on;
  queue<int> c(2);
  std::optional<bool> sent[3];
  started a(send_one(c, 1, sent[0]));
  started b(send_one(c, 2, sent[1]));
  started d(send_one(c, 3, sent[2]));
  EXPECT_TRUE(a.ended());
  EXPECT_TRUE(b.ended());
  EXPECT_FALSE(d.ended());
  EXPECT_EQ(c.try_receive(), 1);
  EXPECT_FALSE(c.try_send(4)) << "the room is the waiting sender's";
  on.run();
  EXPECT_TRUE(d.ended());
  EXPECT_EQ(c.try_receive(), 2);
  EXPECT_EQ(c.try_receive(), 3);
  EXPECT_EQ(c.try_receive(), std::nullopt);
}

TEST(Queue, KeepsTheOrderAtEveryCapacity) {
  for (const std::size_t capacity : {0U, 1U, 2U, 7U}) {
    manual_executor on;
    queue<int> c(capacity);
    std::vector<int> got;
    started a(send_all(c, 0, 100));
    started b(receive_all(c, got));
    on.run();
    ASSERT_TRUE(a.ended());
    c.close();
    on.run();
    EXPECT_TRUE(b.ended());
    ASSERT_EQ(got.size(), 100U);
    for (int n = 0; n != 100; ++n) EXPECT_EQ(got[static_cast<std::size_t>(n)], n);
  }
}

TEST(Queue, ManySendersAndReceiversSeeEachMessageOnce) {
  for (const std::size_t capacity : {0U, 1U, 3U}) {
    manual_executor on;
    queue<int> c(capacity);
    std::vector<int> got[2];
    started r0(receive_all(c, got[0]));
    started r1(receive_all(c, got[1]));
    started s0(send_all(c, 0, 50));
    started s1(send_all(c, 50, 100));
    on.run();
    c.close();
    on.run();
    std::vector<bool> seen(100);
    for (const std::vector<int>& some : got) {
      EXPECT_FALSE(some.empty());
      for (const int n : some) {
        EXPECT_FALSE(seen[static_cast<std::size_t>(n)]);
        seen[static_cast<std::size_t>(n)] = true;
      }
    }
    EXPECT_EQ(got[0].size() + got[1].size(), 100U);
    EXPECT_TRUE(r0.ended() && r1.ended() && s0.ended() && s1.ended());
  }
}

TEST(Queue, WaitingReceiversTakeTurnsInOrder) {
  manual_executor on;
  queue<int> c(4);
  std::vector<int> first, second;
  started a(receive_one(c, first));
  started b(receive_one(c, second));
  EXPECT_TRUE(c.try_send(1));
  EXPECT_TRUE(c.try_send(2));
  EXPECT_EQ(c.size(), 0U) << "they went to the receivers";
  EXPECT_EQ(c.try_receive(), std::nullopt) << "nobody gets between";
  on.run();
  EXPECT_EQ(first, std::vector<int>{1});
  EXPECT_EQ(second, std::vector<int>{2});
}

TEST(Queue, CloseLetsReceiversDrainItAndThenGivesNothing) {
  manual_executor on;
  queue<int> c(2);
  std::vector<int> got;
  EXPECT_TRUE(c.try_send(1));
  c.close();
  c.close();
  EXPECT_FALSE(c.try_send(2));
  std::optional<bool> sent;
  started s(send_one(c, 3, sent));
  EXPECT_EQ(sent, false);
  started a(receive_one(c, got));
  started b(receive_one(c, got));
  EXPECT_EQ(got, (std::vector<int>{1, -1}));
}

TEST(Queue, CloseReleasesWaitingSendersAndReceivers) {
  manual_executor on;
  queue<int> full(0), empty(0);
  std::optional<bool> sent;
  std::vector<int> got;
  started s(send_one(full, 1, sent));
  started r(receive_one(empty, got));
  full.close();
  empty.close();
  EXPECT_EQ(full.try_receive(), std::nullopt);
  on.run();
  EXPECT_EQ(sent, false);
  EXPECT_EQ(got, std::vector<int>{-1});
}

task<> send_kept(queue<std::unique_ptr<int>>& c, std::unique_ptr<int>& mine) {
  EXPECT_TRUE(co_await c.send(std::move(mine)));
}

TEST(Queue, AStoppedSendHasNotMovedItsMessageAndTheTurnPassesOn) {
  manual_executor on;
  queue<std::unique_ptr<int>> c(0);
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  auto one = std::make_unique<int>(1);
  auto two = std::make_unique<int>(2);
  started a(send_kept(c, one), stopping);
  started b(send_kept(c, two));
  stop.request_stop();
  const auto got = c.try_receive();
  on.run();
  EXPECT_TRUE(a.threw<coro::cancelled>());
  EXPECT_EQ(*one, 1);
  ASSERT_TRUE(got);
  EXPECT_EQ(**got, 2);
  EXPECT_TRUE(b.ended());
}

TEST(Queue, AStopAfterTheMessageWasTakenDoesNotUndoTheSend) {
  manual_executor on;
  queue<int> c(0);
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::optional<bool> sent;
  started a(send_one(c, 1, sent), stopping);
  EXPECT_EQ(c.try_receive(), 1);
  stop.request_stop();
  on.run();
  EXPECT_EQ(sent, true);
}

TEST(Queue, AStoppedReceiveTakesNothingAndTheTurnPassesOn) {
  manual_executor on;
  queue<int> c(1);
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> first, second;
  started a(receive_one(c, first), stopping);
  started b(receive_one(c, second));
  stop.request_stop();
  EXPECT_TRUE(c.try_send(1));
  on.run();
  EXPECT_TRUE(a.threw<coro::cancelled>());
  EXPECT_EQ(second, std::vector<int>{1});
}

TEST(Queue, AStopAfterTheMessageCameDoesNotLoseIt) {
  manual_executor on;
  queue<int> c(1);
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::vector<int> got;
  started a(receive_one(c, got), stopping);
  EXPECT_TRUE(c.try_send(1));
  stop.request_stop();
  on.run();
  EXPECT_EQ(got, std::vector<int>{1});
}

TEST(Queue, ATaskThatIsStoppedAlreadyDoesNotWait) {
  manual_executor on;
  queue<int> c(0);
  coro::stop_source stop;
  stop.request_stop();
  const coro::environment stopping{stop.token()};
  std::optional<bool> sent;
  std::vector<int> got;
  started a(send_one(c, 1, sent), stopping);
  started b(receive_one(c, got), stopping);
  EXPECT_TRUE(a.threw<coro::cancelled>());
  EXPECT_TRUE(b.threw<coro::cancelled>());
}

TEST(Queue, DestroysTheMessagesThatNobodyReceived) {
  manual_executor on;
  const auto message = std::make_shared<std::string>("left behind");
  {
    queue<std::shared_ptr<std::string>> c(3);
    for (int n = 0; n != 3; ++n) EXPECT_TRUE(c.try_send(std::shared_ptr(message)));
    EXPECT_TRUE(c.try_receive());
    EXPECT_TRUE(c.try_send(std::shared_ptr(message)));
    EXPECT_EQ(message.use_count(), 4);
  }
  EXPECT_EQ(message.use_count(), 1);
}

TEST(ChannelDeathTest, DestroyingOneThatIsWaitedInAborts) {
  EXPECT_DEATH(
      {
        manual_executor on;
        std::vector<int> got;
        auto c = std::make_unique<queue<int>>(0);
        started a(receive_one(*c, got));
        c.reset();
      },
      "close\\(\\) it and join them first");
}

}  // namespace
}  // namespace coracle::queue_test
