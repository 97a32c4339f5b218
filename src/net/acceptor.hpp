// acceptor: a listening socket that passes its connections to a sink; servers use it.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/listener.hpp"
#include "runtime/backend.hpp"

#include <cstdint>
#include <memory>

namespace coracle {
class loop;
}

namespace coracle::net {

struct inherited_socket;

// Who else may have the socket of an acceptor, and the file of a UNIX socket.
enum class sharing : std::uint8_t {
  exclusive,  // no other process: close() passes on the connections that wait, and removes the file
  shared,  // another process: close() leaves the connections that wait, and the file
};

// The callbacks of an acceptor. They run on the acceptor's loop, never from inside a call of the acceptor.
class acceptor_sink {
 public:
  // Passes a connected socket, which the callee now owns: for make_socket_duplex() on this loop or on another
  // loop of the same runtime, or to be closed.
  virtual void accepted(runtime_internal::handle connection) noexcept = 0;
  // Reports that listening failed because of a bug or a misconfiguration; close() must still be called.
  // Exhaustion of descriptors or memory and errors of a single connection do not end the acceptor: it pauses
  // and continues.
  virtual void accept_failed(status reason) noexcept = 0;
  // Confirms pause().
  virtual void paused() noexcept {}
  // Confirms close(), exactly once; this is the last callback. It may destroy the acceptor.
  virtual void closed() noexcept = 0;

 protected:
  ~acceptor_sink() = default;
};

// Lives on one loop. An acceptor that was never started may be destroyed at any time, a started one only
// after closed().
class acceptor {
 public:
  // Binds and listens like listener::open(), with the same error messages. Connections wait in the kernel
  // until start().
  static result<std::unique_ptr<acceptor>> open(loop& on, const address& at,
                                                const listen_options& options = {});
  // Adopts a socket that the service manager opened. close() leaves the socket, and a UNIX socket's file, to
  // the manager.
  static result<std::unique_ptr<acceptor>> adopt(loop& on, const inherited_socket& from);
  // Adopts a socket that another process has passed on, as one that both share. `descriptor` stays the
  // caller's.
  static result<std::unique_ptr<acceptor>> adopt(loop& on, int descriptor);

  acceptor(const acceptor&) = delete;
  acceptor& operator=(const acceptor&) = delete;
  virtual ~acceptor() = default;

  // Starts accepting; call it once. The sink must stay alive until closed().
  virtual void start(acceptor_sink& sink) noexcept = 0;
  // Stops accepting, without closing the socket: connections wait in the kernel, or go to another process
  // that has the socket. Returns whether paused() will follow, after the connections that were accepted
  // before; false if accepting has failed or close() was called.
  virtual bool pause() noexcept = 0;
  // Ends a pause, also one that was not confirmed yet.
  virtual void resume() noexcept = 0;
  // Looks for connections anew, unless there is a pause: the kernel wakes one of the processes that have the
  // socket for each connection, and the one that it has woken may have stopped accepting, or ended, before it
  // accepted.
  virtual void look_again() noexcept = 0;
  // Stops accepting, passes on the connections that have arrived, releases the address that open() took (and
  // removes a UNIX socket's file), then calls closed(). Idempotent. Of a shared socket, the connections that
  // wait stay for the other process.
  virtual void close() noexcept = 0;
  // Sets whose the socket is from now on.
  virtual void set_sharing(sharing with_others) noexcept = 0;
  [[nodiscard]] virtual sharing shared() const noexcept = 0;
  // The listening descriptor, for the process that gets the socket next.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  // The bound address, with the actual port if port 0 was requested.
  [[nodiscard]] virtual const address& local_address() const noexcept = 0;
  // On the acceptor's loop, before closed(). Of a listening socket, TCP_INFO has the connections that wait to
  // be accepted (tcpi_unacked) and their maximum (tcpi_sacked).
  [[nodiscard]] virtual runtime_internal::socket_options options() const noexcept = 0;

 protected:
  acceptor() noexcept = default;
};

}  // namespace coracle::net
