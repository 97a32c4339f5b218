// acceptor: a listening socket that hands its connections to a sink: what servers use.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/listener.hpp"
#include "runtime/backend.hpp"

#include <memory>

namespace coracle {
class loop;
}

namespace coracle::net {

struct inherited_socket;

// Called on the acceptor's loop, never from inside a call of the acceptor.
class acceptor_sink {
 public:
  // A connected socket, now the callee's: for make_socket_duplex() on this loop or on another of the same
  // runtime, or to be closed.
  virtual void accepted(runtime_internal::handle connection) noexcept = 0;
  // Listening broke down, which needs a defect or an administrator; close() is still to be called.
  // Exhaustion of descriptors or memory and faults of one connection do not end it: the backend rests and
  // goes on.
  virtual void accept_failed(status why) noexcept = 0;
  // The answer to close(), exactly once, the last call. The acceptor may be destroyed inside.
  virtual void closed() noexcept = 0;

 protected:
  ~acceptor_sink() = default;
};

// Lives on one loop. One that was never started may be destroyed at any time; a started one once closed()
// came.
class acceptor {
 public:
  // Binds and listens, as listener::open() does, with the same texts. Connections wait in the kernel until
  // start().
  static result<std::unique_ptr<acceptor>> open(loop& on, const address& at,
                                                const listen_options& options = {});
  // Of a socket that the service manager opened: close() leaves it, and a UNIX socket's file, to the manager.
  static result<std::unique_ptr<acceptor>> adopt(loop& on, const inherited_socket& from);

  acceptor(const acceptor&) = delete;
  acceptor& operator=(const acceptor&) = delete;
  virtual ~acceptor() = default;

  // Once. The sink stays alive until closed().
  virtual void start(acceptor_sink& sink) noexcept = 0;
  // Stops accepting, frees the address that open() took (and removes a UNIX socket's file), then calls closed(). Idempotent.
  virtual void close() noexcept = 0;
  // With the real port where 0 was asked for.
  [[nodiscard]] virtual const address& local_address() const noexcept = 0;

 protected:
  acceptor() noexcept = default;
};

}  // namespace coracle::net
