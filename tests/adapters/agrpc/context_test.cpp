// GrpcContext, its executor, and alarms.

#include "agrpc_fixture.hpp"

#include <sys/resource.h>
#include <boost/interprocess/offset_ptr.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace agrpc_tests::context_test {

using std::chrono::milliseconds;

static_assert(asio::is_executor<agrpc::GrpcExecutor>::value);
static_assert(asio::execution::is_executor<agrpc::GrpcExecutor>::value);
static_assert(std::is_convertible_v<agrpc::GrpcExecutor, asio::any_io_executor>);

TEST(GrpcContext, RunWithoutWorkReturnsAtOnce) {
  agrpc::GrpcContext context;
  EXPECT_FALSE(context.is_stopped());
  EXPECT_FALSE(context.run());
  EXPECT_TRUE(context.is_stopped());
  EXPECT_FALSE(context.poll());
  EXPECT_EQ(context.get_server_completion_queue(), nullptr);
  EXPECT_EQ(agrpc::get_completion_queue(context), context.get_completion_queue());
  EXPECT_EQ(agrpc::get_completion_queue(context.get_executor()), context.get_completion_queue());
}

TEST(GrpcContext, FunctionsRunInTheOrderInWhichTheyWerePosted) {
  agrpc::GrpcContext context{std::make_unique<grpc::CompletionQueue>()};
  // Not every Asio's dispatch() asks for it.
  const auto at_once = asio::require(context.get_executor(), asio::execution::blocking.possibly);
  std::string order;
  asio::post(context, [&] {
    order += '1';
    asio::post(context, [&] { order += '4'; });
    asio::defer(context, [&] { order += '5'; });
    asio::dispatch(at_once, [&] { order += '2'; });
    EXPECT_TRUE(context.get_executor().running_in_this_thread());
  });
  asio::post(context, [&] { order += '3'; });
  EXPECT_FALSE(context.get_executor().running_in_this_thread());
  EXPECT_TRUE(context.run());
  EXPECT_EQ(order, "12345");
}

TEST(GrpcContext, FunctionsFromOtherThreadsWakeRun) {
  agrpc::GrpcContext context;
  std::optional guard{asio::require(context.get_executor(), asio::execution::outstanding_work_t::tracked)};
  std::atomic<int> ran = 0;
  std::vector<std::thread> others;
  for (int t = 0; t < 4; ++t) {
    others.emplace_back([&] {
      for (int i = 0; i < 500; ++i) asio::post(context, [&] { ++ran; });
    });
  }
  std::thread last([&] {
    for (std::thread& t : others) t.join();
    asio::post(context, [&] { guard.reset(); });
  });
  context.run();
  last.join();
  EXPECT_EQ(ran, 2000);
}

TEST(GrpcContext, AWorkGuardThatAnotherThreadResetsEndsRun) {
  agrpc::GrpcContext context;
  auto guard = asio::make_work_guard(context);
  std::thread other([&] { guard.reset(); });
  context.run();
  other.join();
  EXPECT_TRUE(context.is_stopped());
  context.work_started();
  EXPECT_FALSE(context.poll());
  EXPECT_FALSE(context.is_stopped());
  context.work_finished();
}

TEST(GrpcContext, StopEndsRunAndResetAllowsPollAgain) {
  agrpc::GrpcContext context;
  const auto guard = asio::make_work_guard(context);
  bool second = false;
  asio::post(context, [&] {
    context.stop();
    asio::post(context, [&] { second = true; });
  });
  context.run();
  EXPECT_TRUE(context.is_stopped());
  EXPECT_FALSE(second);
  context.reset();
  EXPECT_FALSE(context.is_stopped());
  EXPECT_TRUE(context.poll());
  EXPECT_TRUE(second);
  std::thread other([&] { context.stop(); });
  other.join();
  EXPECT_TRUE(context.is_stopped());
}

