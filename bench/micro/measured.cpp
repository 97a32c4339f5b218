// Separate from its users, so that the compiler does not inline one half of a pair without the other.
#include "micro/measured.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

void* operator new(std::size_t n) {
  if (bench::measured::on) {
    ++bench::measured::allocations;
    bench::measured::allocated_bytes += n;
  }
  if (void* const p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
