// frame_pool: recycled memory for coroutine frames, so that a call allocates nothing in the steady state.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstddef>
#include <cstdint>
#include <memory_resource>

namespace coracle::coro {

// Free lists by size class. Each executor has one pool; there are no locks. Blocks come from the heap one by
// one, so a frame may be freed on another executor than the one it was made on, or on none: it joins the list
// of the current pool. In sanitizer builds every frame comes directly from the heap, so that sanitizers can
// check its use.
//
// After use(), the pool recycles nothing, and every block that is made while the pool is current comes from
// the given resource. A block records its origin in the two words before it, so it can be freed anywhere.
// These words are in the cache line that access to the frame's first words loads anyway.
class frame_pool {
 public:
  frame_pool() noexcept;
  frame_pool(const frame_pool&) = delete;
  frame_pool& operator=(const frame_pool&) = delete;
  ~frame_pool();

  // Makes all later allocations use `resource`, which must outlive every block it provides. Any thread that
  // makes or frees such a block calls it. Must be called before the pool is used.
  void use(std::pmr::memory_resource& resource) noexcept;

  static constexpr std::size_t alignment_bytes = 16;
  // Return n bytes with this alignment, from the current thread's pool if there is one: allocate_frame() for
  // a coroutine's frame, allocate() for another object with the lifetime of a call (see pooled).
  static void* allocate_frame(std::size_t n) { return take(n + sizeof(block), 1); }
  static void* allocate(std::size_t n) { return take(n + sizeof(block), 0); }
  static void deallocate(void* p, std::size_t n) noexcept {
    give_back(static_cast<block*>(p) - 1, n + sizeof(block));
  }

  // Read by the tests for "no allocation in the steady state" and "one frame per call".
  struct counters {
    std::uint64_t frames = 0;  // coroutine frames made
    std::uint64_t heap_blocks = 0;  // blocks allocated because no list had one
  };
  [[nodiscard]] const counters& stats() const noexcept { return stats_; }
  // Returns the memory of the blocks that wait to be reused.
  [[nodiscard]] std::size_t kept_bytes() const noexcept {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < classes; ++i) bytes += kept_[i] * (i + 1) * step_bytes;
    return bytes;
  }
  // Returns the counters of the thread's current pool, or, without a pool, of what this thread has made
  // without one.
  static counters count() noexcept;

  // Returns whether every block comes from the heap in this build.
  static bool from_heap() noexcept;

  static frame_pool* exchange_current(frame_pool* p) noexcept {
    frame_pool* before = current_;
    current_ = p;
    return before;
  }

 private:
  static constexpr std::size_t step_bytes = 64;  // a cache line; smaller frames are rare
  static constexpr std::size_t largest_bytes = 4096;  // larger frames hold arrays and are not on a hot path
  static constexpr std::size_t classes = largest_bytes / step_bytes;
  static constexpr std::uint32_t kept_per_class = 4096;  // limits the memory that a burst leaves in the pool

  struct alignas(alignment_bytes) block {
    std::pmr::memory_resource* from;  // null for the heap
    block* next;  // in a list
  };
  // Inline, because the size of a frame is a constant where its coroutine is compiled: only access to the
  // head of a list remains. The library's own build decides about sanitizers, not that of the user: see the
  // constructor.
  static void* take(std::size_t n, std::uint64_t frames) {
    frame_pool* const pool = current_;
    const std::size_t place = (n - 1) / step_bytes;
    if (pool && place < classes) {
      if (block* b = pool->free_[place]) {
        pool->stats_.frames += frames;
        pool->free_[place] = b->next;
        --pool->kept_[place];
        return b + 1;
      }
    }
    return make(n, frames);
  }
  static void give_back(block* b, std::size_t n) noexcept {
    const std::size_t place = (n - 1) / step_bytes;
    if (place < classes && !b->from) {
      frame_pool* const pool = current_;
      if (pool && pool->kept_[place] < kept_per_class) {
        b->next = pool->free_[place];
        pool->free_[place] = b;
        ++pool->kept_[place];
        return;
      }
    }
    free(b, n);
  }
  static void* make(std::size_t n, std::uint64_t frames);
  static void free(block* b, std::size_t n) noexcept;
  void keep_nothing() noexcept;

  block* free_[classes] = {};
  std::uint32_t kept_[classes] = {};
  counters stats_;
  std::pmr::memory_resource* resource_ = nullptr;
  [[gnu::visibility("default")]] static inline constinit thread_local frame_pool* current_ = nullptr;
};

// A base class for objects with the lifetime of a call or an operation. `new` and `delete` of derived classes
// use the current executor's frame pool. If an object is deleted through a base, that base must have a
// virtual destructor, because the pool needs the actual size.
class pooled {
 public:
  static void* operator new(std::size_t n) { return frame_pool::allocate(n); }
  static void operator delete(void* p, std::size_t n) noexcept { frame_pool::deallocate(p, n); }

 protected:
  ~pooled() = default;
};

}  // namespace coracle::coro
