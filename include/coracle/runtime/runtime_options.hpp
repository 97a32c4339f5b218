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

/// How a loop communicates with the kernel. automatic selects io_uring where it works, else epoll. The
/// environment variable CORACLE_BACKEND (auto, io_uring or epoll) overrides automatic only.
enum class backend_choice : unsigned char { automatic, io_uring, epoll };

/// Options of a runtime, in builder style.
class runtime_options {
 public:
  runtime_options() noexcept = default;
  /// Sets the number of loops, with one thread each; 0 means one per core that this process may use. Default:
  /// 1.
  runtime_options& loops(std::size_t n) noexcept { return loops_ = n, *this; }
  /// Sets the backend of the loops. Default: automatic.
  runtime_options& backend(backend_choice choice) noexcept { return backend_ = choice, *this; }
  /// Sets the logger, which must outlive the runtime. Default: stderr_logger().
  runtime_options& log_to(logger& log) noexcept { return log_ = &log, *this; }
  /// Sets the maximum number of threads that offload() uses, at least 1. Default: 16, which is enough for
  /// file and name service calls, and few enough that the memory of their stacks does not matter.
  runtime_options& blocking_threads(std::size_t n) noexcept { return blocking_threads_ = n, *this; }
  /// Calls runtime::dump_tasks() whenever the process receives this signal, until stop(). Default: none.
  runtime_options& dump_tasks_on(process_signal s) noexcept { return dump_tasks_on_ = s, *this; }
  /// Logs a warning for each runnable, timer and completion that occupied its loop for at least this time,
  /// with the place of the last co_await that it came to, to find tasks that block. Costs two clock readings
  /// for each of them. Default: zero, which disables the check.
  runtime_options& report_stalls(duration at_least) noexcept { return stalls_ = at_least, *this; }
  /// Sets the memory resource for the frames of coroutines, calls and operations that are made on the
  /// runtime's loops. Each is allocated individually, instead of from the recycling pools of the loops. All
  /// loops call the resource, and so does any thread that frees a frame; it must outlive all of them. Frames
  /// that plain threads make come from the heap. Default: none.
  runtime_options& memory(std::pmr::memory_resource& from) noexcept { return memory_ = &from, *this; }

  [[nodiscard]] std::size_t loops() const noexcept { return loops_; }
  [[nodiscard]] backend_choice backend() const noexcept { return backend_; }
  [[nodiscard]] logger& log() const noexcept { return log_ ? *log_ : stderr_logger(); }
  [[nodiscard]] std::size_t blocking_threads() const noexcept { return blocking_threads_; }
  [[nodiscard]] std::optional<process_signal> dump_tasks_on() const noexcept { return dump_tasks_on_; }
  [[nodiscard]] duration stalls() const noexcept { return stalls_; }
  [[nodiscard]] std::pmr::memory_resource* memory() const noexcept { return memory_; }

 private:
  std::size_t loops_ = 1;
  std::size_t blocking_threads_ = 16;
  duration stalls_{};
  logger* log_ = nullptr;
  std::pmr::memory_resource* memory_ = nullptr;
  std::optional<process_signal> dump_tasks_on_;
  backend_choice backend_ = backend_choice::automatic;
};
static_assert(!std::is_aggregate_v<runtime_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

}  // namespace coracle
