// succession: the side of the new process: it takes the listening sockets of the process that it replaces.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/runtime/runtime.hpp"
#include "net/acceptor.hpp"
#include "runtime/kernel/packet_socket.hpp"
#include "server/handover/protocol.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

// A listening socket with what it was made for.
struct opened_socket {
  std::unique_ptr<net::acceptor> acceptor;
  handover_protocol::socket_name name;
  // Of a socket that a predecessor has passed on; lives as long as this process listens at it.
  std::shared_ptr<const void> claim{};
  // Of a socket that the service manager keeps: its name there; lives as long, too.
  std::shared_ptr<const std::string> stored_as{};
};

// Of a listening socket that was opened elsewhere; none if it is no socket.
[[nodiscard]] net::address local_address_of(loop& on, int descriptor);

// Owns the path of a handover, or what it has got from the process that owns it. Belongs to the handover of a
// server. begin() and the functions that take sockets run while the server is set up, on any thread; the
// others on loop 0. Neither the constructor nor the destructor blocks. If it is destroyed before
// take_possession(), the predecessor goes on serving. The caller excludes that close() and the functions that
// take sockets run at the same time.
class succession {
 public:
  succession(const runtime& clock, std::string path) : clock_(clock), path_(std::move(path)) {}

  // Blocks. Connects to the process at the path and takes its sockets, or takes the path if there is no such
  // process. Fails with a message that says how to fix it.
  [[nodiscard]] status begin();
  [[nodiscard]] bool has_predecessor() const noexcept { return connection_.is_open(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // The socket that listens at the address; without an acceptor if there is none. A wanted port of 0 stands
  // for a socket that was made for port 0. only_ipv6: "[::]" must be for IPv6 alone, or else for IPv4, too.
  [[nodiscard]] result<opened_socket> take(loop& on, const net::address& wanted, bool only_ipv6);
  // Those of the service manager that have this name, or all for an empty name.
  [[nodiscard]] result<std::vector<opened_socket>> take_of_manager(loop& on, std::string_view name);

  // From now on no socket is taken: what was not taken, or is not listened at any more, stays with the
  // predecessor. Call it before take_possession().
  void close();
  // Tells the predecessor that the server serves, and waits until everything belongs to this process. Calls
  // `paused` when the predecessor has stopped accepting. Fails if the predecessor goes on instead: this
  // process must end then. A predecessor that has refused it sees by the connection, until abandon(), that
  // this process still listens at its sockets.
  [[nodiscard]] task<status> take_possession(const std::function<void()>& paused);
  // After take_possession() has failed: others may try to take over from now on.
  void give_up() noexcept;
  // Ends the conversation with the predecessor, which goes on serving. Any thread, after take_possession().
  void abandon() noexcept;
  // After take_possession(): why take_control() returns none, so that no process can connect at the path.
  [[nodiscard]] const status& path_failed() const noexcept { return path_failed_; }

  // The descriptor at which successors connect; from now on the caller's. Others may take the path, too.
  [[nodiscard]] runtime_internal::kernel::owned_descriptor take_control() noexcept;

 private:
  struct passed_socket {
    runtime_internal::kernel::owned_descriptor descriptor;
    handover_protocol::socket_name name;
    net::address local;
    std::weak_ptr<const void> claim{};
    [[nodiscard]] bool taken() const noexcept { return !claim.expired(); }
  };

  [[nodiscard]] status lock();
  // Binds the path, where no process listens.
  [[nodiscard]] status take_path();
  // said_nothing: the process has ended, or is ending, and another one may have the path next.
  [[nodiscard]] status receive_sockets(time_point end, bool& said_nothing);
  [[nodiscard]] status failure(std::int64_t error, std::string_view action) const;
  [[nodiscard]] result<opened_socket> adopt(loop& on, passed_socket& s);
  [[nodiscard]] task<status> until_possession(const std::function<void()>& paused);
  // None: the predecessor has ended.
  [[nodiscard]] task<result<std::optional<handover_protocol::message>>> next_message();

  const runtime& clock_;
  const std::string path_;
  runtime_internal::kernel::owned_descriptor lock_;
  runtime_internal::kernel::owned_descriptor connection_;  // to the predecessor
  runtime_internal::kernel::owned_descriptor control_;
  std::vector<passed_socket> sockets_;
  std::vector<std::size_t> taken_;  // by close()
  status path_failed_;
  bool closed_ = false;
  bool is_refused_ = false;
};

}  // namespace coracle::server_internal
