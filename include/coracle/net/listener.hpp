// listener: waits for connections at an address, for coroutines.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/net/stream.hpp"

#include <memory>

namespace coracle::net {

// Not an aggregate: it is passed into awaited calls.
class listen_options {
 public:
  listen_options() noexcept {}
  // Connections that the kernel keeps for us until they are accepted; the system may cap it (somaxconn).
  listen_options& backlog(int n) noexcept { return backlog_ = n, *this; }
  // Several listeners, one a loop, share the port and the kernel spreads connections over them.
  listen_options& reuse_port(bool on = true) noexcept { return reuse_port_ = on, *this; }
  // "[::]:port" takes no IPv4 connections.
  listen_options& only_ipv6(bool on = true) noexcept { return only_ipv6_ = on, *this; }

  [[nodiscard]] int backlog() const noexcept { return backlog_; }
  [[nodiscard]] bool reuse_port() const noexcept { return reuse_port_; }
  [[nodiscard]] bool only_ipv6() const noexcept { return only_ipv6_; }

 private:
  int backlog_ = 1024;
  bool reuse_port_ = false;
  bool only_ipv6_ = false;
};

class listening_socket;  // private: the bound socket

// Lives on the loop it was opened on; all of it is for that loop's coroutines.
class listener {
 public:
  listener() noexcept;
  listener(listener&&) noexcept;
  listener& operator=(listener&&) noexcept;
  // Closes, if close() was not called. No accept() may be waiting.
  ~listener();

  // Binds and listens on the current loop. One line that names the mend otherwise: ALREADY_EXISTS when the
  // address is in use, PERMISSION_DENIED, INVALID_ARGUMENT when the machine has no such address. A UNIX
  // socket file that nobody listens on any more is replaced.
  static result<listener> open(const address& at, const listen_options& options = {});

  // The next connection; one accept() waits at a time. Connections that broke before they got here are
  // passed over. While the process has no descriptors or memory left, it rests for 50 ms at a time and tries
  // again, and says so in the runtime's log when that begins; connections wait in the kernel. CANCELLED on a
  // stop or after close(), DEADLINE_EXCEEDED by the environment's deadline, also in a rest.
  [[nodiscard]] task<result<stream>> accept();

  // Ends a waiting accept(), waits for it, and frees the address (and the socket's file). Connections that
  // were not accepted yet are reset by the kernel.
  [[nodiscard]] task<void> close();

  [[nodiscard]] bool is_open() const noexcept { return socket_ != nullptr; }
  // With the real port where 0 was asked for. Of an open listener.
  [[nodiscard]] const address& local_address() const noexcept;

 private:
  explicit listener(std::unique_ptr<listening_socket> s) noexcept;
  std::unique_ptr<listening_socket> socket_;
};

}  // namespace coracle::net