// The heap would give the memory to the next allocation of its size.
bool reuses_memory() {
  asio::recycling_allocator<char> memory;
  constexpr std::size_t size = 500;
  char* const first = memory.allocate(size);
  memory.deallocate(first, size);
  std::vector<std::unique_ptr<char[]>> others;
  for (std::size_t more = 0; more <= 24; more += 4) others.emplace_back(new char[size + more]);
  char* const second = memory.allocate(size);
  memory.deallocate(second, size);
  return second == first;
}

TEST(GrpcContext, RunReusesTheMemoryOfHandlers) {
  agrpc::GrpcContext context;
  int reusing = 0;
  const auto look = [&] { reusing += reuses_memory() ? 1 : 0; };
  asio::post(context, look);
  context.run();
  EXPECT_EQ(reusing, 1);
  asio::post(context, look);
  context.run_until(in_a_minute());
  EXPECT_EQ(reusing, 2);
  asio::io_context io_context;
  context.reset();  // the end of its work has stopped it
  asio::post(context, look);
  agrpc::run(context, io_context);
  EXPECT_EQ(reusing, 3);
}

#if defined(CORACLE_GRPCPP)

long voluntary_switches() {
  rusage used{};
  ::getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw;
}

// One that looks at both in turn wakes some 400 times.
TEST(GrpcContext, RunWithAnIoContextSleepsWhileBothWait) {
  agrpc::GrpcContext context;
  asio::io_context io_context;
  std::optional guard{asio::make_work_guard(context)};
  asio::steady_timer timer(io_context, milliseconds(100));
  timer.async_wait([&](auto) { guard.reset(); });
  const long before = voluntary_switches();
  agrpc::run(context, io_context);
  EXPECT_LT(voluntary_switches() - before, 100);
}

TEST(GrpcContext, RunWithAnIoContextEndsItsWaitForEachOfBoth) {
  agrpc::GrpcContext context;
  asio::io_context io_context;
  std::optional io_guard{asio::make_work_guard(io_context)};
  std::optional guard{asio::make_work_guard(context)};
  std::vector<std::string> order;
  agrpc::Alarm alarm(context);
  // Each from another thread, when the one before has come.
  std::promise<void> came;
  std::promise<void> all_came;
  std::thread other([&] {
    asio::post(context, [&] {
      order.emplace_back("function");
      came.set_value();
    });
    came.get_future().wait();
    asio::post(io_context, [&] {
      order.emplace_back("handler");
      alarm.wait(in(milliseconds(5)), [&](bool ok) {
        order.emplace_back(ok ? "alarm" : "cancelled");
        all_came.set_value();
      });
    });
    all_came.get_future().wait();
    guard.reset();
    io_guard.reset();
  });
  agrpc::run(context, io_context);
  other.join();
  EXPECT_EQ(order, (std::vector<std::string>{"function", "handler", "alarm"}));
}

// Work of one ends, and the other has some: from handlers, and from another thread.
TEST(GrpcContext, RunWithAnIoContextGoesOnWithTheOneThatHasWork) {
  for (const bool of_grpc_first : {false, true}) {
    agrpc::GrpcContext context;
    asio::io_context io_context;
    std::optional io_guard{asio::make_work_guard(io_context)};
    std::optional guard{asio::make_work_guard(context)};
    std::promise<void> ran;
    std::thread other([&] {
      if (of_grpc_first) {
        guard.reset();
        asio::post(io_context, [&] { ran.set_value(); });
      } else {
        io_guard.reset();
        asio::post(context, [&] { ran.set_value(); });
      }
      ran.get_future().wait();
      guard.reset();
      io_guard.reset();
    });
    agrpc::run(context, io_context);
    other.join();
    EXPECT_TRUE(context.is_stopped());
    EXPECT_TRUE(io_context.stopped());
  }
}

