#include "runtime/kernel/held_termination.hpp"

#include "coracle/runtime/process_signal.hpp"
#include "runtime/kernel/process_signals.hpp"

#include <unistd.h>
#include <csignal>

namespace coracle::runtime_internal::kernel {

namespace {
constexpr std::uint32_t termination = 1u << static_cast<unsigned>(process_signal::terminate);
}

held_termination::held_termination() noexcept : events_(open_signals(termination)) {}

bool held_termination::take() noexcept {
  return events_ >= 0 && take_signals(static_cast<handle>(events_)) != 0;
}

held_termination::~held_termination() {
  if (events_ < 0) return;
  const auto h = static_cast<handle>(events_);
  const bool untold = take();
  forget_signals(h);
  ::close(h);
  if (untold && !watches_signals(termination)) ::kill(::getpid(), SIGTERM);
}

}  // namespace coracle::runtime_internal::kernel
