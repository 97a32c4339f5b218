// connection_ends: the two addresses of a connection, asked for when somebody wants to know.
#pragma once

#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/backend.hpp"

#include <memory>

namespace coracle::net {

// A server with many short connections never looks at most of them, and each costs a system call.
class connection_ends {
 public:
  connection_ends(loop& on, runtime_internal::handle socket) noexcept : on_(on), socket_(socket) {}
  // While the socket is open, or after it was asked for while it was; address() when there is no memory for it.
  // References stay valid.
  [[nodiscard]] const address& local() const noexcept;
  [[nodiscard]] const address& peer() const noexcept;

 private:
  loop& on_;
  const runtime_internal::handle socket_;
  mutable std::unique_ptr<const address> local_;
  mutable std::unique_ptr<const address> peer_;
};

}  // namespace coracle::net
