#include "coracle/coro/impl/frame_pool.hpp"

#include "support/counting_resource.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <vector>

namespace coracle::coro::frame_pool_test {
namespace {

class current_pool {
 public:
  explicit current_pool(frame_pool& p) : before_(frame_pool::exchange_current(&p)) {}
  ~current_pool() { frame_pool::exchange_current(before_); }

 private:
  frame_pool* before_;
};

// Sanitizer builds bypass the lists: every frame is allocated on the heap there.
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
  constexpr std::array<std::size_t, 5> sizes{1, 64, 65, 1000, 4080};
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
    auto* const first = static_cast<unsigned char*>(frame_pool::allocate(n));
    auto* const second = static_cast<unsigned char*>(frame_pool::allocate(n));
    std::memset(first, 0xab, n);
    std::memset(second, 0xcd, n);
    EXPECT_TRUE(std::all_of(first, first + n, [](unsigned char c) { return c == 0xab; })) << n;
    EXPECT_TRUE(std::all_of(second, second + n, [](unsigned char c) { return c == 0xcd; })) << n;
    frame_pool::deallocate(first, n);
    frame_pool::deallocate(second, n);
  }
}

TEST(FramePool, ABlockMayBeFreedIntoAnotherPool) {
  if (!pooled()) GTEST_SKIP() << "frames come from the heap under sanitizers";
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
    const auto before = frame_pool::count().heap_blocks;
    frame_pool::deallocate(frame_pool::allocate(200), 200);
    EXPECT_EQ(frame_pool::count().heap_blocks, before) << "the other pool has the block";
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

TEST(FramePool, CountsWhatIsMadeWhileItIsCurrent) {
  frame_pool pool;
  {
    const current_pool here(pool);
    frame_pool::deallocate(frame_pool::allocate_frame(64), 64);
    frame_pool::deallocate(frame_pool::allocate(64), 64);
  }
  frame_pool::deallocate(frame_pool::allocate_frame(64), 64);
  EXPECT_EQ(pool.stats().frames, 1u);
  EXPECT_EQ(pool.stats().heap_blocks, frame_pool::from_heap() ? 2u : 1u);
}

constexpr std::array<std::size_t, 6> small_to_large{1, 16, 64, 65, 4096, 100'000};

TEST(FramePool, AResourceSeesEveryBlock) {
  testing_support::counting_resource resource;
  frame_pool pool;
  pool.use(resource);
  const current_pool here(pool);
  for (int i = 1; i <= 10; ++i) {
    for (std::size_t n : small_to_large) {
      void* const p = frame_pool::allocate_frame(n);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % alignof(std::max_align_t), 0u);
      std::memset(p, 0xab, n);
      frame_pool::deallocate(p, n);
    }
    EXPECT_EQ(resource.taken(), i * small_to_large.size());
  }
  EXPECT_EQ(resource.open_blocks(), 0);
  EXPECT_EQ(resource.open_bytes(), 0);
}

TEST(FramePool, ABlockOfAResourceGoesBackToItWhoeverFreesIt) {
  testing_support::counting_resource resource;
  std::vector<void*> made;
  {
    frame_pool pool;
    pool.use(resource);
    const current_pool here(pool);
    for (int i = 0; i < 3; ++i) made.push_back(frame_pool::allocate(200));
  }
  EXPECT_EQ(resource.open_blocks(), 3);
  frame_pool another;
  {
    const current_pool here(another);
    frame_pool::deallocate(made[0], 200);
    frame_pool::deallocate(frame_pool::allocate(200), 200);  // not the one that was freed here
  }
  frame_pool::deallocate(made[1], 200);
  std::thread([&made] { frame_pool::deallocate(made[2], 200); }).join();
  EXPECT_EQ(resource.taken(), 3u);
  EXPECT_EQ(resource.open_blocks(), 0);
  EXPECT_EQ(resource.open_bytes(), 0);
}

TEST(FramePool, OneWithAResourceKeepsNoBlockOfOthers) {
  testing_support::counting_resource resource;
  frame_pool pool;
  pool.use(resource);
  void* const of_the_heap = frame_pool::allocate(64);
  const current_pool here(pool);
  frame_pool::deallocate(of_the_heap, 64);
  frame_pool::deallocate(frame_pool::allocate(64), 64);
  EXPECT_EQ(resource.taken(), 1u);
}

}  // namespace
}  // namespace coracle::coro::frame_pool_test
