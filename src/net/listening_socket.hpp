// listening_socket: a bound socket that listens; behind both listener and acceptor.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/accept_pause.hpp"
#include "runtime/backend.hpp"

#include <coroutine>
#include <memory>

namespace coracle::net {

class io_wait;

// Owns the handle, and the file of a UNIX socket: both go with it, on the loop's thread, with nothing in
// flight.
class listening_socket {
 public:
  static result<std::unique_ptr<listening_socket>> open(loop& on, const address& at,
                                                        const listen_options& options);
  listening_socket(loop& home, io::handle handle, address bound) noexcept
      : on(home), socket(handle), local(std::move(bound)), pause(home) {}
  listening_socket(const listening_socket&) = delete;
  listening_socket& operator=(const listening_socket&) = delete;
  ~listening_socket();

  loop& on;
  const io::handle socket;
  const address local;
  // The listener's. While an accept() is under way, what it waits for: a connection, or the end of a rest.
  bool accepting = false;
  io_wait* waiting = nullptr;
  accept_pause pause;
  bool said_exhausted = false;  // since the last connection
  coro::work* closer = nullptr;  // the close() that waits for the accept() to end
};

}  // namespace coracle::net
