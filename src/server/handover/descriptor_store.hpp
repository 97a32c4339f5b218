// descriptor_store: lets the service manager keep the listening sockets of a server, so that connections wait
// for the next process while the service restarts, also after a crash.
#pragma once

#include "coracle/base/log.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/net/address.hpp"
#include "server/handover/succession.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::server_internal {

class server_listener;
class server_state;

// The part of one server in the store of the manager (FileDescriptorStoreMax= of systemd.service(5)).
//
// The manager does not say whether it keeps what it gets, so this asks in another way: a pipe is passed after
// the sockets, and if the manager closes it, it has no store, or no room for all of them; it is asked to
// forget all then. A socket that is kept is shared with the next process: its end here leaves the queue, and
// the file of a UNIX socket.
//
// Belongs to the handover of a server; lives on loop 0. Keeps nothing where there is no service manager.
class descriptor_store {
 public:
  descriptor_store(server_state& of, std::string path);

  // The socket that an earlier process has left at the address; without an acceptor if there is none. While
  // the server is set up, on any thread.
  [[nodiscard]] result<opened_socket> take(loop& on, const net::address& wanted);

  // The server serves at all of its addresses: its sockets are kept from now on, and those that an earlier
  // process has left at other addresses are closed. Again after a later listen().
  void keep() noexcept { wanted_.set(); }
  // Talks to the manager until it is stopped. What the manager has not confirmed by then is not kept.
  [[nodiscard]] task<> run();
  // The sockets are the successor's, apart from those at the addresses that it does not serve. Call it while
  // the manager follows this process.
  void leave_to_successor(const std::vector<net::address>& given_up) noexcept;

 private:
  struct pipe;
  struct request {
    std::uint64_t listener = 0;
    std::string name;
  };

  [[nodiscard]] task<> close_unused();
  void list_requests();
  [[nodiscard]] task<bool> ask();
  // `of_listener`: whose descriptor it is; 0: the caller's.
  [[nodiscard]] task<bool> send(std::string text, int descriptor, std::uint64_t of_listener);
  void settle(bool kept);
  void withdraw() noexcept;
  void forget(std::string_view name) noexcept;
  [[nodiscard]] server_listener* listener(std::uint64_t id) noexcept;
  void log(log_level level, const std::string& text) noexcept;

  server_state& server_;
  const std::string path_;
  event<> wanted_;
  std::vector<request> requests_;  // passed, and neither confirmed nor withdrawn
  bool refusal_logged_ = false;
};

}  // namespace coracle::server_internal
