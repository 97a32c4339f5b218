// Before glibc's allocator, for the whole program and its libraries. glibc itself frees the memory.
#include "support/malloc_counter.hpp"

using coracle::test::malloc_count;

extern "C" {

void* __libc_malloc(std::size_t n) noexcept;
void* __libc_calloc(std::size_t count, std::size_t n) noexcept;
void* __libc_realloc(void* p, std::size_t n) noexcept;

void* malloc(std::size_t n) noexcept { return ++malloc_count, __libc_malloc(n); }
void* calloc(std::size_t count, std::size_t n) noexcept { return ++malloc_count, __libc_calloc(count, n); }
void* realloc(void* p, std::size_t n) noexcept { return ++malloc_count, __libc_realloc(p, n); }
}
