#include "runtime/choose_backend.hpp"

#include "runtime/uring/uring_backend.hpp"
#include "unit/runtime/backend_under_test.hpp"

#include "coracle/base/result.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace coracle::runtime_internal::choose_backend_test {
namespace {

class with_environment {
 public:
  explicit with_environment(const char* value) {
    if (const char* old = std::getenv("CORACLE_BACKEND")) before_ = old;
    ::setenv("CORACLE_BACKEND", value, 1);
  }
  ~with_environment() {
    if (before_.empty()) ::unsetenv("CORACLE_BACKEND");
    else ::setenv("CORACLE_BACKEND", before_.c_str(), 1);
  }

 private:
  std::string before_;
};

std::string refusal(const runtime_options& options) {
  try {
    make_backends(options);
  } catch (const status_error& e) {
    EXPECT_EQ(e.status().code(), status_code::failed_precondition);
    return e.what();
  }
  return "";
}

TEST(ChooseBackend, TheEnvironmentTakesThePlaceOfAutomaticOnly) {
  test::quiet_logger log;
  const with_environment e("epoll");
  EXPECT_EQ(make_backends(runtime_options{.log = &log})[0]->name(), "epoll");
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_EQ(log.lines[0], "1 loop on epoll: requested by CORACLE_BACKEND");
  const with_environment unknown("no such backend");
  EXPECT_EQ(make_backends(runtime_options{.backend = backend_choice::epoll, .log = &log})[0]->name(),
            "epoll");
}

TEST(ChooseBackend, AnUnknownValueInTheEnvironmentIsAnError) {
  const with_environment e("kqueue");
  EXPECT_NE(refusal({}).find("CORACLE_BACKEND is \"kqueue\": it must be auto, io_uring or epoll"),
            std::string::npos);
}

TEST(ChooseBackend, AutoAndEmptyMeanAutomatic) {
  EXPECT_EQ(backend_choice_of(nullptr), backend_choice::automatic);
  EXPECT_EQ(backend_choice_of(""), backend_choice::automatic);
  EXPECT_EQ(backend_choice_of("auto"), backend_choice::automatic);
  EXPECT_EQ(backend_choice_of("io_uring"), backend_choice::io_uring);
  EXPECT_EQ(backend_choice_of("epoll"), backend_choice::epoll);
}

TEST(ChooseBackend, SaysItsChoiceOnceForAllLoops) {
  test::quiet_logger log;
  const with_environment e("auto");
  const auto made = make_backends(runtime_options{.loops = 3, .log = &log});
  EXPECT_EQ(made.size(), 3u);
  EXPECT_EQ(
      std::count_if(log.lines.begin(), log.lines.end(),
                    [](const std::string& line) { return line.find("loops on ") != std::string::npos; }),
      1);
  EXPECT_TRUE(log.lines.back().starts_with("3 loops on ")) << log.lines.back();
}

// Each probe, with an injected failure.
std::string uring_failure(const uring_faults& faults) {
  test::quiet_logger log;
  std::string reason;
  EXPECT_EQ(make_uring_backend(log, reason, faults), nullptr);
  return reason;
}

TEST(ChooseBackend, UringSaysWhyItDoesNotWork) {
  uring_faults faults;
  faults.setup_error = EPERM;
  EXPECT_EQ(uring_failure(faults),
            "io_uring_setup: EPERM (Operation not permitted), blocked by seccomp or by the sysctl "
            "kernel.io_uring_disabled");
  faults.setup_error = ENOSYS;
  EXPECT_EQ(uring_failure(faults), "io_uring_setup: ENOSYS (Function not implemented)");
  faults.setup_error = ENOMEM;
  EXPECT_EQ(uring_failure(faults),
            "io_uring_setup: ENOMEM (Cannot allocate memory), RLIMIT_MEMLOCK may be too small");
  faults.setup_error = EINVAL;
  EXPECT_EQ(uring_failure(faults), "io_uring_setup: EINVAL (Invalid argument)");
  faults = {};
  faults.enter_error = EPERM;
  EXPECT_TRUE(uring_failure(faults).starts_with("io_uring_enter: EPERM"));
}

TEST(ChooseBackend, UringSaysWhichKernelItWants) {
  test::quiet_logger log;
  std::string reason;
  if (!make_uring_backend(log, reason)) GTEST_SKIP() << reason;
  uring_faults faults;
  faults.no_wait_timeout = true;
  EXPECT_EQ(uring_failure(faults), "the kernel's io_uring is older than that of Linux 5.11");
  faults = {};
  faults.no_cancel_any = true;
  EXPECT_EQ(uring_failure(faults), "the kernel's io_uring is older than that of Linux 5.19");
}

TEST(ChooseBackend, UringTriesSmallerRingsWhenMemoryIsShort) {
  test::quiet_logger log;
  std::string reason;
  if (!make_uring_backend(log, reason)) GTEST_SKIP() << reason;
  uring_faults faults;
  faults.setup_error = ENOMEM;
  for (faults.setups_failing = 1; faults.setups_failing <= 5; ++faults.setups_failing) {
    const auto made = make_uring_backend(log, reason, faults);
    ASSERT_NE(made, nullptr) << faults.setups_failing << reason;
    made->wake();
    made->turn(made->now() + std::chrono::hours(1));
    made->release_thread();
  }
  faults.setups_failing = 6;
  EXPECT_EQ(make_uring_backend(log, reason, faults), nullptr);
}

TEST(ChooseBackend, UringDoesWithoutDeferredWorkOnOlderKernels) {
  test::quiet_logger log;
  std::string reason;
  if (!make_uring_backend(log, reason)) GTEST_SKIP() << reason;
  uring_faults faults;
  faults.setup_error = EINVAL;
  faults.setups_failing = 1;
  EXPECT_NE(make_uring_backend(log, reason, faults), nullptr);
}

}  // namespace
}  // namespace coracle::runtime_internal::choose_backend_test
