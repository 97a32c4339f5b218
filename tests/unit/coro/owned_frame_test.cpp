#include "coracle/coro/impl/owned_frame.hpp"

#include <gtest/gtest.h>

#include <coroutine>
#include <utility>

namespace coracle::coro::owned_frame_test {
namespace {

struct counted_promise {
  std::coroutine_handle<counted_promise> get_return_object() noexcept {
    return std::coroutine_handle<counted_promise>::from_promise(*this);
  }
  std::suspend_always initial_suspend() noexcept { return {}; }
  std::suspend_always final_suspend() noexcept { return {}; }
  void return_void() noexcept {}
  void unhandled_exception() noexcept {}
};

struct counted_handle : std::coroutine_handle<counted_promise> {
  using promise_type = counted_promise;
  counted_handle(std::coroutine_handle<counted_promise> h) : std::coroutine_handle<counted_promise>(h) {}
};

// Counts in `destroyed` when its frame is destroyed.
struct on_destruction {
  explicit on_destruction(int& n) noexcept : destroyed(&n) {}
  on_destruction(on_destruction&& other) noexcept : destroyed(std::exchange(other.destroyed, nullptr)) {}
  on_destruction& operator=(on_destruction&&) = delete;
  ~on_destruction() {
    if (destroyed) ++*destroyed;
  }
  int* destroyed;
};

counted_handle counted(on_destruction /*argument*/) { co_return; }

using frame = owned_frame<counted_promise>;

TEST(OwnedFrame, DestroysItsFrameOnce) {
  int destroyed = 0;
  {
    const frame f(counted(on_destruction(destroyed)));
    EXPECT_TRUE(f.get());
    EXPECT_EQ(destroyed, 0);
  }
  EXPECT_EQ(destroyed, 1);
}

TEST(OwnedFrame, IsEmptyAfterAMove) {
  int destroyed = 0;
  {
    frame from(counted(on_destruction(destroyed)));
    const auto handle = from.get();
    const frame to(std::move(from));
    EXPECT_FALSE(from.get());
    EXPECT_EQ(to.get(), handle);
  }
  EXPECT_EQ(destroyed, 1);
}

TEST(OwnedFrame, AnAssignmentDestroysTheFrameBefore) {
  int first = 0;
  int second = 0;
  frame f(counted(on_destruction(first)));
  f = frame(counted(on_destruction(second)));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
  frame& same = f;
  f = std::move(same);
  EXPECT_TRUE(f.get());
  EXPECT_EQ(second, 0);
}

TEST(OwnedFrame, ReleaseGivesUpOwnership) {
  int destroyed = 0;
  frame f(counted(on_destruction(destroyed)));
  const auto handle = f.release();
  EXPECT_FALSE(f.get());
  f = frame();
  EXPECT_EQ(destroyed, 0);
  handle.destroy();
  EXPECT_EQ(destroyed, 1);
}

}  // namespace
}  // namespace coracle::coro::owned_frame_test
