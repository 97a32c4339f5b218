#include "support/allocation_counter.hpp"

#include <cstdlib>
#include <new>

void* operator new(std::size_t n) {
  ++coracle::test::allocation_count;
  if (void* const p = std::malloc(n ? n : 1)) return p;
  throw std::bad_alloc();
}
// By default the other forms call that one, but not under a sanitizer, whose own would not fit the deletes.
void* operator new[](std::size_t n) { return operator new(n); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  ++coracle::test::allocation_count;
  return std::malloc(n ? n : 1);
}
void* operator new[](std::size_t n, const std::nothrow_t& t) noexcept { return operator new(n, t); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
