// connect_socket: what stream::connect() and connect_duplex() share.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

namespace coracle::net {

// A connected socket, now the caller's. Under the awaiter's stop token and deadline.
task<result<runtime_internal::handle>> connect_socket(loop& on, address to);

// The loop that this coroutine runs on; a defect of the caller (abort) where there is none.
loop& current_loop() noexcept;

}  // namespace coracle::net
