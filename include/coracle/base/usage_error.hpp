// usage_error: thrown where a program calls a function against its contract and nothing has changed yet.
#pragma once

#include <stdexcept>

namespace coracle {

/// A mistake of the program that one task pays for: a failed result that is dereferenced, a task that is awaited twice, a
/// loop that is blocked. A handler that lets it pass fails its call with UNKNOWN, and the server logs what() with the
/// method. Where memory would be used after its end, the library aborts instead (CORACLE_ASSERT).
class usage_error : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace base {

// what() is `reason` and the place of the last co_await of this thread.
[[noreturn]] void throw_usage_error(const char* reason);

}  // namespace base
}  // namespace coracle

// CORACLE_REQUIRE(condition, "what is wrong: how to fix it"). Before anything has changed.
#define CORACLE_REQUIRE(condition, reason)                                  \
  (__builtin_expect(static_cast<bool>(condition), 1) ? static_cast<void>(0) \
                                                     : ::coracle::base::throw_usage_error(reason))
