#include "coracle/runtime/runtime.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/sleep.hpp"
#include "support/every_backend.hpp"
#include "support/kept_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>

namespace coracle::runtime_task_dump_test {
namespace {

using namespace std::chrono_literals;
using testing_support::every_backend;
using testing_support::kept_log;

task<> wait_for(event<>& e) { co_await e; }

task<> until_dumped(kept_log& log, event<>& done) {
  while (log.text().find("wait_for") == std::string::npos) co_await sleep_for(1ms);
  done.set();
}

class task_dump_on : public testing::TestWithParam<backend_choice> {};

TEST_P(task_dump_on, ASignalPutsTheTasksIntoTheLog) {
  kept_log log;
  std::optional<runtime> rt;
  try {
    rt.emplace(runtime_options{.backend = testing_support::or_what_is_left(GetParam()),
                               .log = &log,
                               .dump_tasks_on = process_signal::user2});
  } catch (const status_error& e) {
    GTEST_SKIP() << e.what();
  }
  event<> done;
  rt->spawn(wait_for(done));
  rt->spawn(until_dumped(log, done));
  std::raise(SIGUSR2);
  rt->run();
  EXPECT_THAT(log.text(), testing::ContainsRegex("loop 0: tasks and their await sites:"));
  EXPECT_THAT(log.text(),
              testing::ContainsRegex("loop 0:   [^\n]*wait_for[^\n]* at runtime_task_dump_test.cpp:[0-9]+"));
}
INSTANTIATE_TEST_SUITE_P(Kernel, task_dump_on,
                         testing::Values(backend_choice::io_uring, backend_choice::epoll),
                         [](const auto& kind) {
                           return kind.param == backend_choice::epoll ? "epoll" : "io_uring";
                         });

TEST(task_dump, SaysThatALoopHasNoTasks) {
  kept_log log;
  {
    runtime rt(runtime_options{.loops = 2, .log = &log});
    rt.dump_tasks();
  }
  EXPECT_THAT(log.text(), testing::HasSubstr("loop 0: no tasks"));
  EXPECT_THAT(log.text(), testing::HasSubstr("loop 1: no tasks"));
}

}  // namespace
}  // namespace coracle::runtime_task_dump_test
