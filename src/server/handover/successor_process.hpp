// successor_process: the process that a server starts to be replaced by: the program of this process, once
// more.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/log.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/kernel/own_program.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace coracle::server_internal {

// Why a process has no successor.
inline constexpr std::string_view first_process =
    "the process that serves is process 1, with which its container ends: start the new program below an "
    "init "
    "process, or replace the container";

// At most one such process at a time: started, ended if it does not serve in time, and awaited, so that the
// system forgets it. Belongs to the handover of a server; lives on loop 0.
class successor_process {
 public:
  // `ended`: called with the id of the process when it has ended.
  successor_process(loop& on, duration start_time, std::function<void(std::int64_t process_id)> ended);

  // It does not get this variable of the environment.
  void forget_variable(std::string_view name);
  // Starts it, or logs why not. Throws std::bad_alloc; no process is started then. Needs that none exists.
  void start();
  [[nodiscard]] bool exists() const noexcept { return child_.has_value(); }
  // A process serves in the place of this one. If it is neither the process that was started nor below it,
  // that one is not needed any more, and is killed.
  void note_serving(std::int64_t process_id) noexcept;
  // Kills it, unless it serves, and blocks until it has ended, at most 1 s.
  void end_unless_it_serves() noexcept;
  // Watches each process that is started, until the awaiter's environment is stopped: a process that does not
  // serve then is killed.
  [[nodiscard]] task<> watch();

 private:
  [[nodiscard]] task<bool> until_settled();
  void end(bool stops, bool in_time) noexcept;
  void kill() noexcept;
  void note_end() noexcept;
  void log(log_level level, std::string_view text) noexcept;

  loop& on_;
  const duration start_time_;
  const std::function<void(std::int64_t)> ended_;
  runtime_internal::kernel::own_program program_;
  std::optional<runtime_internal::kernel::child_process> child_;  // while watch() deals with it
  // Of the child.
  bool serves_ = false;
  bool has_ended_ = false;
  std::int64_t superseded_by_ = 0;  // the process that serves instead; 0: none
  event<> wanted_;
  event<> settled_;  // it serves, has ended, or is superseded
};

}  // namespace coracle::server_internal
