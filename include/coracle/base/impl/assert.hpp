// Invariants. A broken invariant is a defect of the program (of the library or of its caller), never of a
// peer. It aborts the process and prints the place and the reason, in every build type.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <source_location>

namespace coracle::base {

// The place of the last co_await that a coroutine of this thread came to. The place of a user's mistake is
// rarely that of the check which detects it. Like all thread-local variables of the library, it has default
// visibility, so that a program and a shared library use the same variable, whatever visibility the user
// compiles with.
[[gnu::visibility("default")]] inline constinit thread_local std::source_location last_await_site{};

// Prints "file:line: reason (condition)" and last_await_site to stderr and aborts the process.
[[noreturn]] void fail(const char* condition, const char* reason, const char* file, int line) noexcept;

}  // namespace coracle::base

// CORACLE_ASSERT(condition, "what is wrong and how to fix it")
#define CORACLE_ASSERT(condition, reason)            \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::coracle::base::fail(#condition, reason, __FILE__, __LINE__))
