// Counts this thread's heap allocations, for tests that require none. The operators that count are in
// allocation_counter.cpp, apart from their callers: if they are inlined, g++ warns of deletes that match no
// new.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coracle::test {

// Since the start of the thread; compare two readings.
inline thread_local std::size_t allocation_count = 0;
// What the thread has allocated and not freed, minus what it has freed of other threads' allocations.
inline thread_local std::int64_t allocated_bytes = 0;

}  // namespace coracle::test
