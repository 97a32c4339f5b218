// Counts this thread's calls of malloc() and its like: those of C libraries as well, which allocation_counter
// does not see.
#pragma once

#include <cstddef>

namespace coracle::test {

// Since the thread began; compare two readings. Stays 0 in sanitizer builds, whose allocator is their own.
inline thread_local std::size_t malloc_count = 0;

}  // namespace coracle::test
