// open_stream: the socket behind a stream.
#pragma once

#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/connection_ends.hpp"
#include "runtime/backend.hpp"

namespace coracle::net {

// Owns the handle. The flags catch two reads or two writes at a time, and a close under either.
class open_stream {
 public:
  open_stream(loop& home, io::handle handle) noexcept : on(home), socket(handle), ends(home, handle) {}
  open_stream(const open_stream&) = delete;
  open_stream& operator=(const open_stream&) = delete;
  ~open_stream() {
    CORACLE_ASSERT(!reading && !writing, "a stream was closed or destroyed while a task waits for it");
    on.io().close(socket, abort_on_close);
  }

  loop& on;
  const io::handle socket;
  connection_ends ends;
  bool reading = false;
  bool writing = false;
  bool abort_on_close = false;
};

}  // namespace coracle::net
