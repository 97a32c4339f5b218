// open_socket: the descriptor behind a udp_socket.
#pragma once

#include "coracle/base/impl/assert.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

namespace coracle::net {

// Owns the handle. The flags catch two operations of a direction at a time, and a close under either.
class open_socket {
 public:
  open_socket(loop& home, runtime_internal::handle handle) noexcept : on(home), socket(handle) {}
  open_socket(const open_socket&) = delete;
  open_socket& operator=(const open_socket&) = delete;
  ~open_socket() {
    CORACLE_ASSERT(
        !receiving && !sending,
        "a udp_socket was closed or destroyed while a task waits for it: stop and join the task first");
    on.io().close(socket);
  }

  loop& on;
  const runtime_internal::handle socket;
  bool receiving = false;
  bool sending = false;
};

}  // namespace coracle::net
