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
struct inherited_socket;

// Owns the handle, and the file of a UNIX socket that it opened: both go with it, on the loop's thread, with nothing in
// flight.
class listening_socket {
 public:
  static result<std::unique_ptr<listening_socket>> open(loop& on, const address& at,
                                                        const listen_options& options);
  // One that the service manager has opened; it lives on, and so does its file.
  static result<std::unique_ptr<listening_socket>> adopt(loop& on, const inherited_socket& from);
  enum class origin : bool { opened, inherited };
  listening_socket(loop& home, runtime_internal::handle handle, address bound, origin from) noexcept
      : on(home), socket(handle), local(std::move(bound)), whose(from), pause(home) {}
  listening_socket(const listening_socket&) = delete;
  listening_socket& operator=(const listening_socket&) = delete;
  ~listening_socket();

  loop& on;
  const runtime_internal::handle socket;
  const address local;
  const origin whose;
  // The listener's. While an accept() is under way, what it waits for: a connection, or the end of a rest.
  bool accepting = false;
  io_wait* waiting = nullptr;
  accept_pause pause;
  bool said_exhausted = false;  // since the last connection
  coro::work* closer = nullptr;  // the close() that waits for the accept() to end
};

}  // namespace coracle::net