// Whichever of them the reactor tells of an event of the queue.
TEST(GrpcContext, RunWithAnIoContextHasItsEventsThoughOthersRunThatToo) {
  agrpc::GrpcContext context;
  asio::io_context io_context;
  std::optional io_guard{asio::make_work_guard(io_context)};
  std::thread other([&] { io_context.run(); });
  int rung = 0;
  agrpc::Alarm alarm(context);
  std::function<void(bool)> ring = [&](bool) {
    if (++rung < 50) alarm.wait(in(milliseconds(1)), [&](bool ok) { ring(ok); });
    else io_guard.reset();
  };
  alarm.wait(in(milliseconds(1)), [&](bool ok) { ring(ok); });
  agrpc::run(context, io_context);
  other.join();
  EXPECT_EQ(rung, 50);
}

#endif

TEST(GrpcContext, RunUntilEndsAtItsDeadline) {
  agrpc::GrpcContext context;
  const auto guard = asio::make_work_guard(context);
  EXPECT_FALSE(context.run_until(in(milliseconds(10))));
  EXPECT_FALSE(context.is_stopped());
  gpr_timespec deadline;
  grpc::Timepoint2Timespec(in(milliseconds(10)), &deadline);
  asio::post(context, [] {});
  EXPECT_TRUE(context.run_until(deadline));
}

TEST(GrpcContext, RunWhileAsksBeforeEachEvent) {
  agrpc::GrpcContext context;
  int ran = 0;
  agrpc::Alarm first(context), second(context);
  first.wait(in(milliseconds(1)), [&](bool) { ++ran; });
  second.wait(in(milliseconds(2)), [&](bool) { ++ran; });
  EXPECT_TRUE(context.run_while([&] { return ran == 0; }));
  EXPECT_EQ(ran, 1);
  context.run();
  EXPECT_EQ(ran, 2);
}

TEST(GrpcContext, RunWhileDoesNotWaitIfAFunctionHasEndedIt) {
  agrpc::GrpcContext context;
  bool rang = false;
  bool ran = false;
  agrpc::Alarm alarm(context);
  alarm.wait(in(milliseconds(300)), [&](bool) { rang = true; });
  asio::post(context, [&] { ran = true; });
  EXPECT_TRUE(context.run_while([&] { return !ran; }));
  EXPECT_TRUE(ran);
  EXPECT_FALSE(rang);
  alarm.cancel();
  context.run();
  EXPECT_TRUE(rang);
}

TEST(GrpcContext, RunWithAnIoContextProcessesWhatIsReadyAtItsFirstLook) {
  agrpc::GrpcContext context;
  asio::io_context io_context;
  const auto guard = asio::make_work_guard(io_context);
  int asked = 0;
  bool ran = false;
  asio::post(io_context, [&] { ran = true; });
  agrpc::run(context, io_context, [&] { return ++asked == 2; });
  EXPECT_TRUE(ran);
}

TEST(GrpcContext, RunCompletionQueueLeavesFunctionsToOtherThreads) {
  agrpc::GrpcContext context;
  bool function_ran = false;
  bool alarm_rang = false;
  asio::post(context, [&] { function_ran = true; });
  agrpc::Alarm alarm(context);
  // The handler's executor is not that of the context, so the thread in run_completion_queue() calls it.
  alarm.wait(in(milliseconds(1)), asio::bind_executor(asio::system_executor(), [&](bool) {
               alarm_rang = true;
               context.stop();
             }));
  EXPECT_TRUE(context.run_completion_queue());
  EXPECT_TRUE(alarm_rang);
  EXPECT_FALSE(function_ran);
  EXPECT_FALSE(context.poll_completion_queue());
  EXPECT_TRUE(context.poll());
  EXPECT_TRUE(function_ran);
}

TEST(GrpcContext, AnExceptionLeavesRunWhichContinuesAfterIt) {
  agrpc::GrpcContext context;
  bool second = false;
  asio::post(context, [] { throw std::runtime_error("first"); });
  asio::post(context, [&] { second = true; });
  EXPECT_THROW(context.run(), std::runtime_error);
  EXPECT_FALSE(second);
  context.run();
  EXPECT_TRUE(second);
}

