// Invariants. A broken one is a defect of the program (ours or the caller's), never of a peer:
// it aborts with its place and reason, in every build type.
#pragma once

namespace coracle::base {

// Prints "file:line: reason (condition)" to stderr and aborts.
[[noreturn]] void fail(const char* condition, const char* reason, const char* file, int line) noexcept;

}  // namespace coracle::base

// CORACLE_ASSERT(condition, "what is wrong and what mends it")
#define CORACLE_ASSERT(condition, reason)            \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::coracle::base::fail(#condition, reason, __FILE__, __LINE__))
