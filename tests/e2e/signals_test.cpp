// A server handles SIGTERM from its listen() on, and restores the dispositions that it replaced, but none
// that the program has set since.
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"

#if __has_include(<asio.hpp>)
#define ASIO_STANDALONE
#include <asio.hpp>
#endif

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>

namespace coracle::testing_support::signals_test {
namespace {

constinit std::atomic<int> first_signals{0};
constinit std::atomic<int> second_signals{0};
void count_first(int) { ++first_signals; }
void count_second(int) { ++second_signals; }

class signals : public every_backend {
 protected:
  void SetUp() override {
    every_backend::SetUp();
    first_signals = second_signals = 0;
    ASSERT_EQ(::sigaction(SIGTERM, nullptr, &original_), 0);
  }
  void TearDown() override { ::sigaction(SIGTERM, &original_, nullptr); }
  static void set_handler(void (*handler)(int)) {
    struct sigaction a{};
    a.sa_handler = handler;
    ASSERT_EQ(::sigaction(SIGTERM, &a, nullptr), 0);
  }
  // listen(), then `between`, then start().
  void serve(const std::function<void()>& between) {
    echo_service service;
    server s(rt());
    s.add(service);
    ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
    between();
    s.start();
    // The loops run: whatever they had to restore is restored.
    struct program {
      static task<> nothing() { co_return; }
    };
    sync_wait(rt(), rt().at(0), program::nothing());
  }

 private:
  struct sigaction original_{};
};
INSTANTIATE_TEST_SUITE_P(On, signals, kernel_kinds, signals::case_name);

TEST_P(signals, AHandlerThatIsSetAfterListenStays) {
  serve([] { set_handler(count_first); });
  std::raise(SIGTERM);
  EXPECT_EQ(first_signals, 1);
}

TEST_P(signals, AHandlerThatIsSetBeforeListenIsGivenBack) {
  set_handler(count_first);
  serve([] {});
  std::raise(SIGTERM);
  EXPECT_EQ(first_signals, 1);
}

TEST_P(signals, TheLaterOfTwoHandlersStays) {
  set_handler(count_first);
  serve([] { set_handler(count_second); });
  std::raise(SIGTERM);
  EXPECT_EQ(first_signals, 0);
  EXPECT_EQ(second_signals, 1);
}

// As a library that watches signals temporarily: it has saved our disposition, and sets it again after we are
// gone.
TEST_P(signals, OurHandlerThatIsSetAgainPassesTheSignalOn) {
  set_handler(count_first);
  struct sigaction saved{};
  struct sigaction own{};
  own.sa_handler = count_second;
  serve([&] { ASSERT_EQ(::sigaction(SIGTERM, &own, &saved), 0); });
  ASSERT_EQ(::sigaction(SIGTERM, &saved, nullptr), 0);
  std::raise(SIGTERM);
  EXPECT_EQ(first_signals, 1);
  EXPECT_EQ(second_signals, 0);
}

// Without any handler: the program ends with its default action.
TEST_P(signals, OurHandlerThatIsSetAgainOverTheDefaultEndsTheProgram) {
  struct sigaction saved{};
  struct sigaction own{};
  own.sa_handler = count_second;
  serve([&] { ASSERT_EQ(::sigaction(SIGTERM, &own, &saved), 0); });
  ASSERT_EQ(::sigaction(SIGTERM, &saved, nullptr), 0);
  EXPECT_EXIT(std::raise(SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
}

TEST_P(signals, AHandlerThatIsSetBetweenListenAndRunStaysWhenRunHasEnded) {
  echo_service service;
  server s(rt());
  s.add(service);
  ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
  set_handler(count_first);
  s.stop();
  EXPECT_EQ(s.run(), 0);
  std::raise(SIGTERM);
  EXPECT_EQ(first_signals, 1);
}

#ifdef ASIO_STANDALONE
class asio_signals : public signals {
 protected:
  // What the set has received of one SIGTERM.
  static int received_signal(asio::io_context& io, asio::signal_set& set) {
    int number = 0;
    set.async_wait([&](const std::error_code& failed, int n) { number = failed ? -1 : n; });
    std::raise(SIGTERM);
    io.run_for(std::chrono::seconds(20));
    return number;
  }
};
INSTANTIATE_TEST_SUITE_P(On, asio_signals, kernel_kinds, signals::case_name);

TEST_P(asio_signals, ASetThatIsMadeAfterListenHears) {
  asio::io_context io;
  asio::signal_set set(io);
  serve([&] { set.add(SIGTERM); });
  EXPECT_EQ(received_signal(io, set), SIGTERM);
}

TEST_P(asio_signals, ASetThatIsMadeBeforeListenHears) {
  asio::io_context io;
  asio::signal_set set(io, SIGTERM);
  serve([] {});
  EXPECT_EQ(received_signal(io, set), SIGTERM);
}
#endif

}  // namespace
}  // namespace coracle::testing_support::signals_test
