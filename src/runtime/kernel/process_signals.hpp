// Signals of the process as readable descriptors.
#pragma once

#include "runtime/backend.hpp"

namespace coracle::runtime_internal::kernel {

// As the backend's functions of these names; forget_signals() leaves it to the caller to close the handle. A handler and an eventfd rather than signalfd: that one needs
// the signal blocked in every thread, also in those that run already. Threads' signal masks stay as they
// are. A handler that they replaced gets the signals again when the last watch has ended, also from a program that has saved
// our handler and restores it later: then by way of ours, which keeps SA_RESETHAND, SA_NODEFER and sa_mask, but runs it
// on the stack that the signal came on, and with SA_RESTART. From any thread.
std::int64_t open_signals(std::uint32_t set) noexcept;
std::uint32_t take_signals(handle h) noexcept;
void forget_signals(handle h) noexcept;
// Whether any of them is watched.
bool watches_signals(std::uint32_t set) noexcept;

}  // namespace coracle::runtime_internal::kernel