TEST(GrpcContext, SeveralThreadsProcessTheWorkOfOneContext) {
  constexpr int threads = 3;
  agrpc::GrpcContext context(threads);
  std::optional guard(asio::make_work_guard(context));
  std::atomic<int> inside = 0;
  std::promise<void> all_inside;
  const auto met = all_inside.get_future().share();
  for (int i = 0; i < threads; ++i) {
    asio::post(context, [&, met] {  // each holds a thread until all of them run
      if (++inside == threads) all_inside.set_value();
      met.wait();
    });
  }
  std::atomic<int> rang = 0;
  std::vector<std::unique_ptr<agrpc::Alarm>> alarms;
  for (int i = 0; i < 100; ++i) {
    agrpc::Alarm& alarm = *alarms.emplace_back(std::make_unique<agrpc::Alarm>(context));
    alarm.wait(in(milliseconds(i % 5)), [&](bool ok) {
      if (ok && ++rang == 100) asio::post(context, [&] { guard.reset(); });
    });
  }
  std::vector<std::thread> others;
  for (int i = 0; i < threads; ++i) others.emplace_back([&] { context.run(); });
  for (std::thread& t : others) t.join();
  EXPECT_EQ(inside, threads);
  EXPECT_EQ(rang, 100);
}

TEST(GrpcContext, StopReleasesAllThreads) {
  agrpc::GrpcContext context(3);
  const auto guard = asio::make_work_guard(context);
  std::atomic<int> running = 0;
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      bool in = false;
      context.run_while([&] {
        if (!std::exchange(in, true)) ++running;
        return true;
      });
    });
  }
  asio::post(context, [&] {
    while (running != 3) std::this_thread::yield();
    context.stop();
  });
  for (std::thread& t : others) {
    // A thread that enters after the others have left would clear the stop.
    t.join();
  }
  EXPECT_TRUE(context.is_stopped());
}

TEST(GrpcContext, ItsDestructorDestroysHandlersWithoutACall) {
  const auto alive = std::make_shared<int>(1);
  bool called = false;
  std::optional<agrpc::Alarm> alarm;
  {
    agrpc::GrpcContext context;
    alarm.emplace(context);
    asio::post(context, [alive, &called] { called = true; });
    alarm->wait(in_a_minute(), [alive, &called](bool) { called = true; });
    asio::co_spawn(
        context,
        [alive, &context]() -> asio::awaitable<void> {
          agrpc::Alarm own(context);
          co_await own.wait(in_a_minute(), asio::use_awaitable);
        },
        asio::detached);
    context.poll_completion_queue();
    alarm->cancel();
    EXPECT_EQ(alive.use_count(), 4);
  }
  EXPECT_EQ(alive.use_count(), 1);
  EXPECT_FALSE(called);
}

TEST(GrpcContext, SocketsAndSignalsOfAsioCompleteInIt) {
  agrpc::GrpcContext context;
  asio::steady_timer timer(context, std::chrono::milliseconds(1));
  bool here = false;
  timer.async_wait(
      [&](const error_code& error) { here = !error && context.get_executor().running_in_this_thread(); });
  asio::signal_set signals{context, SIGUSR2};
  signals.async_wait([](const error_code&, int) {});
  signals.cancel();
  context.run();
  EXPECT_TRUE(here);
}

