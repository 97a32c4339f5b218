// driver: who turns the loops of a runtime in its stead. The simulation's world is one.
#pragma once

#include "runtime/backend.hpp"

#include "coracle/base/log.hpp"
#include "coracle/runtime/runtime.hpp"

#include <memory>
#include <vector>

namespace coracle::runtime_internal {

// Has one thread for all loops that it drives. Outlives the runtimes that were made over it.
class driver {
 public:
  // Turns its world until done(context); returns at once when that holds already. Called on a thread
  // that drives no loop, by runtime::run(), sync_wait() and ~runtime (which lets roots end and hands
  // back its backends afterwards). Aborts with the reason when nothing is left that could make it true.
  virtual void drive(bool (*done)(const void* context) noexcept, const void* context) noexcept = 0;
  // How long the next offload()ed call of one of its loops takes, in its time.
  virtual duration offload_delay() noexcept = 0;

 protected:
  ~driver() = default;
};

// A runtime over given backends, one loop each, which has no threads: `by` turns the loops through driven_loop.
// `core().loop_at(i)` of the result gives the driven_loop.
std::unique_ptr<runtime> make_driven_runtime(std::vector<std::unique_ptr<backend>> backends, logger& log,
                                             driver& by);

}  // namespace coracle::runtime_internal
