#include "coracle/execution.hpp"

#include "observer.hpp"
#include "support/every_backend.hpp"

#include "coracle/runtime.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

namespace coracle::testing_support::sender_awaiter_test {
namespace {

using namespace std::chrono_literals;

class awaited_senders : public every_backend {};

TEST_P(awaited_senders, TheResultIsNothingAnObjectOrATuple) {
  auto body = []() -> task<> {
    auto none = ex::just();
    static_assert(std::is_void_v<decltype(coro::awaiter_of(std::move(none)).await_resume())>);
    co_await std::move(none);
    auto one = ex::just(std::make_unique<int>(3));
    const std::unique_ptr<int> value = co_await std::move(one);
    EXPECT_EQ(*value, 3);
    auto two = ex::just(1, std::string("two"));
    const std::tuple<int, std::string> both = co_await std::move(two);
    EXPECT_EQ(both, std::make_tuple(1, std::string("two")));
  };
  run(body());
}

TEST_P(awaited_senders, ErrorsAreExceptions) {
  auto body = []() -> task<> {
    auto failed = ex::just_error(status::not_found("no such film"));
    auto broken = ex::just_error(std::make_exception_ptr(std::runtime_error("no")));
    auto code = ex::just_error(std::make_error_code(std::errc::timed_out));
    auto number = ex::just_error(5);
    status got;
    try {
      co_await std::move(failed);
    } catch (const status_error& e) {
      got = e.status();
    }
    EXPECT_EQ(got, status::not_found("no such film"));
    EXPECT_THROW(co_await std::move(broken), std::runtime_error);
    EXPECT_THROW(co_await std::move(code), std::system_error);
    EXPECT_THROW(co_await std::move(number), int);
  };
  run(body());
}

TEST_P(awaited_senders, AStoppedSenderUnwindsTheTask) {
  auto body = []() -> task<> {
    auto stopped = ex::just_stopped();
    co_await std::move(stopped);
  };
  EXPECT_THROW(run(body()), coro::cancelled);
}

TEST_P(awaited_senders, AStopOfTheTaskReachesTheSender) {
  auto body = []() -> task<status> {
    // Any sender is a wait as others: its task is stopped when the time has passed.
    with_timeout limited(1ms, until_stopped());
    co_return co_await limited;
  };
  EXPECT_EQ(run(body()).code(), status_code::deadline_exceeded);
}

TEST_P(awaited_senders, AStopBeforeTheAwaitReachesTheSender) {
  auto inner = []() -> task<> {
    try {
      co_await sleep_for(24h);
    } catch (const coro::cancelled&) {
    }
    co_await until_stopped();
  };
  auto body = [](task<> waits) -> task<status> {
    with_timeout limited(1ms, std::move(waits));
    co_return co_await limited;
  };
  EXPECT_EQ(run(body(inner())).code(), status_code::deadline_exceeded);
}

TEST_P(awaited_senders, TheTaskContinuesOnItsLoopAndNotInsideTheCompletion) {
  if (sim_world()) return;  // its loops run on the test's thread
  auto body = []() -> task<> {
    loop* const here = loop::current();
    for (int i = 0; i < 50; ++i) {
      const int value = co_await on_a_thread();
      EXPECT_EQ(value, 7);
      EXPECT_EQ(loop::current(), here);
    }
  };
  run(body());
}

TEST_P(awaited_senders, TheEnvironmentIsThatOfTheTask) {
  auto body = []() -> task<> {
    const coro::environment& mine = co_await coro::this_environment();
    const time_point deadline = co_await answer_of<get_deadline_t, time_point>();
    EXPECT_EQ(deadline, mine.deadline);
    EXPECT_NE(deadline, never);
    const loop_scheduler scheduler = co_await answer_of<ex::get_scheduler_t, loop_scheduler>();
    EXPECT_EQ(&scheduler.where(), loop::current());
    // What coroutines of a library of senders require of what awaits them.
    const auto start = co_await answer_of<ex::get_start_scheduler_t, senders::start_scheduler>();
    EXPECT_EQ(&start.where(), loop::current());
    co_await start.schedule();
    EXPECT_EQ(&start.where(), loop::current());
    loop_allocator<std::byte> memory = co_await answer_of<ex::get_allocator_t, loop_allocator<std::byte>>();
    std::byte* const bytes = memory.allocate(100);
    bytes[99] = std::byte{1};
    memory.deallocate(bytes, 100);
    loop_allocator<int> ints(memory);
    EXPECT_EQ(ints, memory);
    // A wait below the sender is a wait of this task.
    auto ask = []() -> task<time_point> {
      const coro::environment& here = co_await coro::this_environment();
      co_return here.deadline;
    };
    auto below = as_sender(ask()) | ex::then([](time_point t) { return t; });
    const time_point inherited = co_await std::move(below);
    EXPECT_EQ(inherited, mine.deadline);
  };
  auto limited = [](task<> asks) -> task<> {
    with_timeout within_a_day(24h, std::move(asks));
    const status ended = co_await within_a_day;
    EXPECT_EQ(ended, status());
  };
  run(limited(body()));
}

TEST_P(awaited_senders, WhenAllJoinsTasksOfALoop) {
  auto body = []() -> task<int> {
    auto two = []() -> task<int> {
      co_await sleep_for(1ms);
      co_return 2;
    };
    auto three = []() -> task<result<int>> { co_return 3; };
    auto all =
        ex::when_all(as_sender(two()), as_sender(three())) | ex::then([](int a, int b) { return a * b; });
    co_return co_await std::move(all);
  };
  EXPECT_EQ(run(body()), 6);
}

TEST_P(awaited_senders, ALongChainOfCompletedSendersNeedsNoStack) {
  auto body = []() -> task<int> {
    int sum = 0;
    for (int i = 0; i < 100'000; ++i) {
      auto one = ex::just(1);
      sum += co_await std::move(one);
    }
    co_return sum;
  };
  EXPECT_EQ(run(body()), 100'000);
}

INSTANTIATE_TEST_SUITE_P(Backends, awaited_senders, all_kinds, every_backend::case_name);

}  // namespace
}  // namespace coracle::testing_support::sender_awaiter_test
