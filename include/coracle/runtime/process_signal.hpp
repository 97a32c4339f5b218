// process_signal: what the world may ask of a running program, without the system's header.
#pragma once

#include <cstdint>

namespace coracle {

enum class process_signal : std::uint8_t {
  interrupt,  // SIGINT
  terminate,  // SIGTERM
  hangup,     // SIGHUP
  user1,      // SIGUSR1
  user2,      // SIGUSR2
};
inline constexpr int process_signals = 5;

}  // namespace coracle
