// process_signals: signals of the process as readable descriptors.
#pragma once

#include "runtime/backend.hpp"

namespace coracle::runtime_internal::kernel {

// Implements the backend's functions of these names, except that forget_signals() leaves closing the handle
// to the caller. Uses a handler and an eventfd rather than a signalfd, which would require the signal to be
// blocked in every thread, including threads that already run. The signal masks of threads stay unchanged. A
// handler that this module replaced receives the signals again when the last watch has ended, even if the
// program saved our handler meanwhile and restores it later: our handler then forwards to the replaced one.
// Forwarding honours SA_RESETHAND, SA_NODEFER and sa_mask, but runs on the stack on which the signal arrived,
// and with SA_RESTART. From any thread.
std::int64_t open_signals(std::uint32_t set) noexcept;
std::uint32_t take_signals(handle h) noexcept;
void forget_signals(handle h) noexcept;
// Whether any signal of `set` is watched.
bool watches_signals(std::uint32_t set) noexcept;

}  // namespace coracle::runtime_internal::kernel
