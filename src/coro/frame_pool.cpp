#include "coracle/coro/impl/frame_pool.hpp"

#include "base/probe.hpp"

#include <algorithm>
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

constinit thread_local frame_pool::counters without_pool;

}  // namespace

frame_pool::counters frame_pool::count() noexcept { return current_ ? current_->stats_ : without_pool; }

bool frame_pool::from_heap() noexcept { return CORACLE_FRAMES_FROM_HEAP; }

frame_pool::frame_pool() noexcept {
  if (from_heap()) keep_nothing();
}

frame_pool::~frame_pool() {
  for (block*& list : free_) {
    while (block* b = list) {
      list = b->next;
      ::operator delete(b);
    }
  }
}

void frame_pool::use(std::pmr::memory_resource& resource) noexcept {
  resource_ = &resource;
  keep_nothing();
}

// Empties the lists and marks them as full: nothing is added to them, and nothing is found in them.
void frame_pool::keep_nothing() noexcept { std::fill(std::begin(kept_), std::end(kept_), kept_per_class); }

// Rounds the size up, so that a list of any pool can take the block later.
void* frame_pool::make(std::size_t n, std::uint64_t frames) {
  counters& count = current_ ? current_->stats_ : without_pool;
  count.frames += frames;
  ++count.heap_blocks;
  CORACLE_PROBE(heap__block, n);
  std::pmr::memory_resource* const from = current_ ? current_->resource_ : nullptr;
  if (from) return ::new (from->allocate(n, alignof(block))) block{from, nullptr} + 1;
  if (!from_heap() && n <= largest_bytes) n = (n + step_bytes - 1) / step_bytes * step_bytes;
  return ::new (::operator new(n)) block{nullptr, nullptr} + 1;
}

void frame_pool::free(block* b, std::size_t n) noexcept {
  if (b->from) b->from->deallocate(b, n, alignof(block));
  else ::operator delete(b);
}

}  // namespace coracle::coro
