// Invariants. A broken one is a defect of the program (ours or the caller's), never of a peer:
// it aborts with its place and reason, in every build type.
#pragma once

#include <source_location>

namespace coracle::base {

// The co_await that the running coroutine of this thread came by last: the place of a user's mistake is seldom
// that of the check that finds it. One variable with a shared library too, whatever the user's visibility: so
// are all thread-local ones.
[[gnu::visibility("default")]] inline constinit thread_local std::source_location last_noted{};

// Prints "file:line: reason (condition)" and last_noted to stderr and aborts.
[[noreturn]] void fail(const char* condition, const char* reason, const char* file, int line) noexcept;

}  // namespace coracle::base

// CORACLE_ASSERT(condition, "what is wrong and what mends it")
#define CORACLE_ASSERT(condition, reason)            \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::coracle::base::fail(#condition, reason, __FILE__, __LINE__))
