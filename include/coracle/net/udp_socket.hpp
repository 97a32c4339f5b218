// udp_socket: sends and receives datagrams over IPv4 and IPv6, for coroutines.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace coracle::net {

/// Options of udp_socket::bind(): `{.reuse_port = true}`.
struct udp_options {
  /// Lets several sockets, one per loop, share the port; the kernel distributes senders over them. Default:
  /// false.
  bool reuse_port = false;
  /// Restricts "[::]:port" to IPv6: it receives no IPv4 datagrams. Default: false.
  bool only_ipv6 = false;
};

/// The size and the sender of the datagram that receive_from() has placed in the buffer.
class received_datagram {
 public:
  /// @cond
  received_datagram(std::size_t size, address sender) noexcept : size_(size), sender_(std::move(sender)) {}
  /// @endcond
  /// Returns the size in bytes; an empty datagram has size 0.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Returns the address that the datagram came from.
  [[nodiscard]] const address& sender() const noexcept { return sender_; }

 private:
  std::size_t size_;
  address sender_;
};

class open_socket;  // private: a handle and the operations that wait on it

/// A UDP socket. Lives on the loop on which it was made; only coroutines of that loop may use it. At most one
/// send and one receive may be in flight, also at the same time. The socket must outlive both.
///
/// Datagrams arrive whole, but may be lost, duplicated or reordered; one that finds no room at its receiver
/// is dropped silently. Every operation ends early when the awaiter's environment requires it, and only after
/// the kernel no longer uses the bytes: with CANCELLED on a stop, with DEADLINE_EXCEEDED when the
/// environment's deadline has passed.
class udp_socket {
 public:
  /// Makes a closed socket.
  udp_socket() noexcept;
  udp_socket(udp_socket&&) noexcept;
  udp_socket& operator=(udp_socket&&) noexcept;
  /// Closes the socket if close() was not called. No operation may be in flight.
  ~udp_socket();

  /// Binds to `at` on the current loop; port 0 selects a free port. Fails with a one-line message that
  /// suggests a fix: ALREADY_EXISTS when the port is in use, PERMISSION_DENIED, or INVALID_ARGUMENT when the
  /// machine has no such address.
  static result<udp_socket> bind(const address& at, const udp_options& options = {});

  /// Sets the peer: datagrams from other senders are ignored, and send() sends to the peer. A send or a
  /// receive fails with UNAVAILABLE when no process received an earlier datagram at the peer. Sends nothing
  /// itself and does not wait. May be called again with another peer.
  status connect(const address& peer);

  /// Sends one datagram to `to`. The bytes must stay in place until the await ends. Fails with
  /// INVALID_ARGUMENT when the datagram is too large (65,507 bytes over IPv4). A send that ends early has
  /// sent nothing.
  [[nodiscard]] task<status> send_to(bytes_view datagram, address to);
  /// Sends one datagram to the peer that connect() has set, with the same rules.
  [[nodiscard]] task<status> send(bytes_view datagram);

  /// Receives the next datagram into the front of `into`, which must stay in place until the await ends. A
  /// larger datagram is lost; the call then fails with RESOURCE_EXHAUSTED and a message with its size and its
  /// sender.
  [[nodiscard]] task<result<received_datagram>> receive_from(mutable_bytes into);

  /// Closes the socket. No operation may be in flight.
  void close() noexcept;
  /// Returns whether the socket is open.
  [[nodiscard]] bool is_open() const noexcept { return socket_ != nullptr; }
  /// Returns the address of an open socket, with the actual port if port 0 was requested. Costs a system
  /// call.
  [[nodiscard]] address local_address() const;

 private:
  explicit udp_socket(std::unique_ptr<open_socket> opened) noexcept;
  std::unique_ptr<open_socket> socket_;
};

}  // namespace coracle::net