TEST(GrpcExecutor, PropertiesMakeItBlockTrackWorkAndAllocate) {
  agrpc::GrpcContext context;
  const agrpc::GrpcExecutor executor = context.get_executor();
  EXPECT_EQ(&asio::query(executor, asio::execution::context), &context);
  EXPECT_EQ(asio::query(executor, asio::execution::blocking), asio::execution::blocking.never);
  EXPECT_EQ(asio::query(executor, asio::execution::mapping), asio::execution::mapping.thread);
  const auto possibly = asio::require(executor, asio::execution::blocking.possibly);
  EXPECT_EQ(asio::query(possibly, asio::execution::blocking), asio::execution::blocking.possibly);
  const auto continues = asio::prefer(executor, asio::execution::relationship.continuation);
  EXPECT_EQ(asio::query(continues, asio::execution::relationship),
            asio::execution::relationship.continuation);
  EXPECT_EQ(asio::query(asio::require(continues, asio::execution::relationship.fork),
                        asio::execution::relationship),
            asio::execution::relationship.fork);

  std::string order;
  asio::post(context, [&] {
    asio::execution::execute(executor, [&] { order += '2'; });
    asio::execution::execute(possibly, [&] { order += '1'; });
  });
  context.run();
  EXPECT_EQ(order, "12");

  std::array<std::byte, 512> space;
  std::pmr::monotonic_buffer_resource memory(space.data(), space.size(), std::pmr::null_memory_resource());
  const auto allocates = asio::require(
      executor, asio::execution::allocator(std::pmr::polymorphic_allocator<std::byte>(&memory)));
  asio::execution::execute(allocates, [&] { order += '3'; });
  context.run();
  EXPECT_EQ(order, "123");
  EXPECT_NE(allocates.get_allocator().resource(), std::pmr::get_default_resource());
}

TEST(GrpcExecutor, IsTrivialAndEqualByContextPropertiesAndAllocator) {
  using executor_type = agrpc::GrpcExecutor;
  static_assert(std::is_trivially_copy_constructible_v<executor_type>);
  static_assert(std::is_trivially_copy_assignable_v<executor_type>);
  static_assert(std::is_trivially_destructible_v<executor_type>);
  static_assert(sizeof(executor_type) == sizeof(void*));
  agrpc::GrpcContext context;
  agrpc::GrpcContext other;
  const executor_type executor = context.get_executor();
  EXPECT_EQ(executor, context.get_executor());
  EXPECT_NE(executor, other.get_executor());
  EXPECT_EQ(executor, asio::require(executor, asio::execution::blocking.never));
  EXPECT_NE(executor, asio::require(executor, asio::execution::blocking.possibly));
  EXPECT_EQ(executor, asio::require(executor, asio::execution::allocator));
  std::pmr::monotonic_buffer_resource memory;
  const auto with = [&](std::pmr::memory_resource* resource) {
    return asio::require(executor,
                         asio::execution::allocator(std::pmr::polymorphic_allocator<std::byte>(resource)));
  };
  EXPECT_NE(executor, with(&memory));
  EXPECT_EQ(with(&memory), with(&memory));
  EXPECT_NE(with(&memory), with(std::pmr::get_default_resource()));
  auto assigned = with(std::pmr::get_default_resource());  // of an allocator that cannot be assigned
  assigned = with(&memory);
  EXPECT_EQ(assigned, with(&memory));
}

TEST(GrpcExecutor, TheLastOneThatTracksWorkStopsTheContext) {
  agrpc::GrpcContext context;
  EXPECT_FALSE(context.is_stopped());
  {
    auto first = asio::require(context.get_executor(), asio::execution::outstanding_work.tracked);
    auto second = first;
    {
      const auto moved = std::move(first);
    }
    EXPECT_FALSE(context.is_stopped());
    second = asio::require(context.get_executor(), asio::execution::outstanding_work.tracked);
    EXPECT_FALSE(context.is_stopped());
  }
  EXPECT_TRUE(context.is_stopped());
}

// An allocator whose pointers are not plain ones.
template <class T>
class offset_allocator {
 public:
  using value_type = T;
  using pointer = boost::interprocess::offset_ptr<T>;
  explicit offset_allocator(int& in_use) noexcept : in_use_(&in_use) {}
  template <class U>
  offset_allocator(const offset_allocator<U>& other) noexcept : in_use_(&other.in_use()) {}
  [[nodiscard]] pointer allocate(std::size_t n) {
    ++*in_use_;
    return pointer(std::allocator<T>().allocate(n));
  }
  void deallocate(const pointer& p, std::size_t n) noexcept {
    --*in_use_;
    std::allocator<T>().deallocate(p.get(), n);
  }
  [[nodiscard]] int& in_use() const noexcept { return *in_use_; }
  friend bool operator==(const offset_allocator& a, const offset_allocator& b) noexcept {
    return a.in_use_ == b.in_use_;
  }

