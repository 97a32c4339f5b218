// runtime_options: what a runtime is made with.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/runtime/process_signal.hpp"

#include <cstddef>
#include <memory_resource>
#include <optional>
#include <type_traits>

namespace coracle {

// How a loop talks to the kernel. automatic: io_uring where it works, else epoll; the environment
// variable CORACLE_BACKEND (auto, io_uring or epoll) takes the place of automatic only.
enum class backend_choice : unsigned char { automatic, io_uring, epoll };

class runtime_options {
 public:
  runtime_options() noexcept = default;
  // Loops, one thread each; 0 means one per core that this process may use. Default 1.
  runtime_options& loops(std::size_t n) noexcept { return loops_ = n, *this; }
  runtime_options& backend(backend_choice choice) noexcept { return backend_ = choice, *this; }
  // Must outlive the runtime. Default: stderr_logger().
  runtime_options& log_to(logger& log) noexcept { return log_ = &log, *this; }
  // The most threads that offload() uses, at least 1. Default 16: enough for files and name
  // services, few enough that their stacks do not matter.
  runtime_options& blocking_threads(std::size_t n) noexcept { return blocking_threads_ = n, *this; }
  // runtime::dump_tasks() whenever the process gets this signal, until stop(). Default: none.
  runtime_options& dump_tasks_on(process_signal s) noexcept { return dump_tasks_on_ = s, *this; }
  // Logs, as warnings, each work, timer and completion that held its loop for so long, or longer, with the
  // place of the last co_await that it came to: for whoever looks for the task that blocks. Costs two looks
  // at the clock for each of them. Default: zero, which is none.
  runtime_options& report_stalls(duration at_least) noexcept { return stalls_ = at_least, *this; }
  // Where the frames of coroutines, calls and operations that are made on the runtime's loops come from, one
  // by one, in place of the loops' recycling pools. Called by all loops and by whichever thread frees a
  // frame; must outlive them all. What plain threads make comes from the heap. Default: none.
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
