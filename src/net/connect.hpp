// connect_socket: the code that stream::connect() and connect_duplex() share.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

namespace coracle::net {

// Returns a connected socket, which the caller owns. Observes the awaiter's stop token and deadline. from:
// the local address to bind to, or none.
task<result<runtime_internal::handle>> connect_socket(loop& on, address to, address from = {});

// Returns the loop that runs this coroutine; aborts where there is none, which is a bug of the caller.
loop& current_loop() noexcept;

}  // namespace coracle::net
