#include "tools/workloads/allocated.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local coracle::tools::allocated so_far;

void* allocate_counted(std::size_t bytes) noexcept {
  ++so_far.count;
  so_far.bytes += bytes;
  return std::malloc(bytes ? bytes : 1);
}

void* allocate_counted(std::size_t bytes, std::align_val_t alignment) noexcept {
  ++so_far.count;
  so_far.bytes += bytes;
  const auto a = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(a, (bytes + a - 1) / a * a);
}

// As the standard requires: the new-handler frees memory, ends the program, or is null.
template <class... Alignment>
void* allocate_counted_or_throw(std::size_t bytes, Alignment... alignment) {
  for (;;) {
    if (void* const p = allocate_counted(bytes, alignment...)) return p;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

}  // namespace

namespace coracle::tools {
allocated allocated_here() noexcept { return so_far; }
}  // namespace coracle::tools

void* operator new(std::size_t n) { return allocate_counted_or_throw(n); }
void* operator new[](std::size_t n) { return allocate_counted_or_throw(n); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate_counted(n); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate_counted(n); }
void* operator new(std::size_t n, std::align_val_t a) { return allocate_counted_or_throw(n, a); }
void* operator new[](std::size_t n, std::align_val_t a) { return allocate_counted_or_throw(n, a); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
