#include "coracle/coro/oneshot.hpp"

#include "coracle/coro/task.hpp"
#include "support/manual_executor.hpp"
#include "support/misuse.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <optional>

namespace coracle::oneshot_test {
namespace {

using test::manual_executor;
using test::started;
using value = std::unique_ptr<int>;

task<> receive(oneshot<value>& o, std::optional<value>& to) { to = co_await o.receive(); }

TEST(Oneshot, AValueThatIsThereIsReceivedWithoutSuspending) {
  manual_executor on;
  oneshot<value> o;
  std::optional<value> got;
  o.send(std::make_unique<int>(1));
  started a(receive(o, got));
  ASSERT_TRUE(got);
  EXPECT_EQ(**got, 1);
}

TEST(Oneshot, SendResumesTheReceiverThroughTheExecutor) {
  manual_executor on;
  oneshot<value> o;
  std::optional<value> got;
  started a(receive(o, got));
  o.send(std::make_unique<int>(1));
  EXPECT_FALSE(a.ended()) << "not on the sender's stack";
  on.run();
  ASSERT_TRUE(got);
  EXPECT_EQ(**got, 1);
}

TEST(Oneshot, CloseGivesTheReceiverNothing) {
  manual_executor on;
  oneshot<value> o;
  std::optional<value> got;
  started a(receive(o, got));
  o.close();
  o.close();
  on.run();
  EXPECT_TRUE(a.ended());
  EXPECT_FALSE(got);
}

TEST(Oneshot, CloseAfterSendLeavesTheValue) {
  manual_executor on;
  oneshot<value> o;
  std::optional<value> got;
  o.send(std::make_unique<int>(1));
  o.close();
  started a(receive(o, got));
  EXPECT_TRUE(got);
}

TEST(Oneshot, AStoppedReceiveLeavesTheValueToALaterOne) {
  manual_executor on;
  oneshot<value> o;
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::optional<value> got;
  started a(receive(o, got), stopping);
  stop.request_stop();
  o.send(std::make_unique<int>(1));
  on.run();
  EXPECT_TRUE(a.threw<coro::cancelled>());
  EXPECT_FALSE(got);
  started b(receive(o, got));
  ASSERT_TRUE(got);
  EXPECT_EQ(**got, 1);
}

TEST(Oneshot, AStopAfterSendDoesNotUndoTheReceive) {
  manual_executor on;
  oneshot<value> o;
  coro::stop_source stop;
  const coro::environment stopping{stop.token()};
  std::optional<value> got;
  started a(receive(o, got), stopping);
  o.send(std::make_unique<int>(1));
  stop.request_stop();
  on.run();
  EXPECT_TRUE(got);
}

TEST(Oneshot, SendingTwiceThrows) {
  oneshot<int> o;
  o.send(1);
  test::expect_misuse([&] { o.send(2); }, "use a queue for several values");
}

TEST(OneshotDeathTest, TwoReceiversAtOnceAbort) {
  manual_executor on;
  oneshot<value> o;
  std::optional<value> got;
  started a(receive(o, got));
  EXPECT_DEATH(started b(receive(o, got)), "only one task may wait");
  o.close();
  on.run();
}

TEST(OneshotDeathTest, ReceivingTwiceAborts) {
  manual_executor on;
  oneshot<value> o;
  std::optional<value> got;
  o.send(std::make_unique<int>(1));
  started a(receive(o, got));
  EXPECT_EXIT(started b(receive(o, got)), testing::KilledBySignal(SIGABRT), "received twice");
}

}  // namespace
}  // namespace coracle::oneshot_test
