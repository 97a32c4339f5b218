#include "coracle/execution.hpp"

#include "observer.hpp"
#include "support/every_backend.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/semaphore.hpp"
#include "coracle/runtime.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <tuple>
#include <utility>

namespace coracle::testing_support::sender_test {
namespace {

using namespace std::chrono_literals;

static_assert(ex::scheduler<loop_scheduler>);
static_assert(ex::sender<decltype(std::declval<loop_scheduler>().schedule())>);

class sender_test : public every_backend {
 protected:
  sender_test() : every_backend(2) {}
  loop& here() { return rt().at(0); }
  loop& there() { return rt().at(1); }
};
// On threads of the runtime, with sync_wait() of senders, which blocks the test's thread.
class threaded_senders : public sender_test {
 protected:
  void SetUp() override {
    sender_test::SetUp();
    if (!IsSkipped()) rt().start();
  }
};

task<std::unique_ptr<int>> boxed(int value) {
  co_await sleep_for(1ms);
  co_return std::make_unique<int>(value);
}
task<> fail() {
  co_await sleep_for(0ms);
  throw std::runtime_error("no");
}
task<> release(semaphore& permits, event<>& set) {
  permits.release();
  set.set();
  co_return;
}
task<int> say_where(loop*& on) {
  on = loop::current();
  co_return 1;
}

TEST_P(sender_test, ATaskCompletesOnItsLoopAndNotInsideStart) {
  seen<std::unique_ptr<int>> end;
  const running r(as_sender(there(), boxed(7)), observer(end));
  EXPECT_EQ(end.completions, 0);
  rt().run();
  ASSERT_TRUE(end.value);
  EXPECT_EQ(**end.value, 7);
  EXPECT_EQ(end.on, &there());
}

TEST_P(sender_test, AnExceptionIsAnError) {
  seen end;
  const running r(as_sender(here(), fail()), observer(end));
  rt().run();
  EXPECT_TRUE(end.threw<std::runtime_error>());
}

TEST_P(sender_test, AFunctionThatThrowsInsteadOfAWaitIsAnError) {
  seen end;
  const running r(as_sender(here(), []() -> sleep_for { throw std::runtime_error("no"); }), observer(end));
  rt().run();
  EXPECT_TRUE(end.threw<std::runtime_error>());
}

TEST_P(sender_test, ATaskThatIsConnectedTwiceIsAUsageError) {
  loop* on = nullptr;
  auto sender = as_sender(here(), say_where(on));
  seen<int> first;
  seen<int> second;
  const running a(std::move(sender), observer(first));
  const running b(std::move(sender), observer(second));  // NOLINT(bugprone-use-after-move): the misuse
  rt().run();
  EXPECT_EQ(first.value, 1);
  EXPECT_TRUE(second.threw<usage_error>());
}

TEST_P(sender_test, AResultIsAValueOrAStatus) {
  auto divide = [](int by) -> task<result<int>> {
    if (by == 0) co_return status::out_of_range("by zero");
    co_return 6 / by;
  };
  seen<int> good;
  seen<int> bad;
  const running a(as_sender(here(), divide(2)), observer(good));
  const running b(as_sender(here(), divide(0)), observer(bad));
  rt().run();
  EXPECT_EQ(good.value, 3);
  EXPECT_EQ(bad.failure, status::out_of_range("by zero"));
}

TEST_P(sender_test, AStatusIsNoValueOrAnError) {
  auto check = [](status s) -> task<status> { co_return s; };
  seen good;
  seen bad;
  const running a(as_sender(here(), check({})), observer(good));
  // CANCELLED without a stop request is a status as any other.
  const running b(as_sender(here(), check(status::cancelled("by the task"))), observer(bad));
  rt().run();
  EXPECT_TRUE(good.value);
  EXPECT_EQ(bad.failure, status::cancelled("by the task"));
}

TEST_P(sender_test, AScheduleCompletesOnTheLoop) {
  const loop_scheduler scheduler(there());
  EXPECT_EQ(scheduler, loop_scheduler(there()));
  EXPECT_NE(scheduler, loop_scheduler(here()));
  const auto sender = scheduler.schedule();
  EXPECT_EQ(ex::get_completion_scheduler<ex::set_value_t>(ex::get_env(sender)), scheduler);
  seen first;
  seen second;  // this sender can be connected more than once
  const running a(sender, observer(first));
  const running b(sender, observer(second));
  rt().run();
  EXPECT_EQ(first.on, &there());
  EXPECT_EQ(second.on, &there());
}

TEST_P(sender_test, ATimerCompletesAtItsTimeOrIsStopped) {
  const loop_scheduler scheduler(here());
  const time_point when = scheduler.now() + 3ms;
  ex::inplace_stop_source stop;
  const auto stoppable = ex::prop(ex::get_stop_token, stop.get_token());
  seen at;
  seen after;
  seen stopped;
  const running a(scheduler.schedule_at(when), observer(at));
  const running b(scheduler.schedule_after(1ms), observer(after));
  const running c(scheduler.schedule_after(24h), observer(stopped, stoppable));
  rt().spawn_on(here(), stop_in(1ms, stop));
  rt().run();
  EXPECT_TRUE(at.value);
  EXPECT_GE(rt().now(), when);
  EXPECT_TRUE(after.value);
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.completions, 1);
}

TEST_P(sender_test, AStopBeforeTheStartBeginsNothing) {
  ex::inplace_stop_source stop;
  stop.request_stop();
  bool began = false;
  seen end;
  const running r(as_sender(here(),
                            [&] {
                              began = true;
                              return sleep_for(0ms);
                            }),
                  observer(end, ex::prop(ex::get_stop_token, stop.get_token())));
  EXPECT_EQ(end.completions, 0);
  rt().run();
  EXPECT_TRUE(end.stopped);
  EXPECT_EQ(end.on, &here());
  EXPECT_FALSE(began);
}

TEST_P(sender_test, AnEndOfTheRuntimeIsAStop) {
  seen end;
  const running r(loop_scheduler(here()).schedule_after(24h), observer(end));
  rt().stop();
  rt().run();
  EXPECT_TRUE(end.stopped);
}

TEST_P(sender_test, AStdStopTokenStopsAWait) {
  std::stop_source stop;
  seen end;
  const running r(loop_scheduler(here()).schedule_after(24h),
                  observer(end, ex::prop(ex::get_stop_token, stop.get_token())));
  stop.request_stop();
  rt().run();
  EXPECT_TRUE(end.stopped);
}

TEST_P(sender_test, APrimitiveIsAwaitedOnTheLoop) {
  semaphore permits(0);
  event<> set;
  seen acquired;
  seen waited;
  const running a(as_sender(here(), [&] { return permits.acquire(); }), observer(acquired));
  const running b(as_sender(there(), [&]() -> event<>& { return set; }), observer(waited));
  rt().spawn_on(here(), release(permits, set));
  rt().run();
  EXPECT_TRUE(acquired.value);
  EXPECT_TRUE(waited.value);
  EXPECT_EQ(waited.on, &there());
}

TEST_P(sender_test, AStopLeavesAPrimitiveAsItWas) {
  semaphore permits(0);
  ex::inplace_stop_source stop;
  seen end;
  const running r(as_sender(here(), [&] { return permits.acquire(); }),
                  observer(end, ex::prop(ex::get_stop_token, stop.get_token())));
  rt().spawn_on(here(), stop_in(1ms, stop));
  rt().run();
  EXPECT_TRUE(end.stopped);
  EXPECT_EQ(permits.available(), 0u);
}

TEST_P(sender_test, TheReceiversSchedulerChoosesTheLoop) {
  loop* on = nullptr;
  seen<int> end;
  const running r(as_sender(say_where(on)),
                  observer(end, ex::prop(ex::get_scheduler, loop_scheduler(there()))));
  rt().run();
  EXPECT_EQ(on, &there());
  EXPECT_EQ(end.on, &there());
}

TEST_P(sender_test, WithoutALoopAWaitIsAUsageError) {
  loop* on = nullptr;
  seen<int> end;
  const running r(as_sender(say_where(on)), observer(end));
  EXPECT_TRUE(end.threw<usage_error>());
}

TEST_P(sender_test, TheWaitInheritsTheReceiversDeadline) {
  const time_point limit = rt().now() + 5s;
  auto deadline = []() -> task<time_point> {
    const coro::environment& here = co_await coro::this_environment();
    co_return here.deadline;
  };
  seen<time_point> limited;
  seen<time_point> unlimited;
  const running a(as_sender(here(), deadline()), observer(limited, ex::prop(get_deadline, limit)));
  const running b(as_sender(here(), deadline()), observer(unlimited));
  rt().run();
  EXPECT_EQ(limited.value, limit);
  EXPECT_EQ(unlimited.value, never);
}

struct destroying_receiver {
  using receiver_concept = ex::receiver_t;
  std::shared_ptr<void>* kept;
  void set_value() noexcept { kept->reset(); }
  void set_error(const std::exception_ptr&) noexcept {}
  void set_stopped() noexcept {}
};
TEST_P(sender_test, AnOperationMayBeDestroyedByItsReceiver) {
  std::shared_ptr<void> kept;
  using sender = decltype(loop_scheduler(here()).schedule());
  kept = std::make_shared<running<sender, destroying_receiver>>(loop_scheduler(here()).schedule(),
                                                                destroying_receiver{&kept});
  rt().run();
  EXPECT_FALSE(kept);
}

TEST_P(threaded_senders, AlgorithmsRunTheirFunctionsOnTheLoop) {
  loop* first = nullptr;
  loop* second = nullptr;
  auto work = ex::starts_on(loop_scheduler(here()), ex::just(20)) | ex::then([&](int i) {
                first = loop::current();
                return i + 1;
              }) |
              ex::continues_on(loop_scheduler(there())) | ex::then([&](int i) {
                second = loop::current();
                return 2 * i;
              });
  const auto [value] = ex::sync_wait(std::move(work)).value();
  EXPECT_EQ(value, 42);
  EXPECT_EQ(first, &here());
  EXPECT_EQ(second, &there());
}

TEST_P(threaded_senders, AFailureStopsTheOthersOfWhenAll) {
  auto all = ex::when_all(as_sender(there(), fail()), loop_scheduler(here()).schedule_after(24h));
  EXPECT_THROW(ex::sync_wait(std::move(all)), std::runtime_error);
}

TEST_P(threaded_senders, AStopFromAnotherThreadMeetsTheEnd) {
  for (int i = 0; i < 200; ++i) {
    ex::inplace_stop_source stop;
    std::thread stopper([&] { stop.request_stop(); });
    auto sleep =
        ex::write_env(loop_scheduler(i % 2 == 0 ? here() : there()).schedule_after(i % 3 == 0 ? 0ms : 24h),
                      ex::prop(ex::get_stop_token, stop.get_token()));
    const auto ended = ex::sync_wait(std::move(sleep));
    EXPECT_TRUE(i % 3 == 0 || !ended);
    stopper.join();
  }
}

TEST_P(threaded_senders, ARuntimeThatEndsStopsItsSenders) {
  std::optional<runtime> other(std::in_place);
  other->start();
  std::thread waits([&] {
    EXPECT_FALSE(
        ex::sync_wait(loop_scheduler(other->at(0)).schedule_after(24h) | ex::then([] { return 1; })));
  });
  other->stop();
  waits.join();
}

INSTANTIATE_TEST_SUITE_P(Backends, sender_test, all_kinds, every_backend::case_name);
INSTANTIATE_TEST_SUITE_P(Backends, threaded_senders, kernel_kinds, every_backend::case_name);

}  // namespace
}  // namespace coracle::testing_support::sender_test
