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

// The part of one server in the store of the manager (FileDescriptorStoreMax= of systemd.service(5)), which
// says how many descriptors it keeps: all of the server's sockets, or none. A socket that is kept is shared
// with the next process: its end here leaves the queue, and the file of a UNIX socket.
//
// Belongs to the handover of a server; lives on loop 0. Keeps nothing where there is no service manager.
class descriptor_store {
 public:
  descriptor_store(server_state& of, std::string path);

  // The socket that an earlier process has left at the address; without an acceptor if there is none. While
  // the server is set up, on any thread.
  [[nodiscard]] result<opened_socket> take(loop& on, const net::address& wanted, bool only_ipv6);
  // Ends what an earlier process has left at this port, and no server of this one listens at: it would keep
  // another address from being bound. Returns whether there was such a socket. As take().
  [[nodiscard]] bool end_others_at_port(loop& on, const net::address& wanted);

  // The server serves at all of its addresses: its sockets are kept from now on, and those that an earlier
  // process has left at other addresses are closed. Again after a later listen(). is_successor: this process
  // has taken over from one that the manager has started.
  void keep(bool is_successor) noexcept {
    is_successor_ = is_successor;
    wanted_.set();
  }
  // Talks to the manager until it is stopped. What the manager has not got by then is not kept.
  [[nodiscard]] task<> run();
  // The server ends, and the process may go on: nothing is kept any more.
  void end() noexcept;
  // The sockets are the successor's, apart from those at the addresses that it does not serve. Call it while
  // the manager follows this process.
  void leave_to_successor(const std::vector<net::address>& given_up) noexcept;

 private:
  struct request {
    std::uint64_t listener = 0;
    std::string name;
  };

  [[nodiscard]] task<> close_unused();
  void list_requests();
  [[nodiscard]] bool may_keep() const noexcept;
  [[nodiscard]] bool have_room();
  [[nodiscard]] task<bool> pass();
  // `of_listener`: whose descriptor it is; 0: none.
  [[nodiscard]] task<bool> send(std::string text, int descriptor, std::uint64_t of_listener);
  void settle(bool kept);
  void withdraw() noexcept;
  void forget(std::string_view name) noexcept;
  [[nodiscard]] server_listener* listener(std::uint64_t id) noexcept;
  void log(log_level level, std::string_view text) noexcept;

  server_state& server_;
  const std::string path_;
  event<> wanted_;
  std::vector<request> requests_;  // to be passed, or passed while others are not
  std::size_t reserved_ = 0;  // room for those of the requests that are not stored yet
  bool is_successor_ = false;
  bool is_left_ = false;  // to the successor
  bool refusal_logged_ = false;
};

}  // namespace coracle::server_internal
