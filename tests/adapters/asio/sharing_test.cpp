// The ways to share threads between Asio and a runtime.
#include "asio_fixture.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::asio_tests::sharing_test {
namespace {

using namespace std::chrono_literals;

class sharing : public asio_fixture {};
INSTANTIATE_TEST_SUITE_P(On, sharing, kernel_kinds, asio_fixture::case_name);

asio::awaitable<void> echo_tcp(asio::ip::tcp::socket socket) {
  std::array<char, 256> bytes;
  for (;;) {
    const std::size_t n = co_await socket.async_read_some(asio::buffer(bytes), asio::use_awaitable);
    co_await asio::async_write(socket, asio::buffer(bytes, n), asio::use_awaitable);
  }
}
asio::awaitable<void> accept_tcp(asio::ip::tcp::acceptor& acceptor) {
  for (;;) {
    auto socket = co_await acceptor.async_accept(asio::use_awaitable);
    asio::co_spawn(acceptor.get_executor(), echo_tcp(std::move(socket)), asio::detached);
  }
}
asio::awaitable<int> ask_tcp(asio::ip::tcp::endpoint where, int times) {
  asio::ip::tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(where, asio::use_awaitable);
  int echoed = 0;
  for (int i = 0; i < times; ++i) {
    const std::string sent = "line " + std::to_string(i);
    std::string received(sent.size(), ' ');
    co_await asio::async_write(socket, asio::buffer(sent), asio::use_awaitable);
    co_await asio::async_read(socket, asio::buffer(received), asio::use_awaitable);
    if (received == sent) ++echoed;
  }
  co_return echoed;
}
asio::awaitable<int> tick(int times) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = 0; i < times; ++i) {
    timer.expires_after(1ms);
    co_await timer.async_wait(asio::use_awaitable);
  }
  co_return times;
}
asio::awaitable<int> call(echo_stub stub, int times) {
  int answered = 0;
  for (int i = 0; i < times; ++i) {
    const auto reply = co_await async_wait(stub.Say(text("hello", i)), asio::use_awaitable);
    if (reply.value().count() == i) ++answered;
  }
  co_return answered;
}

// A program of plain Asio, with TCP and timers, that also serves and calls gRPC, in one thread.
TEST_P(sharing, OneThreadRunsTcpTimersAndCalls) {
  asio::ip::tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
  asio::co_spawn(io, accept_tcp(acceptor), asio::detached);
  int echoed = 0;
  int ticks = 0;
  int answered = 0;
  asio::co_spawn(io, ask_tcp(acceptor.local_endpoint(), 100), [&](std::exception_ptr, int n) { echoed = n; });
  asio::co_spawn(io, tick(20), [&](std::exception_ptr, int n) { ticks = n; });
  asio::co_spawn(io, call(stub(), 100), [&](std::exception_ptr, int n) { answered = n; });
  run_until([&] { return echoed && ticks && answered; });
  EXPECT_EQ(echoed, 100);
  EXPECT_EQ(ticks, 20);
  EXPECT_EQ(answered, 100);
}

TEST_P(sharing, AnIdleRuntimeIsNotPolled) {
  int answered = 0;
  asio::co_spawn(io, call(stub(), 1), [&](std::exception_ptr, int n) { answered = n; });
  run_until([&] { return answered == 1; });
  while (io.poll() > 0) {
  }
  const loop_counters before = here().stats();
  int ticks = 0;
  asio::co_spawn(io, tick(50), [&](std::exception_ptr, int n) { ticks = n; });
  run_until([&] { return ticks == 50; });
  EXPECT_LE((here().stats() - before).turns, 2u);
}

TEST_P(sharing, StopEndsTheDriveAndAnotherDriverContinues) {
  auto body = [](echo_stub s, int& n) -> task<> {
    for (int i = 0; i < 3; ++i) {
      const auto reply = co_await s.Say(text("hello"));
      if (reply.ok()) ++n;
    }
  };
  int answered = 0;
  rt().spawn(body(stub(), answered));
  driver->stop();
  io.run();  // nothing else is work
  io.restart();
  driver.emplace(io, rt());
  run_until([&] { return answered == 3; });
}

