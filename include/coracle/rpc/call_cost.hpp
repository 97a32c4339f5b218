// call_cost: what a measured call has cost its server: time, waits, memory blocks, bytes.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/rpc/call_traffic.hpp"

#include <cstdint>
#include <type_traits>

namespace coracle {

/// What a call of a server has cost so far, from the arrival of its headers: server_context::cost().
///
/// The times are of the loop's steady clock and add up to the age of the call. `running` is CPU time as long
/// as the system runs nothing else on the core. It includes the work of the library for this call (decoding,
/// interceptors, the handler and its tasks, encoding), and not what calls of a connection share (sockets,
/// TLS, headers), nor what the call runs on other loops or threads. A simulation does not measure `running`:
/// it is 0 there.
struct call_cost {
  duration running{};  ///< when code of the call ran on its loop
  duration waiting_for_messages{};  ///< when nothing ran, and the client's next message was awaited
  duration waiting_for_room{};  ///< when nothing ran, because of flow control: the client reads too slowly
  duration waiting_for_calls{};  ///< when nothing ran, while calls were open that the handler had made
  duration waiting_otherwise{};  ///< when nothing ran for other reasons: timers, locks, threads, the queue
  std::uint64_t runs = 0;  ///< how often code of the call began to run
  std::uint64_t frames = 0;  ///< coroutine frames made by the call's code
  /// Blocks that the library allocated for the call, because its pools had none to reuse. What the handler's
  /// own code allocates is not counted.
  std::uint64_t heap_blocks = 0;
  call_traffic traffic;  ///< messages and bytes, as server_context::traffic() returns
};
static_assert(std::is_trivially_destructible_v<call_cost>);

}  // namespace coracle
