#include "coracle/runtime/runtime.hpp"

#include "runtime/backend.hpp"
#include "support/kept_log.hpp"
#include "support/uring_faults.hpp"

#include "coracle/base/result.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/yield.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <coroutine>
#include <optional>
#include <string>
#include <thread>

namespace coracle::stall_detector_test {
namespace {

using namespace std::chrono_literals;

class stalls : public testing::TestWithParam<backend_choice> {
 protected:
  void SetUp() override {
    try {
      make(std::nullopt);
    } catch (const status_error& e) {
      GTEST_SKIP() << e.what();
    }
  }
  runtime& make(std::optional<duration> report) {
    runtime_options options;
    log_.set_min_level(log_level::warning);
    options.backend = testing_support::or_what_is_left(GetParam());
    options.log = &log_;
    if (report) options.report_stalls = *report;
    return rt_.emplace(options);
  }
  testing_support::kept_log log_;
  std::optional<runtime> rt_;
};

// sleeps on purpose: it holds its loop
void hog() { std::this_thread::sleep_for(5ms); }

task<> hog_then_wait() {
  co_await yield();
  hog();
  co_await sleep_for(0ms);
}
task<> hog_then_end() {
  co_await sleep_for(1ms);
  hog();
}
task<> hog_without_waiting() {
  hog();
  co_return;
}

struct readable : runtime_internal::operation {
  explicit readable(int fd) {
    type = kind::poll_in;
    on = fd;
    complete = [](runtime_internal::operation& op, std::int64_t) noexcept {
      static_cast<readable&>(op).waiter.resume();
    };
  }
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) noexcept {
    waiter = h;
    loop::current()->io().submit(*this);
  }
  void await_resume() const noexcept {}
  std::coroutine_handle<> waiter;
};
task<> hog_after_io(int fd) {
  readable r(fd);
  co_await r;
  hog();
  co_await yield();
}

TEST_P(stalls, NameTheAwaitThatTheHogCameToAtLast) {
  runtime& rt = make(1ms);
  rt.spawn(hog_then_wait());
  rt.run();
  EXPECT_NE(log_.text().find("a task blocked loop 0 for "), std::string::npos) << log_.text();
  EXPECT_NE(log_.text().find("hog_then_wait"), std::string::npos) << log_.text();
}

TEST_P(stalls, NameTheLastAwaitOfARootThatEnded) {
  runtime& rt = make(1ms);
  rt.spawn(hog_then_end());
  rt.run();
  EXPECT_NE(log_.text().find("hog_then_end"), std::string::npos) << log_.text();
}

TEST_P(stalls, OfATaskWithoutAnAwaitAreToldToo) {
  runtime& rt = make(1ms);
  rt.spawn(hog_without_waiting());
  rt.run();
  EXPECT_NE(log_.text().find("a task without a co_await blocked loop 0"), std::string::npos) << log_.text();
}

TEST_P(stalls, OfWhatRunsInsideACompletionAreSeen) {
  runtime& rt = make(1ms);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  rt.spawn(hog_after_io(ends[0]));
  rt.run();
  EXPECT_NE(log_.text().find("hog_after_io"), std::string::npos) << log_.text();
  ::close(ends[1]);
  rt.at(0).io().close(ends[0]);
}

TEST_P(stalls, AreNotReportedUnasked) {
  runtime& rt = make(std::nullopt);
  rt.spawn(hog_then_wait());
  rt.run();
  EXPECT_THAT(log_.text(), testing::Not(testing::HasSubstr("blocked loop")));
}

INSTANTIATE_TEST_SUITE_P(Backends, stalls, testing::Values(backend_choice::io_uring, backend_choice::epoll),
                         [](const auto& p) {
                           return std::string(p.param == backend_choice::epoll ? "epoll" : "io_uring");
                         });

}  // namespace
}  // namespace coracle::stall_detector_test