TEST_P(sharing, TheDriverEndsWhenNoTaskIsLeft) {
  auto body = [](echo_stub s, int& n) -> task<> {
    const auto reply = co_await s.Say(text("hello"));
    if (reply.ok()) ++n;
  };
  int answered = 0;
  rt().spawn(body(stub(), answered));
  driver->stop_when_done();
  io.run();
  EXPECT_EQ(answered, 1);
}

TEST_P(sharing, AnExceptionOfARootTaskLeavesTheRunOfTheContext) {
  auto body = []() -> task<> {
    throw std::runtime_error("planned");
    co_return;
  };
  rt().spawn(body());
  EXPECT_THROW(run_until([] { return false; }), std::runtime_error);
}

// A Coracle loop runs the coroutines of Asio, and its run() waits for them.
TEST_P(sharing, ALoopRunsAsio) {
  driver->stop();
  io.run();
  driver.reset();
  loop_context context(here());
  const auto body = [](echo_stub s, std::thread::id thread, int& answered) -> asio::awaitable<void> {
    for (int i = 0; i < 10; ++i) {
      const auto reply = co_await async_wait(s.Say(text("hello")), asio::use_awaitable);
      if (reply.ok() && std::this_thread::get_id() == thread) ++answered;
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    }
  };
  int answered = 0;
  asio::co_spawn(context, body(stub(), std::this_thread::get_id(), answered), asio::detached);
  rt().run();
  EXPECT_EQ(answered, 10);
}

TEST_P(sharing, AnExceptionInTheExecutorOfALoopLeavesItsRun) {
  driver->stop();
  io.run();
  driver.reset();
  loop_context context(here());
  asio::post(context, [] { throw std::runtime_error("planned"); });
  auto work = rt().keep_running();
  EXPECT_THROW(rt().run(), std::runtime_error);
}

// The runtime has threads of its own, and Asio's threads call through it.
TEST_P(sharing, EachHasItsThreads) {
  driver->stop();
  io.run();
  driver.reset();
  io.restart();
  rt().start();
  std::atomic<int> answered = 0;
  for (int i = 0; i < 100; ++i)
    async_wait(stub().Say(text("hello")), asio::bind_executor(io, [&](const result<echo::Text>& r) {
                 if (r.ok()) ++answered;
               }));
  auto coroutine = asio::co_spawn(io, call(stub(), 50), asio::use_future);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { io.run(); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(answered, 100);
  EXPECT_EQ(coroutine.get(), 50);
}

// Several threads run the io_context; a strand passes the loop from one to another.
TEST(strand_sharing, SeveralThreadsDriveALoopInTurn) {
  runtime guest(runtime_options{.backend = backend_choice::epoll});
  echo_service echoes;
  server serving(guest);
  serving.add(echoes);
  ASSERT_EQ(serving.listen("127.0.0.1:0", insecure()), status());
  channel to(guest, "127.0.0.1:" + std::to_string(serving.port()), insecure());
  asio::io_context io;
  asio_driver driver(asio::make_strand(io), guest);
  std::atomic<int> left = 4;
  int answered[4] = {};
  for (int& count : answered)
    asio::co_spawn(asio::make_strand(io), call(echo_stub(to), 50), [&](std::exception_ptr, int n) {
      count = n;
      if (--left == 0) driver.stop();
    });
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { io.run(); });
  for (std::thread& t : threads) t.join();
  for (const int n : answered) EXPECT_EQ(n, 50);
}

TEST(strand_sharing, ARingCannotMoveBetweenThreads) {
  any_world ring(world_kind::io_uring);
  if (!ring.get()) GTEST_SKIP() << ring.missing();
  if (ring.get()->backend_name() != "io_uring") GTEST_SKIP() << "no loop gets a ring in this run";
  asio::io_context io;
  EXPECT_THROW(asio_driver(asio::make_strand(io), *ring.get()), usage_error);
}

TEST(DriverDeath, TwoThreadsWithoutAStrand) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        asio::io_context io;
        runtime guest;
        asio_driver driver(io, guest);
        std::thread([&] { io.run_one(); }).join();
        driver.stop();
        io.run();
      },
      "two threads drive one loop");
}

TEST(DriverDeath, DestroyedOnAnotherThreadThanItsIoContexts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        asio::io_context io;
        runtime guest;
        asio_driver driver(io, guest);
        std::thread([&] { io.run_one(); }).join();
      },
      "two threads drive one loop");
}

}  // namespace
}  // namespace coracle::testing_support::asio_tests::sharing_test