 private:
  int* in_use_;
};

TEST(GrpcExecutor, AllocatorsMayHavePointersOfTheirOwn) {
  agrpc::GrpcContext context;
  int in_use = 0;
  const offset_allocator<std::byte> allocator(in_use);
  int ran = 0;
  asio::require(context.get_executor(), asio::execution::allocator(allocator)).execute([&] { ++ran; });
  EXPECT_EQ(in_use, 1);
  struct waits {
    using allocator_type = offset_allocator<std::byte>;
    allocator_type memory;
    int& ran;
    [[nodiscard]] allocator_type get_allocator() const noexcept { return memory; }
    void operator()(bool) const { ++ran; }
  };
  agrpc::Alarm alarm(context);
  alarm.wait(in(milliseconds(1)), waits{allocator, ran});
  EXPECT_EQ(in_use, 2);
  context.run();
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(in_use, 0);
}

#if defined(CORACLE_ASIO_TS_EXECUTORS)
TEST(GrpcExecutor, HasTheFunctionsOfTheNetworkingTs) {
  agrpc::GrpcContext context;
  const auto executor = context.get_executor();
  int ran = 0;
  executor.on_work_started();
  executor.post([&] { ++ran; }, std::allocator<void>());
  executor.defer([&] { ++ran; }, std::allocator<void>());
  executor.dispatch([&] { ++ran; }, std::allocator<void>());
  context.poll();
  EXPECT_EQ(ran, 3);
  EXPECT_FALSE(context.is_stopped());
  executor.on_work_finished();
  EXPECT_FALSE(context.run());
}

#endif

TEST(GrpcExecutor, AStrandOfItKeepsItsHandlersApart) {
  agrpc::GrpcContext context(2);
  const auto strand = asio::make_strand(context.get_executor());
  int count = 0;
  for (int i = 0; i < 200; ++i) asio::post(strand, [&] { ++count; });
  agrpc::Alarm alarm(context);
  alarm.wait(in(milliseconds(1)), asio::bind_executor(strand, [&](bool) { ++count; }));
  std::thread other([&] { context.run(); });
  context.run();
  other.join();
  context.run();
  EXPECT_EQ(count, 201);
}

TEST(Alarm, WaitCompletesAtItsDeadline) {
  agrpc::GrpcContext context;
  run_coroutines(context, [&]() -> asio::awaitable<void> {
    const auto deadline = in(milliseconds(5));
    agrpc::Alarm alarm{context};
    const bool wait_ok = co_await alarm.wait(deadline, asio::use_awaitable);
    EXPECT_TRUE(wait_ok);
    EXPECT_GE(std::chrono::system_clock::now(), deadline);
    EXPECT_TRUE(co_await alarm.wait(in(milliseconds(1))));
  });
}

TEST(Alarm, AnRvalueIsKeptByItsWait) {
  agrpc::GrpcContext context;
  run_coroutines(context, [&]() -> asio::awaitable<void> {
    auto [wait_ok, alarm] = co_await agrpc::Alarm(context).wait(in(milliseconds(1)), asio::use_awaitable);
    EXPECT_TRUE(wait_ok);
    EXPECT_TRUE(co_await alarm.wait(in(milliseconds(1))));
  });
  int rang = 0;
  agrpc::BasicAlarm(context).wait(in(milliseconds(1)), [&](bool ok, agrpc::Alarm&& again) {
    rang += ok ? 1 : 0;
    std::move(again).wait(in(milliseconds(1)),
                          [&](bool second, const agrpc::Alarm&) { rang += second ? 1 : 0; });
  });
  context.run();
  EXPECT_EQ(rang, 2);
}

