// udp_socket: datagrams for coroutines, over IPv4 and IPv6.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace coracle::net {

// Not an aggregate: it is passed into awaited calls.
class udp_options {
 public:
  udp_options() noexcept {}
  // Several sockets, one a loop, share the port and the kernel spreads senders over them.
  udp_options& reuse_port(bool on = true) noexcept { return reuse_port_ = on, *this; }
  // "[::]:port" takes no IPv4 datagrams.
  udp_options& only_ipv6(bool on = true) noexcept { return only_ipv6_ = on, *this; }

  [[nodiscard]] bool reuse_port() const noexcept { return reuse_port_; }
  [[nodiscard]] bool only_ipv6() const noexcept { return only_ipv6_; }

 private:
  bool reuse_port_ = false;
  bool only_ipv6_ = false;
};

// What receive_from() has put into the buffer, and who sent it.
class received_datagram {
 public:
  received_datagram(std::size_t size, address sender) noexcept : size_(size), sender_(std::move(sender)) {}
  // In bytes; 0 is a datagram too.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const address& sender() const noexcept { return sender_; }

 private:
  std::size_t size_;
  address sender_;
};

class open_socket;  // private: a handle and what waits on it

// Lives on the loop it was made on; all of it is for that loop's coroutines. One send and one receive may wait
// at a time, beside each other; the socket must outlive both.
//
// Datagrams are whole, may be lost, doubled or overtake each other, and one that finds no room at its
// receiver is dropped without a word. Every wait ends early when the awaiter's environment says so, and only
// once the kernel has let go of the bytes: CANCELLED on a stop, DEADLINE_EXCEEDED by its deadline.
class udp_socket {
 public:
  udp_socket() noexcept;
  udp_socket(udp_socket&&) noexcept;
  udp_socket& operator=(udp_socket&&) noexcept;
  // Closes, if close() was not called. No operation may be waiting.
  ~udp_socket();

  // On the current loop; port 0 takes a free one. One line that names the mend otherwise: ALREADY_EXISTS when
  // the port is in use, PERMISSION_DENIED, INVALID_ARGUMENT when the machine has no such address.
  static result<udp_socket> bind(const address& at, const udp_options& options = {});

  // Fixes the peer: datagrams of others are passed over, send() sends there, and a send or receive is
  // UNAVAILABLE when an earlier datagram found nobody. Sends nothing itself and does not wait. May be
  // called again with another peer.
  status connect(const address& peer);

  // One datagram; the bytes must stay in place until the await ends. INVALID_ARGUMENT when it is too large
  // (65,507 bytes over IPv4). A send that ends early has sent nothing.
  [[nodiscard]] task<status> send_to(bytes_view datagram, address to);
  // The same to the peer that connect() has fixed.
  [[nodiscard]] task<status> send(bytes_view datagram);

  // The next datagram, into the front of `into`, which must stay in place until the await ends. One that is
  // larger is lost: RESOURCE_EXHAUSTED says its size and its sender.
  [[nodiscard]] task<result<received_datagram>> receive_from(mutable_bytes into);

  // Nothing may be waiting.
  void close() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return socket_ != nullptr; }
  // With the real port where 0 was asked for. Of an open socket; costs a system call.
  [[nodiscard]] address local_address() const;

 private:
  explicit udp_socket(std::unique_ptr<open_socket> opened) noexcept;
  std::unique_ptr<open_socket> socket_;
};

}  // namespace coracle::net
