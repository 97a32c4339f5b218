// pollable(): how a thread waits for one loop of a runtime where it waits for other things.
#pragma once

#include "coracle/runtime/loop.hpp"

namespace coracle {

/// Returns a descriptor for a foreign event loop, which is readable when runtime::run_loop() has something to
/// do on that loop: for a thread that waits elsewhere between two calls of run_loop(). It arms the next
/// deadline, so call it again before each wait. The caller must neither read nor close the descriptor, which
/// lasts as long as the runtime.
///
/// For a loop of a runtime that has no threads of its own (runtime_options::own_threads), and uses epoll: the
/// loop belongs to no thread meanwhile, as a ring of io_uring would. Throws usage_error for another one, and
/// on a thread that drives a loop. No other thread may be inside run_loop() for that loop. Throws
/// status_error (RESOURCE_EXHAUSTED) when the process has no descriptors left. Other runtimes have
/// runtime::pollable().
[[nodiscard]] int pollable(loop& which);

}  // namespace coracle
