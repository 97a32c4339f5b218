// task_dump: writes the tasks of all loops to the log when the process receives a signal.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/resident.hpp"

#include "coracle/runtime/process_signal.hpp"

#include <cstdint>

namespace coracle::runtime_internal {

// Lives on loop 0 of its runtime, from the runtime's constructor until the runtime stops.
class task_dump final : public resident, runtime_internal::operation {
 public:
  // Logs a message when the signal cannot be watched.
  static void settle_on(loop& home, process_signal when);

  task_dump(loop& home, handle events) noexcept;
  ~task_dump() override;

 private:
  void leave() noexcept override;
  void come(std::int64_t result) noexcept;
  loop& home_;
  const handle events_;
  bool leaving_ = false;
};

// Writes the tasks of one loop to the log; call it on the loop's thread.
void log_tasks(loop& of) noexcept;

}  // namespace coracle::runtime_internal
