#include "coracle/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace coracle::base {

void fail(const char* condition, const char* reason, const char* file, int line) noexcept {
  std::fprintf(stderr, "coracle: %s:%d: %s (%s)\n", file, line, reason, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace coracle::base
