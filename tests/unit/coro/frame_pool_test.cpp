#include "coracle/coro/frame_pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

namespace coracle::coro {
namespace {

class current_pool {
 public:
  explicit current_pool(frame_pool& p) : before_(frame_pool::exchange_current(&p)) {}
  ~current_pool() { frame_pool::exchange_current(before_); }

 private:
  frame_pool* before_;
};

// Sanitizer builds bypass the lists: there every frame comes from the heap.
bool pooled() {
  frame_pool pool;
  const current_pool here(pool);
  frame_pool::deallocate(frame_pool::allocate(64), 64);
  const auto before = frame_pool::count().heap_blocks;
  frame_pool::deallocate(frame_pool::allocate(64), 64);
  return frame_pool::count().heap_blocks == before;
}

TEST(FramePool, SteadyUseTakesNothingFromTheHeap) {
  if (!pooled()) GTEST_SKIP() << "frames come from the heap under sanitizers";
  frame_pool pool;
  const current_pool here(pool);
  constexpr std::array<std::size_t, 5> sizes{1, 64, 65, 1000, 4096};
  for (std::size_t n : sizes) frame_pool::deallocate(frame_pool::allocate(n), n);
  const auto before = frame_pool::count().heap_blocks;
  for (int i = 0; i < 100; ++i)
    for (std::size_t n : sizes) frame_pool::deallocate(frame_pool::allocate(n), n);
  EXPECT_EQ(frame_pool::count().heap_blocks, before);
}

TEST(FramePool, BlocksAreAsLargeAsAskedFor) {
  frame_pool pool;
  const current_pool here(pool);
  for (std::size_t n = 1; n < 6000; n += 61) {
    void* p = frame_pool::allocate(n);
    std::memset(p, 0xab, n);
    frame_pool::deallocate(p, n);
  }
}

TEST(FramePool, ABlockMayBeFreedIntoAnotherPool) {
  frame_pool a;
  frame_pool b;
  void* p = nullptr;
  {
    const current_pool here(a);
    p = frame_pool::allocate(200);
  }
  {
    const current_pool here(b);
    frame_pool::deallocate(p, 200);
  }
}

TEST(FramePool, WithoutACurrentPoolItUsesTheHeap) {
  std::thread([] {
    const auto before = frame_pool::count().heap_blocks;
    frame_pool::deallocate(frame_pool::allocate(64), 64);
    frame_pool::deallocate(frame_pool::allocate(64), 64);
    EXPECT_EQ(frame_pool::count().heap_blocks, before + 2);
  }).join();
}

}  // namespace
}  // namespace coracle::coro