TEST(Alarm, AllTypesOfCancellationCancelIt) {
  agrpc::GrpcContext context;
  for (const auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                          asio::cancellation_type::total}) {
    asio::cancellation_signal signal;
    agrpc::Alarm alarm(context);
    std::optional<bool> rang;
    alarm.wait(in_a_minute(), asio::bind_cancellation_slot(signal.slot(), [&](bool ok) { rang = ok; }));
    asio::post(context, [&] { signal.emit(type); });
    context.run();
    EXPECT_EQ(rang, false);
  }
}

TEST(Alarm, CancelEndsItsWaitWithFalse) {
  agrpc::GrpcContext context;
  agrpc::Alarm alarm(context);
  std::optional<bool> ok;
  alarm.cancel();
  alarm.wait(in_a_minute(), [&](bool wait_ok) { ok = wait_ok; });
  asio::post(context, [&] { alarm.cancel(); });
  context.run();
  EXPECT_EQ(ok, false);
}

TEST(Alarm, ACancellationSlotCancelsIt) {
  agrpc::GrpcContext context;
  run_coroutines(context, [&]() -> asio::awaitable<void> {
    using namespace asio::experimental::awaitable_operators;
    agrpc::Alarm slow(context), fast(context);
    const auto first = co_await (slow.wait(in_a_minute(), asio::use_awaitable) ||
                                 fast.wait(in(milliseconds(1)), asio::use_awaitable));
    EXPECT_EQ(first.index(), 1u);
    // A stop of a parallel group, with rvalues.
    const auto all = co_await asio::experimental::make_parallel_group(
                         agrpc::Alarm(context).wait(in_a_minute(), deferred),
                         agrpc::Alarm(context).wait(in(milliseconds(1)), deferred))
                         .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    EXPECT_FALSE(std::get<1>(all));
    EXPECT_TRUE(std::get<3>(all));
  });
}

TEST(Alarm, WorksWithAllKindsOfTokens) {
  agrpc::GrpcContext context;
  asio::io_context io;
  int ended = 0;
  agrpc::Alarm first(context), second(context), third(context);
  first.wait(in(milliseconds(1)), [&](bool) { ++ended; });
  auto future = second.wait(in(milliseconds(1)), asio::use_future);
  std::thread::id on;
  third.wait(in(milliseconds(1)), asio::bind_executor(io, [&](bool) { on = std::this_thread::get_id(); }));
  std::thread other([&] { context.run(); });
  io.run();
  other.join();
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(future.get());
  EXPECT_EQ(on, std::this_thread::get_id());
}

#ifndef AGRPC_TESTS_WITHOUT_STACKFUL_COROUTINES
TEST(Alarm, WorksWithStackfulCoroutines) {
  agrpc::GrpcContext context;
  agrpc::Alarm alarm(context);
  bool ended = false;
  asio::spawn(
      context,
      [&](const asio::yield_context& yield) {
        EXPECT_TRUE(alarm.wait(in(milliseconds(1)), yield));
        ended = true;
#if CORACLE_ASIO_VERSION >= 102400
      },
      asio::detached);
#else
      });
#endif
  context.run();
  EXPECT_TRUE(ended);
}
#endif

TEST(Alarm, TakesItsMemoryFromTheAllocatorOfTheHandler) {
  agrpc::GrpcContext context;
  std::array<std::byte, 1024> space;
  std::pmr::monotonic_buffer_resource memory(space.data(), space.size(), std::pmr::null_memory_resource());
  struct handler {
    using allocator_type = std::pmr::polymorphic_allocator<std::byte>;
    std::pmr::memory_resource* memory;
    bool* called;
    [[nodiscard]] allocator_type get_allocator() const noexcept { return memory; }
    void operator()(bool ok) const { *called = ok; }
  };
  bool called = false;
  agrpc::Alarm alarm(context);
  alarm.wait(in(milliseconds(1)), handler{&memory, &called});
  context.run();
  EXPECT_TRUE(called);
}

