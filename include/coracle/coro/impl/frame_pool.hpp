// frame_pool: recycled memory for coroutine frames, so that a call allocates nothing in steady state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>

namespace coracle::coro {

// Free lists by size class, one pool an executor, no locks. Blocks come from the heap one by one,
// so a frame may be freed on another executor than it was made on, or on none: it joins the list there.
// In sanitizer builds every frame comes straight from the heap, for the sanitizers to see.
//
// With use(), the pool recycles nothing and every block that is made while it is the current one comes
// from that resource. A block knows where it came from, whoever frees it: two words before it say so,
// which lie in the cache line that the frame's own first words make hot.
class frame_pool {
 public:
  frame_pool() noexcept;
  frame_pool(const frame_pool&) = delete;
  frame_pool& operator=(const frame_pool&) = delete;
  ~frame_pool();

  // From now on all memory comes from `resource`, which outlives every block that it gave and is called
  // by whichever thread makes or frees one. Before the pool is used.
  void use(std::pmr::memory_resource& resource) noexcept;

  static constexpr std::size_t alignment_bytes = 16;
  // n bytes, so aligned, from the current thread's pool when it has one: for a coroutine's frame, or
  // for another object with a call's lifetime (see pooled.hpp).
  static void* allocate_frame(std::size_t n) { return take(n + sizeof(block), 1); }
  static void* allocate(std::size_t n) { return take(n + sizeof(block), 0); }
  static void deallocate(void* p, std::size_t n) noexcept {
    give_back(static_cast<block*>(p) - 1, n + sizeof(block));
  }

  // What tests of "no allocation in steady state" and "one frame a call" look at.
  struct counters {
    std::uint64_t frames = 0;       // coroutine frames made
    std::uint64_t heap_blocks = 0;  // blocks that no list had
  };
  [[nodiscard]] const counters& counted() const noexcept { return counted_; }
  // Those of the thread's current pool; without one, of what the thread has made meanwhile.
  static counters count() noexcept;

  // Whether every block comes from the heap in this build.
  static bool from_heap() noexcept;

  static frame_pool* exchange_current(frame_pool* p) noexcept {
    frame_pool* before = current_;
    current_ = p;
    return before;
  }

 private:
  static constexpr std::size_t step_bytes = 64;      // a cache line: frames below are rare
  static constexpr std::size_t largest_bytes = 4096;  // larger frames hold arrays, and are not on a hot path
  static constexpr std::size_t classes = largest_bytes / step_bytes;
  static constexpr std::uint32_t kept_per_class = 4096;  // bounds what a burst leaves behind

  struct alignas(alignment_bytes) block {
    std::pmr::memory_resource* from;  // null for the heap
    block* next;  // in a list
  };
  // Inline, since a frame's size is a constant where its coroutine is compiled: what is left then is a
  // list's head. The library's own build decides about sanitizers, not the includer's: see the constructor.
  static void* take(std::size_t n, std::uint64_t frames) {
    frame_pool* const pool = current_;
    const std::size_t place = (n - 1) / step_bytes;
    if (pool && place < classes) {
      if (block* b = pool->free_[place]) {
        pool->counted_.frames += frames;
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
  counters counted_;
  std::pmr::memory_resource* resource_ = nullptr;
  [[gnu::visibility("default")]] static inline constinit thread_local frame_pool* current_ = nullptr;
};

}  // namespace coracle::coro
