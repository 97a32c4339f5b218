#include "tools/out_of_memory.hpp"

#include "tools/failure.hpp"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

namespace coracle::tools {

namespace {

// Must not allocate. The first thread that gets here ends the program; other threads wait for that.
[[noreturn]] void end_with(std::string_view line) noexcept {
  static std::atomic_flag ending;
  while (ending.test_and_set()) ::pause();
  while (!line.empty()) {
    const auto written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written <= 0) break;
    line.remove_prefix(static_cast<std::size_t>(written));
  }
  ::_exit(exit_failure);
}

std::terminate_handler usual_end = nullptr;

[[noreturn]] void end_by_uncaught_exception() noexcept {
  if (const std::exception_ptr current = std::current_exception()) {
    try {
      std::rethrow_exception(current);
    } catch (const std::bad_alloc&) {
      end_out_of_memory();
    } catch (...) {
    }
  }
  usual_end();
  std::abort();
}

}  // namespace

void end_when_memory_runs_out() noexcept {
  usual_end = std::set_terminate(end_by_uncaught_exception);
  std::set_new_handler(end_out_of_memory);
}

void go_on_when_memory_runs_out() noexcept { std::set_new_handler(nullptr); }

void end_out_of_memory() noexcept {
  end_with(
      "coracle: error: out of memory: an allocation failed; raise the limit on the address space (ulimit -v) "
      "or on "
      "the "
      "container's memory, or request less at a time\n");
}

}  // namespace coracle::tools
