// runtime_options: the options of a runtime.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/runtime/process_signal.hpp"

#include <cstddef>
#include <memory_resource>
#include <optional>
#include <type_traits>

namespace coracle {

/// How a loop communicates with the kernel. The environment variable CORACLE_BACKEND (auto, io_uring or
/// epoll) overrides automatic only.
enum class backend_choice : unsigned char {
  automatic,  ///< io_uring where it works, else epoll
  io_uring,   ///< io_uring, or the constructor of the runtime throws
  epoll,      ///< epoll, which every Linux has
};

/// The options of a runtime: `coracle::runtime runtime({.loops = 4});`
struct runtime_options {
  /// The number of loops, with one thread each (see own_threads); 0 means one per core that this process may
  /// use.
  std::size_t loops = 1;
  /// How the loops communicate with the kernel. The environment variable CORACLE_BACKEND (auto, io_uring or
  /// epoll) overrides automatic only. Default: automatic.
  backend_choice backend = backend_choice::automatic;
  /// Receives the log lines; must outlive the runtime. Null: stderr_logger().
  logger* log = nullptr;
  /// The maximum number of threads that offload() uses, at least 1. 16 is enough for file and name service
  /// calls, and few enough that the memory of their stacks does not matter.
  std::size_t blocking_threads = 16;
  /// Calls runtime::dump_tasks() whenever the process receives this signal, until stop(). Default: none.
  std::optional<process_signal> dump_tasks_on = std::nullopt;
  /// Logs a warning for each runnable, timer and completion that occupied its loop for at least this time,
  /// with the place of the last co_await that it came to, to find tasks that block. Costs two clock readings
  /// for each of them. Zero disables the check.
  duration report_stalls{};
  /// The memory resource for the frames of coroutines, calls and operations that are made on the runtime's
  /// loops. Each is allocated individually, instead of from the recycling pools of the loops. All loops call
  /// the resource, and so does any thread that frees a frame; it must outlive all of them. Frames that plain
  /// threads make come from the heap. Null: the pools.
  std::pmr::memory_resource* memory = nullptr;
  /// Whether threads of the runtime drive the loops that the program does not drive. With false, a loop runs
  /// only while a thread of the program is in runtime::run_loop() with it, start() does nothing, and run(),
  /// its variants, poll() and pollable() throw usage_error. What waits for a loop, as sync_wait() and
  /// server::drain() do, waits until the program drives it. offload() has its threads in any case.
  bool own_threads = true;
};
static_assert(std::is_trivially_destructible_v<runtime_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
