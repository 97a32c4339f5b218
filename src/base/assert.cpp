#include "coracle/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace coracle::base {

void fail(const char* condition, const char* reason, const char* file, int line) noexcept {
  std::fprintf(stderr, "coracle: %s:%d: %s (%s)\n", file, line, reason, condition);
  if (last_noted.line() != 0)
    std::fprintf(stderr, "coracle: the last co_await of this thread was at %s:%u in %s\n",
                 last_noted.file_name(), static_cast<unsigned>(last_noted.line()),
                 last_noted.function_name());
  std::fflush(stderr);
  std::abort();
}

}  // namespace coracle::base
