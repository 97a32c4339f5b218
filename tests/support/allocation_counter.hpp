// Counts this thread's heap allocations, for tests that promise none. The operators that count are in
// allocation_counter.cpp, apart from their callers: inlined, they make g++ warn of deletes that fit no new.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coracle::test {

// Since the thread began; compare two readings.
inline thread_local std::size_t allocation_count = 0;
// What the thread has allocated and not freed; less, by what it freed of other threads'.
inline thread_local std::int64_t allocated_bytes = 0;

}  // namespace coracle::test
