#include "coracle/coro/stop_token.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

namespace coracle::coro::stop_token_test {
namespace {

struct counting : stop_callback {
  counting() : stop_callback([](stop_callback& c) noexcept { ++static_cast<counting&>(c).calls; }) {}
  int calls = 0;
};

TEST(StopToken, ADefaultOneNeverStops) {
  const stop_token token;
  counting c;
  EXPECT_FALSE(token.stop_possible());
  EXPECT_FALSE(token.stop_requested());
  EXPECT_TRUE(token.subscribe(c));
  EXPECT_FALSE(c.linked());
}

TEST(StopToken, CallsEverySubscriberOnce) {
  stop_source source;
  counting a;
  counting b;
  EXPECT_TRUE(source.token().subscribe(a));
  EXPECT_TRUE(source.token().subscribe(b));
  source.request_stop();
  source.request_stop();
  EXPECT_EQ(a.calls, 1);
  EXPECT_EQ(b.calls, 1);
  EXPECT_TRUE(source.token().stop_requested());
}

TEST(StopToken, RefusesASubscriberThatComesTooLate) {
  stop_source source;
  source.request_stop();
  counting c;
  EXPECT_FALSE(source.token().subscribe(c));
  EXPECT_EQ(c.calls, 0);
}

TEST(StopToken, DoesNotCallADestroyedSubscriber) {
  struct counting_outside : stop_callback {
    explicit counting_outside(int& n)
        : stop_callback([](stop_callback& c) noexcept { ++static_cast<counting_outside&>(c).calls; }),
          calls(n) {}
    int& calls;
  };
  stop_source source;
  int calls = 0;
  std::optional<counting_outside> c;
  c.emplace(calls);
  source.token().subscribe(*c);
  c.reset();
  source.request_stop();
  EXPECT_EQ(calls, 0);
}

TEST(StopToken, ACallbackMayUnlinkAnother) {
  struct killer : stop_callback {
    explicit killer(counting& v)
        : stop_callback([](stop_callback& c) noexcept { static_cast<killer&>(c).victim.unlink(); }),
          victim(v) {}
    counting& victim;
  };
  stop_source source;
  counting victim;
  killer k(victim);
  source.token().subscribe(k);
  source.token().subscribe(victim);
  source.request_stop();
  EXPECT_EQ(victim.calls, 0);
}

TEST(StopToken, AStopReachesTheSourcesBelow) {
  stop_source root;
  stop_source middle(root.token());
  stop_source leaf(middle.token());
  counting c;
  leaf.token().subscribe(c);
  root.request_stop();
  EXPECT_EQ(c.calls, 1);
  EXPECT_TRUE(middle.stop_requested());
}

TEST(StopToken, AStopBelowDoesNotRise) {
  stop_source root;
  stop_source leaf(root.token());
  leaf.request_stop();
  EXPECT_FALSE(root.stop_requested());
}

TEST(StopToken, ASourceUnderAStoppedOneIsStopped) {
  stop_source root;
  root.request_stop();
  stop_source leaf(root.token());
  EXPECT_TRUE(leaf.stop_requested());
}

}  // namespace
}  // namespace coracle::coro::stop_token_test
