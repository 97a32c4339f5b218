#include "runtime/driven_loop.hpp"
#include "runtime/runtime_core.hpp"
#include "support/idle_backend.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace coracle::loop_test {
namespace {

using namespace std::chrono_literals;
using test::by_hand;
using test::idle_backend;

class loop_test : public testing::Test {
 protected:
  loop_test() {
    auto made = std::make_unique<idle_backend>();
    world_ = made.get();
    std::vector<std::unique_ptr<runtime_internal::backend>> backends;
    backends.push_back(std::move(made));
    runtime_ = runtime_internal::make_driven_runtime(std::move(backends), stderr_logger(), driver_);
    driver_.on = &on();
  }
  runtime_internal::driven_loop& on() { return runtime_->core().loop_at(0); }

  by_hand driver_;
  idle_backend* world_ = nullptr;
  std::unique_ptr<runtime> runtime_;
};

struct calling : coro::runnable {
  explicit calling(std::function<void()> f) : what(std::move(f)) {
    run = [](coro::runnable& w) noexcept { static_cast<calling&>(w).what(); };
  }
  std::function<void()> what;
};
struct calling_timer : coro::timer {
  explicit calling_timer(std::function<void()> f) : what(std::move(f)) {
    fire = [](coro::timer& t) noexcept { static_cast<calling_timer&>(t).what(); };
  }
  std::function<void()> what;
};

TEST_F(loop_test, IsTheCurrentOneWhileItTurns) {
  EXPECT_EQ(loop::current(), nullptr);
  loop* seen = nullptr;
  calling w([&] { seen = loop::current(); });
  on().post(w);
  on().run_once(time_point::min());
  EXPECT_EQ(seen, &on());
  EXPECT_EQ(loop::current(), nullptr);
  EXPECT_EQ(seen->backend_name(), "idle");
  EXPECT_EQ(&seen->owner(), runtime_.get());
}

TEST_F(loop_test, WaitsForWhicheverIsSoonerTheCallersTimeOrATimer) {
  on().run_once(time_point(2s));
  EXPECT_EQ(world_->waits.back(), time_point(2s));
  calling_timer t([] {});
  on().arm(t, time_point(2s + 1ms));
  while (t.holder) on().run_once(time_point(3s));  // a far timer may take a few turns, as its header says
  EXPECT_EQ(world_->waits.back(), time_point(2s + 1ms));
  on().run_once(never);
  EXPECT_EQ(world_->waits.back(), never);
}

TEST_F(loop_test, HooksRunAfterTheWorkOfTheTurnAndBeforeItsIo) {
  std::string order;
  calling late([&] { order += "late "; });
  calling hook([&] {
    order += "hook ";
    on().post(late);
  });
  calling first([&] {
    order += "first ";
    on().at_turn_end(hook);
  });
  calling second([&] { order += "second "; });
  on().post(first);
  on().post(second);
  world_->during_turn = [&] { order += "io "; };
  on().run_once(time_point::min());
  EXPECT_EQ(order, "first second hook late io ");
}

TEST_F(loop_test, ATurnThatIsEndedLeavesItsHooksAndIoToTheNext) {
  std::string order;
  calling hook([&] { order += "hook "; });
  calling first([&] {
    order += "first ";
    on().at_turn_end(hook);
    on().end_turn();
  });
  calling second([&] { order += "second "; });
  on().post(first);
  on().post(second);
  world_->during_turn = [&] { order += "io "; };
  on().run_once(never);
  EXPECT_EQ(order, "first second ");
  on().run_once(never);
  EXPECT_EQ(order, "first second hook io ");
  EXPECT_EQ(world_->waits.back(), never) << "the end of one turn is not that of the next";
}

TEST_F(loop_test, WorkThatPostsItselfForEverDoesNotStarveIo) {
  int runs = 0;
  bool going = true;
  std::function<void()> again;
  calling w([&] {
    ++runs;
    if (going) on().post(w);
  });
  on().post(w);
  for (int turn = 1; turn <= 3; ++turn) {
    on().run_once(never);
    EXPECT_EQ(world_->waits.size(), static_cast<std::size_t>(turn));
    EXPECT_EQ(world_->waits.back(), time_point::min()) << "work is left, so it does not wait";
  }
  EXPECT_GT(runs, 3);
  going = false;
  on().run_once(never);
}

TEST_F(loop_test, AHookThatHooksItselfForEverDoesNotStarveIo) {
  bool going = true;
  calling hook([&] {
    if (going) on().at_turn_end(hook);
  });
  on().post(hook);
  on().run_once(never);
  on().run_once(never);
  EXPECT_EQ(world_->waits.size(), 2u);
  EXPECT_EQ(world_->waits.back(), time_point::min());
  going = false;
  on().run_once(never);
  on().run_once(never);
  EXPECT_EQ(world_->waits.back(), never);
}

TEST_F(loop_test, PostsFromElsewhereWakeItOncePerSleep) {
  calling a([] {});
  calling b([] {});
  calling c([] {});
  on().post(a);
  EXPECT_EQ(world_->wakes, 0) << "it does not sleep";
  world_->during_turn = [&] {
    std::thread([&] {
      on().post(b);
      on().post(c);
    }).join();
  };
  on().run_once(never);
  EXPECT_EQ(world_->wakes, 1);
  world_->during_turn = nullptr;
  on().run_once(never);
}

TEST_F(loop_test, MailThatCameBeforeTheSleepPreventsIt) {
  calling a([] {});
  calling b([&] { std::thread([&] { on().post(a); }).join(); });
  on().post(b);
  on().run_once(never);
  EXPECT_EQ(world_->waits.back(), time_point::min());
  EXPECT_EQ(world_->wakes, 0);
  on().run_once(time_point::min());
}

TEST_F(loop_test, ItsOwnPostsWakeNobody) {
  calling b([] {});
  calling a([&] { on().post(b); });
  on().post(a);
  on().run_once(time_point::min());
  EXPECT_EQ(world_->wakes, 0);
  EXPECT_FALSE(on().has_ready());
}

TEST_F(loop_test, WorksOfOneThreadRunInTheOrderOfTheirPosts) {
  std::string order;
  calling a([&] { order += "a"; });
  calling b([&] { order += "b"; });
  calling c([&] { order += "c"; });
  on().post(a);
  on().post(b);
  on().post(c);
  on().run_once(time_point::min());
  EXPECT_EQ(order, "abc");
}

TEST_F(loop_test, NowStandsStillWithinATurnAndFollowsItsIo) {
  time_point first;
  time_point second;
  calling a([&] {
    first = on().now();
    world_->clock += 5ms;
    second = on().now();
  });
  on().post(a);
  on().run_once(time_point::min());
  EXPECT_EQ(first, second);
  EXPECT_EQ(on().now(), world_->clock);
}

TEST_F(loop_test, ANudgePreventsOneSleep) {
  on().interrupt();
  EXPECT_TRUE(on().has_ready());
  on().run_once(time_point::min());
  EXPECT_FALSE(on().has_ready());
}

}  // namespace
}  // namespace coracle::loop_test
