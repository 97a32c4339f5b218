#include "runtime/background_runtime.hpp"

#include "coracle/coro/executor.hpp"
#include "coracle/runtime/runtime.hpp"
#include "runtime/runtime_core.hpp"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <utility>

namespace coracle::runtime_internal {

namespace {

// They are initialized before any code runs, and never destroyed.
constinit std::mutex background_mutex;
constinit runtime* background = nullptr;  // guarded by `background_mutex`
constinit runtime* ended_background = nullptr;  // keeps its memory reachable

// A child of fork() does not have the threads, and a thread that drives the loop cannot join itself.
void end() noexcept {
  runtime* ending = nullptr;
  {
    const std::lock_guard lock(background_mutex);
    ending = std::exchange(background, nullptr);
  }
  if (!ending) return;
  ended_background = ending;
  if (!ending->core().in_child() && !coro::executor::current()) ending->core().shut_down();
}

}  // namespace

runtime& background_runtime() {
  const std::lock_guard lock(background_mutex);
  if (!background || background->core().in_child()) {
    auto made = std::make_unique<runtime>();
    if (background) ended_background = background;
    else if (!ended_background) end_background_runtime_first();
    background = made.release();
  }
  background->core().start();  // has no effect if it runs
  return *background;
}

void end_background_runtime_first() noexcept { std::atexit(end); }

}  // namespace coracle::runtime_internal
