// out_of_memory: ends the program when an allocation fails.
#pragma once

namespace coracle::tools {

// From this call on, a failing operator new ends the program with a line on stderr and exit_failure instead
// of throwing: an allocation may fail where no exception can propagate, in a callback of the library for
// example, and unwinding allocates, too. Output that print() has not written is lost. A nothrow allocation
// still returns null, so that the library can end the one call that is too large.
void end_when_memory_runs_out() noexcept;

// For a command that serves many calls, of which one may fail: operator new throws std::bad_alloc again. If
// nothing can catch the exception, the program ends with the same line.
void go_on_when_memory_runs_out() noexcept;

// Ends the program with that line.
[[noreturn]] void end_out_of_memory() noexcept;

}  // namespace coracle::tools
