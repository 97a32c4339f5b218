// Counts this thread's heap allocations, for tests that promise none. The operators that count are in
// allocation_counter.cpp, apart from their callers: inlined, they make g++ warn of deletes that fit no new.
#pragma once

#include <cstddef>

namespace coracle::test {

// Since the thread began; compare two readings.
inline thread_local std::size_t allocation_count = 0;

}  // namespace coracle::test
