// out_of_memory: how the program ends when an allocation fails.
#pragma once

namespace coracle::tools {

// From here on operator new ends the program with a line on stderr and exit_failure, and does not throw: an allocation may
// fail where no exception can pass, in a callback of the library for instance, and unwinding allocates, too. Output that
// print() has not written is lost. An allocation that asks not to throw returns null as ever, so that the library can end
// the one call that is too large.
void end_when_memory_runs_out() noexcept;

// For a command that serves many calls, of which one may fail: operator new throws std::bad_alloc again. Where nothing can
// catch it, it ends the program with the same line.
void go_on_when_memory_runs_out() noexcept;

// Ends the program with that line.
[[noreturn]] void end_out_of_memory() noexcept;

}  // namespace coracle::tools
