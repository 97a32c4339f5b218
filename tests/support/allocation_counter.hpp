// Counts this thread's heap allocations, for tests that promise none. The operators that count are in
// tests/unit/http2/allocation_test.cpp: a program has them once.
#pragma once

#include <cstddef>

namespace coracle::test {

// Since the thread began; compare two readings.
inline thread_local std::size_t allocation_count = 0;

}  // namespace coracle::test
