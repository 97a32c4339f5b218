// task_dump: writes the tasks of all loops to the log when the process gets a signal.
#pragma once

#include "runtime/backend.hpp"
#include "runtime/resident.hpp"

#include "coracle/runtime/process_signal.hpp"

#include <cstdint>

namespace coracle::runtime_internal {

// Lives on loop 0 of its runtime, from the runtime's constructor to its stop.
class task_dump final : public resident, runtime_internal::operation {
 public:
  // Says so in the log where the signal cannot be watched for.
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

// Writes the tasks of one loop, on its thread.
void log_tasks(loop& of) noexcept;

}  // namespace coracle::runtime_internal
