// stored_sockets: the listening sockets that the service manager keeps for the processes of a service.
#pragma once

#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "runtime/kernel/packet_socket.hpp"
#include "server/handover/succession.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

// The longest that the manager accepts (FDNAME= of sd_notify(3)).
inline constexpr std::size_t stored_name_bytes_max = 255;
// The name of a socket in the manager's store, which says whose it is: that of the server with this handover
// path. `any_port`: it was made for port 0. Two sockets never have the same name.
[[nodiscard]] std::string stored_name(std::string_view path, const net::address& local, bool any_port);

// One for the process, because the manager's store is: it begins with what an earlier process has left there
// (LISTEN_FDS), and what a server leaves, the next server of the process finds. Any thread.
class stored_sockets {
 public:
  static stored_sockets& of_process();

  // The socket that listens at the address, whichever server has left it; one for any port only to a server
  // with the same path, and one for IPv6 only if it takes IPv4 connections, or not, as is wanted. Without an
  // acceptor if there is none.
  [[nodiscard]] result<opened_socket> take(loop& on, const net::address& wanted, std::string_view path,
                                           bool only_ipv6);
  // Removes those that keep the address from being bound and at which no server listens, and ends listening
  // at them, also in other processes. Returns their names.
  [[nodiscard]] std::vector<std::string> end_at_port(loop& on, const net::address& wanted);
  // The manager keeps the socket from now on, too. The descriptor stays the caller's. Returns the claim of
  // the listener. Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const std::string> add(std::string name, int descriptor);
  // The names of the sockets of the server with this path at which no server of this process listens. Throws
  // std::bad_alloc.
  [[nodiscard]] std::vector<std::string> unused(std::string_view path);
  // Reserves room for so many more, of at most so many; each add() uses one. Returns how many there would
  // have to be, if there is no room.
  [[nodiscard]] std::optional<std::size_t> lacks_room(std::size_t more, std::size_t most) noexcept;
  void give_up_room(std::size_t reserved) noexcept;
  void remove(std::string_view name) noexcept;
  // The same, unless a server listens at it. Returns whether it was removed.
  bool remove_unused(std::string_view name) noexcept;

 private:
  struct stored_socket {
    runtime_internal::kernel::owned_descriptor descriptor;
    std::string name;
    std::weak_ptr<const std::string> claim;
  };
  stored_sockets();

  std::mutex mutex_;
  std::vector<stored_socket> sockets_;
  std::size_t reserved_ = 0;
};

}  // namespace coracle::server_internal
