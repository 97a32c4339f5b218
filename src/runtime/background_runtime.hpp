// background_runtime: the runtime of channels that were made without one; one per process.
#pragma once

namespace coracle {
class runtime;
}

namespace coracle::runtime_internal {

// Returns the runtime, which has one loop; starts it at first use. Any thread, also one that drives a loop.
// Throws what the constructor of a runtime throws.
//
// It ends when the program exits, among the destructors of objects with static lifetime, as if it had been
// constructed at first use: its tasks are stopped, its services leave, and its threads are joined. Its
// memory stays, because objects that are destroyed later may refer to its loops. A use after that starts
// another one, which is not joined. In a child of fork() the runtime of the parent is not used: the child
// gets another one.
[[nodiscard]] runtime& background_runtime();

// Makes the runtime end before anything that registered for the program's exit before this call, such as a
// library whose state the connections use. Any thread; one call per such library is enough.
void end_background_runtime_first() noexcept;

}  // namespace coracle::runtime_internal
