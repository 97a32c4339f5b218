// network: the clock, the links and the sockets of a simulated world.
#pragma once

#include "runtime/sim/name_table.hpp"
#include "runtime/sim/seeded_random.hpp"
#include "runtime/sim/socket.hpp"
#include "runtime/sim/trace.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

namespace coracle::sim {

struct host_state {
  std::string name;
  std::uint64_t index = 0;
  endpoint ip;  // port 0
  std::map<io::handle, std::uint64_t> handles;
  std::multimap<endpoint, std::uint64_t> listeners;
  std::multimap<endpoint, std::uint64_t> datagram_sockets;
  io::handle next_handle = 3;
  std::uint16_t next_port = 32768;
};

struct network_options {
  duration latency = std::chrono::microseconds(50);  // one way between hosts; a good local network
  std::size_t socket_buffer = 256 * 1024;            // what a direction holds until the reader takes it
};

// One thread, that of the world. Its functions only change state and queue completions at backends: no
// program's code runs inside them.
class network {
 public:
  network(std::uint64_t seed, const network_options& options);

  [[nodiscard]] time_point now() const noexcept { return now_; }
  [[nodiscard]] time_point next_event() const noexcept {
    return events_.empty() ? never : events_.top().when;
  }
  // Moves the clock, and lets happen what is due.
  void advance(time_point to);
  void run_due();
  [[nodiscard]] trace& traced() noexcept { return trace_; }
  [[nodiscard]] seeded_random& random() noexcept { return random_; }
  [[nodiscard]] name_table& names() noexcept { return names_; }

  host_state& add_host(std::string name);
  [[nodiscard]] host_state* find_host(std::string_view name) noexcept;

  // What a backend asks for on behalf of a host. Errors are -errno.
  socket& open(host_state& h, phase state);
  io::handle give_handle(socket& s);
  [[nodiscard]] socket& at(host_state& h, io::handle handle) noexcept;  // aborts when there is none
  [[nodiscard]] socket* find(std::uint64_t id) noexcept;
  std::int64_t listen(host_state& h, const endpoint& where, const io::listen_options& options);
  void connect(socket& s, const endpoint& to);
  std::int64_t open_datagram(host_state& h, const endpoint& where, const io::listen_options& options);
  std::int64_t connect_datagram(socket& s, const endpoint& to);
  io::handle accept(socket& listener);  // one must be pending
  void shut_down(socket& s);
  void close(socket& s, bool abort);
  // Takes up to into.size() bytes that have arrived.
  std::size_t read(socket& s, mutable_bytes into);
  bool signal(host_state& h, std::uint32_t bit);
  // Completes whatever waits on this socket and can go on.
  void progress(socket& s);

 private:
  enum class kind : std::uint8_t { knock, established, refused, bytes, end, reset, datagram, unreachable };
  struct event {
    time_point when;
    std::uint64_t order;  // of events at one time
    kind what;
    std::uint64_t to;
    std::uint64_t from;
    std::uint64_t amount;  // of bytes; how often it was tried (knock); errno (refused); which (datagram)
    friend bool operator>(const event& a, const event& b) noexcept {
      return a.when != b.when ? a.when > b.when : a.order > b.order;
    }
  };
  void schedule(time_point when, kind what, std::uint64_t to, std::uint64_t from, std::uint64_t amount = 0);
  // Behind everything that `from` has sent before.
  void send(socket& from, kind what, std::uint64_t amount = 0);
  void happen(const event& e);
  void knock(socket& from, const event& e);
  void progress_sending(socket& s);
  void push_send(socket& s);
  // Datagrams: between send and arrival, what the links do to them.
  void send_datagram(socket& s);
  void receive_datagram(socket& s);
  void progress_datagrams(socket& s);
  void arrive(const datagram& d);
  [[nodiscard]] host_state* host_of(const socket& from, const endpoint& to) noexcept;
  using by_name = std::multimap<endpoint, std::uint64_t>;
  [[nodiscard]] bool in_use(const by_name& names, const endpoint& where, bool reuse_port);
  // Takes the name, with a port where none was wanted. 0 or -errno.
  int name(host_state& h, const by_name& names, endpoint& where, bool reuse_port);
  [[nodiscard]] socket* socket_for(const by_name& names, const endpoint& to);
  [[nodiscard]] duration latency_to(const socket& from, const host_state* to) const noexcept;
  [[nodiscard]] bool owns(const host_state& h, const endpoint& where) const noexcept;
  static void finish(io::operation*& op, std::int64_t result) noexcept;

  network_options options_;
  time_point now_;
  seeded_random random_;
  trace trace_;
  name_table names_;
  std::uint64_t next_order_ = 0;
  std::uint64_t next_socket_ = 1;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::vector<std::unique_ptr<host_state>> hosts_;
  std::unordered_map<std::uint64_t, std::unique_ptr<socket>> sockets_;
  std::uint64_t next_datagram_ = 0;
  std::map<std::uint64_t, datagram> datagrams_on_way_;
};

}  // namespace coracle::sim
