#include "coracle/coro/frame_pool.hpp"

#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CORACLE_FRAMES_FROM_HEAP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define CORACLE_FRAMES_FROM_HEAP 1
#endif
#endif
#ifndef CORACLE_FRAMES_FROM_HEAP
#define CORACLE_FRAMES_FROM_HEAP 0
#endif

namespace coracle::coro {

namespace {
constinit thread_local frame_pool::counters counted;
}

frame_pool::counters frame_pool::count() noexcept { return counted; }

bool frame_pool::from_heap() noexcept { return CORACLE_FRAMES_FROM_HEAP; }

frame_pool::~frame_pool() {
  for (block*& list : free_) {
    while (block* b = list) {
      list = b->next;
      ::operator delete(b);
    }
  }
}

void* frame_pool::allocate_frame(std::size_t n) {
  ++counted.frames;
  return allocate(n);
}

void* frame_pool::allocate(std::size_t n) {
  const std::size_t place = (n - 1) / step_bytes;
  if (!CORACLE_FRAMES_FROM_HEAP && place < classes) {
    if (frame_pool* pool = current_) {
      if (block* b = pool->free_[place]) {
        pool->free_[place] = b->next;
        --pool->kept_[place];
        return b;
      }
    }
    n = (place + 1) * step_bytes;  // any pool's list may take it later
  }
  ++counted.heap_blocks;
  return ::operator new(n);
}

void frame_pool::deallocate(void* p, std::size_t n) noexcept {
  const std::size_t place = (n - 1) / step_bytes;
  if (!CORACLE_FRAMES_FROM_HEAP && place < classes) {
    frame_pool* pool = current_;
    if (pool && pool->kept_[place] < kept_per_class) {
      auto* b = static_cast<block*>(p);
      b->next = pool->free_[place];
      pool->free_[place] = b;
      ++pool->kept_[place];
      return;
    }
  }
  ::operator delete(p);
}

}  // namespace coracle::coro
