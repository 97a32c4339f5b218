// listener: accepts connections at an address, for coroutines.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/stream.hpp"

#include <memory>

namespace coracle::net {

/// Options of listener::open(): `{.reuse_port = true}`.
struct listen_options {
  /// The number of connections that the kernel queues until they are accepted; the system may cap it
  /// (somaxconn). Default: 1024.
  int backlog = 1024;
  /// Lets several listeners, one per loop, share the port; the kernel distributes connections over them.
  /// Default: false.
  bool reuse_port = false;
  /// Restricts "[::]:port" to IPv6: it accepts no IPv4 connections. Default: false.
  bool only_ipv6 = false;
};

class listening_socket;  // private: the bound socket

/// Accepts connections at one address. Lives on the loop on which it was opened; only coroutines of that loop
/// may use it.
class listener {
 public:
  /// Makes a closed listener.
  listener() noexcept;
  listener(listener&&) noexcept;
  listener& operator=(listener&&) noexcept;
  /// Closes the listener if close() was not called. No accept() may be in flight.
  ~listener();

  /// Binds to `at` and listens, on the current loop. Replaces a UNIX socket file on which no process listens
  /// any more. Fails with a one-line message that suggests a fix: ALREADY_EXISTS when the address is in use,
  /// PERMISSION_DENIED, or INVALID_ARGUMENT when the machine has no such address.
  static result<listener> open(const address& at, const listen_options& options = {});

  /// Waits for the next connection. At most one accept() may be in flight. Skips connections that broke
  /// before they were accepted. While the process has no descriptors or memory left, pauses for 50 ms at a
  /// time before it retries, and logs the first pause in the runtime's log; connections wait in the kernel
  /// meanwhile. Fails with CANCELLED on a stop or after close(), and with DEADLINE_EXCEEDED when the
  /// environment's deadline passes, also during a pause.
  [[nodiscard]] task<result<stream>> accept();

  /// Ends an accept() that is in flight, waits for its end, and releases the address and the socket file. The
  /// kernel resets connections that were not accepted yet.
  [[nodiscard]] task<void> close();

  /// Returns whether the listener is open.
  [[nodiscard]] bool is_open() const noexcept { return socket_ != nullptr; }
  /// Returns the address of an open listener, with the actual port if port 0 was requested.
  [[nodiscard]] const address& local_address() const noexcept;

 private:
  explicit listener(std::unique_ptr<listening_socket> s) noexcept;
  std::unique_ptr<listening_socket> socket_;
};

}  // namespace coracle::net
