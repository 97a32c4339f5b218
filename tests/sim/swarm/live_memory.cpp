#include "sim/swarm/live_memory.hpp"

#include <cstdlib>
#include <new>

namespace {

std::int64_t live = 0;  // a swarm has one thread

void* counted(std::size_t n) noexcept {
  void* const p = std::malloc(n ? n : 1);
  if (p) ++live;
  return p;
}
void uncounted(void* p) noexcept {
  if (p) --live;
  std::free(p);
}

}  // namespace

namespace coracle::swarm {
std::int64_t live_blocks() noexcept { return live; }
}  // namespace coracle::swarm

void* operator new(std::size_t n) {
  if (void* const p = counted(n)) return p;
  throw std::bad_alloc();
}
// By default the other forms call that one, but not under a sanitizer, whose own forms would not match the
// deletes.
void* operator new[](std::size_t n) { return operator new(n); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return counted(n); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return counted(n); }
void operator delete(void* p) noexcept { uncounted(p); }
void operator delete(void* p, std::size_t) noexcept { uncounted(p); }
void operator delete[](void* p) noexcept { uncounted(p); }
void operator delete[](void* p, std::size_t) noexcept { uncounted(p); }
