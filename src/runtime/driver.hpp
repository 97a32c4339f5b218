// driver: drives the loops of a runtime in place of its threads; the simulated world implements it.
#pragma once

#include "runtime/backend.hpp"

#include "coracle/base/log.hpp"
#include "coracle/runtime/runtime.hpp"

#include <memory>
#include <vector>

namespace coracle::runtime_internal {

// Has one thread for all loops that it drives. Must outlive the runtimes that use it.
class driver {
 public:
  // Executes turns of its world until done(context) holds; returns at once if it already holds. Called on a
  // thread that drives no loop, by runtime::run(), sync_wait() and ~runtime, which waits for the roots to end
  // and releases its backends afterwards. Aborts with the reason when nothing remains that could make the
  // condition true.
  virtual void drive(bool (*done)(const void* context) noexcept, const void* context) noexcept = 0;
  // The duration of the next offload()ed call of one of its loops, in the driver's time.
  virtual duration offload_delay() noexcept = 0;

 protected:
  ~driver() = default;
};

// Makes a runtime over the given backends, with one loop each and without threads: `by` drives the loops
// through driven_loop. `core().loop_at(i)` of the result returns the driven_loop.
std::unique_ptr<runtime> make_driven_runtime(std::vector<std::unique_ptr<backend>> backends, logger& log,
                                             driver& by);

}  // namespace coracle::runtime_internal
