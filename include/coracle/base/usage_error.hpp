// usage_error: the exception for a call that violates a function's contract and has not changed anything yet.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <stdexcept>

namespace coracle {

/// A mistake of the program that affects one task, such as dereferencing a failed result, awaiting a task
/// twice or blocking a loop. If a handler lets it propagate, its call fails with UNKNOWN, and the server logs
/// what() with the method. Where memory would be used after its end, the library aborts the process instead
/// (CORACLE_ASSERT).
class usage_error : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// @cond
namespace base {

// Throws usage_error; its what() is `reason` and the place of the last co_await of this thread.
[[noreturn]] void throw_usage_error(const char* reason);

}  // namespace base
/// @endcond
}  // namespace coracle

// CORACLE_REQUIRE(condition, "what is wrong: how to fix it"): checks a precondition before anything has
// changed.
#define CORACLE_REQUIRE(condition, reason)                                  \
  (__builtin_expect(static_cast<bool>(condition), 1) ? static_cast<void>(0) \
                                                     : ::coracle::base::throw_usage_error(reason))
