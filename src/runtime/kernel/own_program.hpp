// own_program: starts the program of this process once more.
#pragma once

#include "runtime/kernel/packet_socket.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace coracle::runtime_internal::kernel {

// How this process was started. A file that has replaced the program's since then is what start() runs.
struct own_program {
  std::vector<std::string> arguments;  // the first: the program, as it was named
  std::vector<std::string> environment;
};

// Call it while no other thread changes the environment. Without arguments where the system does not tell
// them.
own_program read_own_program();

// A child process. Neither the constructor nor the destructor waits; a child that was not killed goes on.
struct child_process {
  std::int64_t process_id = 0;
  // Polls as readable when the child has ended. None where the kernel has no such descriptors.
  owned_descriptor end;
};

// Starts the program with the standard streams of this process, no signal blocked, and no other descriptor;
// with a C library that cannot close them (glibc before 2.34), with those that exec does not close. Returns 0
// or -errno. Safe in a process with threads.
std::int64_t start(const own_program& program, child_process& child);
// Nothing happens if it has ended, also if another part of the program has received its exit code.
void kill_at_once(const child_process& child) noexcept;
// Kills it, and blocks until it has ended, which takes long only if it is stuck in the kernel: at most 1 s.
// Returns whether it has ended.
bool kill_and_wait(const child_process& child) noexcept;
// Returns a sentence about the end of a child that has ended, "ended with exit code 3"; empty if it has not,
// or if another part of the program has received its exit code.
std::string take_end(const child_process& child);

// Polls as readable when the process has ended. None where the kernel has no such descriptors, and for a
// process that has ended already.
owned_descriptor end_of_process(std::int64_t process_id) noexcept;
// Whether a process is the child, or was started below it, as by a script. Asks the system, which knows the
// parents of processes that run.
bool descends_from(std::int64_t process_id, const child_process& child) noexcept;

// Whether the end of this process ends the container that it runs in, or the system.
bool is_first_process() noexcept;

}  // namespace coracle::runtime_internal::kernel
