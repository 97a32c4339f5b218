#include "support/allocation_counter.hpp"

#include <malloc.h>
#include <cstdlib>
#include <new>

namespace {

// With the word that glibc keeps before it.
std::int64_t weight_of(void* p) noexcept {
  return p ? static_cast<std::int64_t>(::malloc_usable_size(p) + sizeof(std::size_t)) : 0;
}
void* counted(void* p) noexcept {
  ++coracle::test::allocation_count;
  coracle::test::allocated_bytes += weight_of(p);
  return p;
}
void give_back(void* p) noexcept {
  coracle::test::allocated_bytes -= weight_of(p);
  std::free(p);
}
std::size_t at_least_one(std::size_t n) noexcept { return n ? n : 1; }

}  // namespace

void* operator new(std::size_t n) {
  if (void* const p = counted(std::malloc(at_least_one(n)))) return p;
  throw std::bad_alloc();
}
// By default the other forms call that one, but not under a sanitizer, whose own forms would not match the
// deletes.
void* operator new[](std::size_t n) { return operator new(n); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return counted(std::malloc(at_least_one(n)));
}
void* operator new[](std::size_t n, const std::nothrow_t& t) noexcept { return operator new(n, t); }
void* operator new(std::size_t n, std::align_val_t a) {
  const auto alignment = static_cast<std::size_t>(a);
  const std::size_t whole = (at_least_one(n) + alignment - 1) / alignment * alignment;
  if (void* const p = counted(std::aligned_alloc(alignment, whole))) return p;
  throw std::bad_alloc();
}
void* operator new[](std::size_t n, std::align_val_t a) { return operator new(n, a); }
void operator delete(void* p) noexcept { give_back(p); }
void operator delete(void* p, std::size_t) noexcept { give_back(p); }
void operator delete[](void* p) noexcept { give_back(p); }
void operator delete[](void* p, std::size_t) noexcept { give_back(p); }
void operator delete(void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { give_back(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give_back(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { give_back(p); }