TEST(Alarm, AnExecutorMayNameTheTokenOfItsWaits) {
  agrpc::GrpcContext context;
  using alarm_type = asio::use_awaitable_t<agrpc::GrpcExecutor>::as_default_on_t<agrpc::Alarm>;
  run_coroutines(context, [&]() -> agrpc::GrpcAwaitable<void> {
    alarm_type alarm(alarm_type::executor_type(context.get_executor()));
    EXPECT_TRUE(co_await alarm.wait(in(milliseconds(1))));
    agrpc::Alarm plain(co_await asio::this_coro::executor);
    EXPECT_TRUE(co_await plain.wait(in(milliseconds(1)), agrpc::GRPC_USE_AWAITABLE));
  });
}

TEST(Wait, UsesTheContextOfTheCoroutine) {
  agrpc::GrpcContext context;
  run_coroutines(context, [&]() -> asio::awaitable<void> {
    grpc::Alarm alarm;
    EXPECT_TRUE(co_await agrpc::wait(alarm, in(milliseconds(1))));
    EXPECT_TRUE(co_await agrpc::wait(alarm, in(milliseconds(1)), asio::use_awaitable));
    using namespace asio::experimental::awaitable_operators;
    grpc::Alarm slow;
    EXPECT_EQ(
        (co_await (agrpc::wait(slow, in_a_minute()) || agrpc::wait(alarm, in(milliseconds(1))))).index(), 1u);
  });
}

TEST(Wait, InAnotherContextItNeedsABoundExecutor) {
  agrpc::GrpcContext context;
  asio::io_context io;
  const auto guard = asio::make_work_guard(context);
  std::thread other([&] { context.run(); });
  bool waited = false;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        grpc::Alarm alarm;
        waited = co_await agrpc::wait(alarm, in(milliseconds(1)),
                                      asio::bind_executor(context, asio::use_awaitable));
      },
      rethrow());
  io.run();
  EXPECT_TRUE(waited);
  context.stop();
  other.join();

#if CORACLE_ASIO_VERSION >= 102400  // older ones lose the exception
  asio::co_spawn(
      io,
      []() -> asio::awaitable<void> {
        grpc::Alarm alarm;
        co_await agrpc::wait(alarm, in(milliseconds(1)), asio::use_awaitable);
      },
      asio::detached);
  io.restart();
  EXPECT_THROW(io.run(), std::logic_error);
#endif
}

TEST(Wait, AStacklessCoroutineIsAHandler) {
  agrpc::GrpcContext context;
  struct state {
    grpc::Alarm alarm;
    int waits = 0;
  };
  struct coroutine : asio::coroutine {
    using executor_type = agrpc::GrpcContext::executor_type;
    agrpc::GrpcContext& context;
    std::shared_ptr<state> of;
    coroutine(agrpc::GrpcContext& c, std::shared_ptr<state> s) : context(c), of(std::move(s)) {}
    [[nodiscard]] executor_type get_executor() const noexcept { return context.get_executor(); }
    void operator()(bool ok) {
      AGRPC_TESTS_REENTER(*this) {
        while (of->waits < 3) {
          AGRPC_TESTS_YIELD agrpc::wait(of->alarm, in(milliseconds(1)), std::move(*this));
          of->waits += ok ? 1 : 100;
        }
      }
    }
  };
  const auto shared = std::make_shared<state>();
  coroutine(context, shared)(false);
  context.run();
  EXPECT_EQ(shared->waits, 3);
}

TEST(GrpcInitiate, StartsAnyOperationWithATag) {
  agrpc::GrpcContext context;
  run_coroutines(context, [&]() -> asio::awaitable<void> {
    grpc::Alarm alarm;
    const bool ok = co_await agrpc::grpc_initiate(
        [&](agrpc::GrpcContext& grpc_context, void* tag) {
          alarm.Set(agrpc::get_completion_queue(grpc_context), in(milliseconds(1)), tag);
        },
        asio::use_awaitable);
    EXPECT_TRUE(ok);
  });
}

}  // namespace agrpc_tests::context_test
