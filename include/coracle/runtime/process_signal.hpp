// process_signal: the signals that a program can handle, without the system's header.
#pragma once

#include "coracle/base/impl/requirements.hpp"

#include <cstdint>

namespace coracle {
/// A signal of the process.

enum class process_signal : std::uint8_t {
  interrupt,  ///< SIGINT
  terminate,  ///< SIGTERM
  hangup,     ///< SIGHUP
  user1,      ///< SIGUSR1
  user2,      ///< SIGUSR2
};
/// The number of values of process_signal.
inline constexpr int process_signals = 5;

}  // namespace coracle
