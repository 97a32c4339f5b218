// open_stream: the socket behind a stream.
#pragma once

#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/io_wait.hpp"
#include "net/raw_address.hpp"
#include "runtime/backend.hpp"

namespace coracle::net {

// Owns the handle and one operation per direction, so that a read allocates no coroutine frame.
class open_stream {
 public:
  open_stream(loop& owner_loop, runtime_internal::handle handle) noexcept
      : on(owner_loop),
        socket(handle),
        reading(owner_loop, runtime_internal::operation::kind::receive, handle),
        writing(owner_loop, runtime_internal::operation::kind::send, handle),
        ends(owner_loop, handle) {
    writing.pieces = &to_write;
    writing.piece_count = 1;
  }
  open_stream(const open_stream&) = delete;
  open_stream& operator=(const open_stream&) = delete;
  ~open_stream() {
    CORACLE_ASSERT(!reading.waits() && !writing.waits(),
                   "a stream was closed or destroyed while a task waits for it");
    if (!released_) on.io().close(socket, abort_on_close);
  }
  // The caller owns the socket from now on. No operation may be in flight.
  [[nodiscard]] runtime_internal::handle release() noexcept {
    released_ = true;
    return socket;
  }

  loop& on;
  const runtime_internal::handle socket;
  io_wait reading;
  io_wait writing;
  runtime_internal::operation::piece to_write{};
  socket_addresses ends;
  bool abort_on_close = false;

 private:
  bool released_ = false;
};

}  // namespace coracle::net
