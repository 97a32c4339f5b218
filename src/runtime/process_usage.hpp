// process_usage: the CPU time and the memory that this process uses.
#pragma once

#include "coracle/base/clock.hpp"

#include <cstdint>

namespace coracle::runtime_internal {

// Of all threads, in user and in kernel mode (getrusage(2)).
duration cpu_time_of_process() noexcept;

// The resident memory (proc_pid_statm(5)); 0 if it is unknown. Reads a file of the kernel, which does not
// block.
std::uint64_t resident_bytes();

// The memory of the machine.
std::uint64_t machine_bytes() noexcept;

}  // namespace coracle::runtime_internal
