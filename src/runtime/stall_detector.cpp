#include "runtime/stall_detector.hpp"

#include "runtime/backend.hpp"

#include "base/event_ring.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/impl/task_tree.hpp"

#include <chrono>
#include <string>

namespace coracle::runtime_internal {

time_point stall_detector::begin() noexcept {
  base::last_await_site = {};
  return clock_.now();
}

void stall_detector::end(time_point began) noexcept {
  const duration held = clock_.now() - began;
  if (held < limit_) return;
  of_.events().stalled(of_.index(), held);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(held).count();
  const std::string text =
      "blocked loop " + std::to_string(of_.index()) + " for " + std::to_string(ms) + " ms";
  if (base::last_await_site.line() == 0)
    of_.log().write(log_room::runtime, log_level::warning, "a task without a co_await " + text);
  else
    of_.log().write(log_room::runtime, log_level::warning,
                    "a task " + text + "; its last co_await: " + coro::describe(base::last_await_site));
}

}  // namespace coracle::runtime_internal
