// client_runtime(): the runtime of synchronous calls, and of queues without a client_loop.
#pragma once

#include "coracle/runtime/runtime.hpp"

#include <cstdint>

namespace grpc::internal {

// One loop with a thread of its own, and threads for plugins of credentials that block. Starts when it is
// needed first, and lasts until the process ends: static objects may make calls in their destructors.
//
// It does not survive fork(): the child has no threads. The child gets a new one when it needs one, and
// calls of the channels of its parent fail; process_generation() tells them apart.
coracle::runtime& client_runtime();
[[nodiscard]] std::uint32_t process_generation() noexcept;
// The same, for what is compared with it later: forks are counted from now on.
[[nodiscard]] std::uint32_t counted_generation();

}  // namespace grpc::internal
