// raw_address: addresses in the kernel's representation: conversion, and the two addresses of a connection.
#pragma once

#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <memory>

namespace coracle::net {

// Returns AF_UNSPEC and size 0 for a default-constructed address.
runtime_internal::raw_address to_raw(const address& a) noexcept;
// Returns a default-constructed address for unknown families and for UNIX sockets without a name.
address from_raw(const runtime_internal::raw_address& raw);
// Returns AF_INET, AF_INET6, AF_UNIX or AF_UNSPEC.
int raw_family(const address& a) noexcept;

// The two addresses of a connection, queried on first use. The queries are lazy because each costs a system
// call, and a server with many short connections never needs most of them.
class socket_addresses {
 public:
  socket_addresses(loop& on, runtime_internal::handle socket) noexcept : on_(on), socket_(socket) {}
  // The first call of each asks the kernel; later calls return the stored address. Returns address() when
  // memory is exhausted, and for what was not asked for while the socket was open. References stay valid.
  [[nodiscard]] const address& local() const noexcept;
  [[nodiscard]] const address& peer() const noexcept;
  // Queries both without storing them; leaves them as they are when memory is exhausted.
  void read(address& local, address& peer) const noexcept;
  // The socket is closed from now on.
  void socket_closed() noexcept { socket_ = runtime_internal::no_handle; }

 private:
  loop& on_;
  runtime_internal::handle socket_;
  mutable std::unique_ptr<const address> local_;
  mutable std::unique_ptr<const address> peer_;
};

}  // namespace coracle::net
