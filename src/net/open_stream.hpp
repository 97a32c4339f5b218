// open_stream: the socket behind a stream.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/io_wait.hpp"
#include "net/raw_address.hpp"
#include "runtime/backend.hpp"

#include <coroutine>

namespace coracle::net {

// Adopts a connected socket of the program, whose handle `on` closes from then on; any thread. On failure it
// stays the program's.
result<runtime_internal::handle> adopt_socket(loop& on, int descriptor);

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
    if (!released_) closing_loop().io().close(socket, abort_on_close);
  }
  // Returns whether the current thread may close or move the stream: it drives the owner loop, or another
  // loop of the runtime and the stream was moved and then not used.
  [[nodiscard]] bool is_here() const noexcept { return &closing_loop() == loop::current(); }
  // Starts a read or a write. Returns false when it ended at once.
  bool start(io_wait& direction, std::coroutine_handle<> h, const coro::environment& e) {
    const bool waits = direction.start(h, e);  // throws on another loop
    unused_since_move = false;
    return waits;
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
  // No loop has state of the socket: the backend of the former loop has forgotten it, and that of `on` has
  // not seen it yet. A task that never ran may thus be destroyed on the former loop.
  bool unused_since_move = false;

 private:
  [[nodiscard]] loop& closing_loop() const noexcept {
    loop* const here = loop::current();
    return unused_since_move && here && &here->owner() == &on.owner() ? *here : on;
  }
  bool released_ = false;
};

}  // namespace coracle::net
