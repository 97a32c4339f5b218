// A system that starts no more threads: the caller gets an exception, and no operation is left incomplete.
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/offload.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>

namespace {

// The number of threads that may still be started.
std::atomic<int> threads_left{1'000'000};

}  // namespace

// Replaces the function of the C library, which std::thread calls.
extern "C" int pthread_create(pthread_t* id, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) {
  using function = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const real = reinterpret_cast<function*>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left.fetch_sub(1) <= 0) {
    ++threads_left;
    return EAGAIN;
  }
  return real(id, attributes, body, argument);
}

namespace coracle::test {
namespace {

class thread_refused : public testing::Test {
 protected:
  void TearDown() override { threads_left = 1'000'000; }
};

task<int> seven() { co_return 7; }

task<int> seven_by_a_thread() {
  const int n = co_await offload([] { return 7; });
  co_return n;
}

task<> note_run(loop& where, std::atomic<bool>& ran) {
  ran = loop::current() == &where;
  co_return;
}

TEST_F(thread_refused, SyncWaitThrowsAndLeavesNoRoot) {
  runtime rt(1);
  threads_left = 0;
  EXPECT_THROW(sync_wait(rt, seven()), std::system_error);
  threads_left = 1;
  EXPECT_EQ(sync_wait(rt, seven()), 7);
}

TEST_F(thread_refused, OffloadThrowsUntilAThreadStarts) {
  runtime rt(1);
  EXPECT_EQ(sync_wait(rt, seven()), 7);
  threads_left = 0;
  try {
    sync_wait(rt, seven_by_a_thread());
    FAIL() << "it must not run without a thread";
  } catch (const status_error& failure) {
    EXPECT_EQ(failure.status().code(), status_code::resource_exhausted) << failure.what();
  }
  threads_left = 1;
  EXPECT_EQ(sync_wait(rt, seven_by_a_thread()), 7);
  threads_left = 0;
  EXPECT_EQ(sync_wait(rt, seven_by_a_thread()), 7);  // by the thread that it has
}

TEST_F(thread_refused, ARuntimeEndsItsRootsOnTheThreadThatDestroysIt) {
  std::atomic<bool> ran[3] = {};
  {
    runtime rt(3);
    for (std::size_t i = 0; i < rt.size(); ++i) rt.spawn_on(rt.at(i), note_run(rt.at(i), ran[i]));
    threads_left = 0;
    EXPECT_THROW(rt.run(), std::system_error);
  }
  for (const std::atomic<bool>& each : ran) EXPECT_TRUE(each);
}

TEST_F(thread_refused, ARuntimeEndsTheRootsOfLoopsWhoseThreadDidNotStart) {
  std::atomic<bool> ran[3] = {};
  {
    runtime rt(3);
    for (std::size_t i = 0; i < rt.size(); ++i) rt.spawn_on(rt.at(i), note_run(rt.at(i), ran[i]));
    threads_left = 2;
    EXPECT_THROW(rt.start(), std::system_error);
  }
  for (const std::atomic<bool>& each : ran) EXPECT_TRUE(each);
}

}  // namespace
}  // namespace coracle::test
