#include "coracle/base/impl/assert.hpp"

#include "coracle/base/usage_error.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace coracle::base {

void fail(const char* condition, const char* reason, const char* file, int line) noexcept {
  std::fprintf(stderr, "coracle: %s:%d: %s (%s)\n", file, line, reason, condition);
  if (last_await_site.line() != 0)
    std::fprintf(stderr, "coracle: the last co_await of this thread was at %s:%u in %s\n",
                 last_await_site.file_name(), static_cast<unsigned>(last_await_site.line()),
                 last_await_site.function_name());
  std::fflush(stderr);
  std::abort();
}

void throw_usage_error(const char* reason) {
  std::string text(reason);
  if (last_await_site.line() != 0) {
    text.append(" (the last co_await of this thread was at ").append(last_await_site.file_name()).append(":");
    text.append(std::to_string(last_await_site.line()))
        .append(" in ")
        .append(last_await_site.function_name())
        .append(")");
  }
  throw usage_error(text);
}

}  // namespace coracle::base
