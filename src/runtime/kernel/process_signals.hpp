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
// Returns the signals that were not taken: a handler that runs on another thread is awaited.
[[nodiscard]] std::uint32_t forget_signals(handle h) noexcept;
// Whether any signal of `set` is watched.
bool watches_signals(std::uint32_t set) noexcept;

// Keeps signals from ending a program that sets up before its loops can receive them: SIGTERM, and what else
// is asked for. Does not defer SIGINT: a user at the terminal may want to end the program at once. Any
// thread, one at a time.
class deferred_signals {
 public:
  // `more`: bits, as of open_signals(). Defers nothing when all signal watches are in use.
  explicit deferred_signals(std::uint32_t more) noexcept;
  deferred_signals(const deferred_signals&) = delete;
  deferred_signals& operator=(const deferred_signals&) = delete;
  // Ends the deferral, if it was not passed on. A SIGTERM that has arrived is raised again with the previous
  // disposition, unless another watch exists; other signals are lost.
  ~deferred_signals();

  // Makes the deferral a watch of `set`, which has to contain the deferred signals, without a gap or an
  // overlap: each signal arrives once, also one that came before. Returns a handle that is the caller's, as
  // open_signals() does.
  [[nodiscard]] std::int64_t become_watch(std::uint32_t set) noexcept;

 private:
  std::int64_t events_;
};

}  // namespace coracle::runtime_internal::kernel
