// predecessor: the side of the process that is replaced: one conversation with a successor.
#pragma once

#include "coracle/coro/event.hpp"
#include "coracle/coro/task.hpp"
#include "runtime/kernel/packet_socket.hpp"
#include "server/handover/protocol.hpp"
#include "server/server_state.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::server_internal {

class server_listener;
class shard;
class successor_process;

// Passes the sockets of a server on to a process that has connected, until the process has everything or has
// failed. Lives in the coroutine that serves the path of a handover, on loop 0.
class predecessor {
 public:
  // `hurry`: the server was told to end; a successor that serves already then gets everything at once.
  // `child`: told when the successor serves.
  predecessor(server_state& of, runtime_internal::kernel::owned_descriptor connection, int control,
              event<>& hurry, successor_process& child);
  ~predecessor();

  // True if the successor has everything; the server must drain then. Otherwise the server serves as before,
  // and the log says why.
  [[nodiscard]] task<bool> run();
  [[nodiscard]] std::int64_t peer_process_id() const noexcept { return peer_process_id_; }
  // Until the end of the conversation, whatever that is.
  [[nodiscard]] bool peer_serves() const noexcept { return peer_serves_; }
  [[nodiscard]] bool has_passed_sockets() const noexcept { return !passed_.empty(); }
  // Refuses anew what could not be refused, or ends the conversation without run(), when there is no memory:
  // the server serves as before. Allocates no memory.
  void refuse_at_once() noexcept;
  // The conversation is cut off, and the sockets are the successor's from now on.
  void leave_sockets() noexcept { keeps_sockets_ = false; }
  // The process of the successor has ended: the sockets are this process's alone.
  void peer_has_ended() noexcept { peer_is_out_ = true; }
  // Whether the successor may take the sockets for its own if the connection ends: it has got them, does not
  // know that it gets nothing, and has not ended.
  [[nodiscard]] bool may_be_mistaken() const noexcept { return has_passed_sockets() && !peer_is_out_; }
  // The connection to the successor, when the conversation is over; from now on the caller's.
  [[nodiscard]] runtime_internal::kernel::owned_descriptor take_connection() noexcept;
  // After run() returned true: the addresses that the successor does not serve.
  [[nodiscard]] const std::vector<net::address>& given_up() const noexcept { return given_up_; }

 private:
  using message = handover_protocol::message;

  [[nodiscard]] bool is_trusted();
  [[nodiscard]] task<std::optional<message>> receive(duration within, std::string& why_not);
  bool send(message::kind what);
  void refuse(std::string reason);
  [[nodiscard]] std::string why_not_ready(const std::optional<message>& ready, const std::string& otherwise);
  [[nodiscard]] std::string pass_sockets(shard& s);
  // The listeners that the successor serves, as far as they still exist.
  [[nodiscard]] std::vector<server_listener*> taken(shard& s);
  [[nodiscard]] task<> pause_listeners();
  void resume_listeners() noexcept;
  [[nodiscard]] task<bool> send_goaways();
  void share(bool with_successor) noexcept;
  void log(log_level level, const std::string& text);

  server_state& server_;
  loop& on_;
  runtime_internal::kernel::owned_descriptor connection_;
  const int control_;
  event<>& hurry_;
  successor_process& child_;
  std::int64_t peer_process_id_ = 0;
  std::string refusal_;  // that was tried
  std::vector<std::uint64_t> passed_;  // the ids of the listeners, in the order of the messages
  std::vector<std::size_t> taken_;  // which of them the successor serves
  std::vector<net::address> given_up_;
  bool peer_serves_ = false;
  bool keeps_sockets_ = true;
  // It has ended, or knows that it gets nothing. Until then it may serve with the sockets that it has got:
  // closing them here must not take them away.
  bool peer_is_out_ = false;
};

}  // namespace coracle::server_internal
