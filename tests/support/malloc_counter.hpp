// Counts this thread's calls of malloc() and similar functions, including those of C libraries, which
// allocation_counter does not count.
#pragma once

#include <cstddef>

namespace coracle::test {

// Since the start of the thread; compare two readings. Stays 0 in sanitizer builds, which have an allocator
// of their own.
inline thread_local std::size_t malloc_count = 0;

}  // namespace coracle::test
