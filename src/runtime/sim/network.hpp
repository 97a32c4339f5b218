// network: the clock, the links and the sockets of a simulated world.
#pragma once

#include "base/output_buffer.hpp"
#include "coracle/base/clock.hpp"
#include "coracle/runtime/sim_faults.hpp"
#include "runtime/backend.hpp"
#include "runtime/sim/endpoint.hpp"
#include "runtime/sim/name_table.hpp"
#include "runtime/sim/seeded_random.hpp"
#include "runtime/sim/trace.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace coracle::sim {

class sim_backend;
struct host_state;

// An active multishot source. The backend on which it was started owns it until ended() was called.
struct receiving {
  runtime_internal::receive_source* source;
  std::uint64_t socket;
  sim_backend* on;
  bool paused = false;
  bool stopping = false;
  bool queued = false;
};
struct accepting {
  runtime_internal::accept_source* source;
  std::uint64_t socket;
  sim_backend* on;
  bool stopping = false;
  bool queued = false;
  bool pausing = false;  // pausing after exhaustion
};

enum class phase : std::uint8_t { fresh, listening, connecting, connected, signals, datagrams };

// A datagram in transit, or one that has arrived and was not read yet.
struct datagram {
  std::uint64_t from_socket;
  host_state* at;  // the destination
  endpoint from;
  endpoint to;
  std::vector<std::uint8_t> bytes;
};

// One end of a connection, a listener, a datagram socket, or a source of signals. The network owns sockets
// and finds them by an id that is never reused, so that a late event never reaches another socket.
struct socket {
  std::uint64_t id = 0;
  host_state* owner = nullptr;
  runtime_internal::handle handle = runtime_internal::no_handle;  // none before it is accepted
  phase state = phase::fresh;
  endpoint local;
  endpoint peer;
  std::uint64_t other = 0;  // the peer's socket

  // Receiving: what the peer has sent and the program has not read. The first `arrived` bytes can be read,
  // the rest is in transit. The sender's window limits its size.
  base::output_buffer incoming;
  std::size_t arrived = 0;
  bool end_arrived = false;
  int broken = 0;  // errno of a broken connection

  bool end_sent = false;
  bool send_pausing = false;  // a part of a send was taken; the socket is full
  duration latency{};  // of the link to the peer

  // Waiting operations. At most one of each kind; the users of the backend ensure this.
  runtime_internal::operation* connect_op = nullptr;
  runtime_internal::operation* receive_op = nullptr;
  runtime_internal::operation* send_op = nullptr;
  runtime_internal::operation* accept_op = nullptr;
  runtime_internal::operation* poll_in_op = nullptr;
  runtime_internal::operation* poll_out_op = nullptr;
  receiving* receiver = nullptr;
  accepting* acceptor = nullptr;

  // Listening.
  std::size_t backlog = 0;
  bool reuse_port = false;
  std::deque<std::uint64_t> pending;

  // Datagrams that have arrived. `peer` is the peer that was set, or none.
  std::deque<datagram> datagrams;
  std::size_t datagram_bytes = 0;
  int datagram_error = 0;  // errno for the next operation

  std::uint32_t signals_watched = 0;
  std::uint32_t signals_pending = 0;

  [[nodiscard]] bool readable() const noexcept {
    return arrived > 0 || end_arrived || broken != 0 || !pending.empty() || signals_pending != 0 ||
           !datagrams.empty() || datagram_error != 0;
  }
  [[nodiscard]] std::array<runtime_internal::operation**, 6> waiting() noexcept {
    return {&connect_op, &receive_op, &send_op, &accept_op, &poll_in_op, &poll_out_op};
  }
  [[nodiscard]] bool idle() const noexcept {
    return !connect_op && !receive_op && !send_op && !accept_op && !poll_in_op && !poll_out_op && !receiver &&
           !acceptor;
  }
};

// Owned by the network; remains when the host crashes.
struct host_state {
  static constexpr std::uint16_t first_port = 32768;
  std::uint16_t take_port() noexcept {
    const std::uint16_t port = next_port++;
    if (next_port == 0) next_port = first_port;
    return port;
  }
  std::string name;
  std::uint64_t index = 0;
  endpoint ip;  // port 0
  std::map<runtime_internal::handle, std::uint64_t> handles;
  std::multimap<endpoint, std::uint64_t> listeners;
  std::multimap<endpoint, std::uint64_t> datagram_sockets;
  runtime_internal::handle next_handle = 3;
  std::uint16_t next_port = first_port;  // the next ephemeral port
  bool down = false;
  std::uint64_t crashes = 0;
  duration clock_shift{};  // of its wall clock
};

// The content of a packet. A probe has none: it checks whether the peer is still there, like TCP's probe of a
// closed window.
enum class packet_kind : std::uint8_t { established, bytes, end, reset, probe };

struct packet {
  packet_kind type;
  std::uint64_t amount;  // in bytes
  time_point when;  // time of arrival
};

// One direction of a connection. Owned by the network, which finds it by its sender's socket. It outlives
// that socket until its last packet has arrived or was given up.
struct wire {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  host_state* from_host = nullptr;
  host_state* to_host = nullptr;
  duration latency{};
  std::deque<packet> in_flight;  // in order of arrival
  std::uint64_t bytes_in_flight = 0;
  bool blackholed = false;  // a fault: nothing will arrive any more
  bool stalled = false;  // the first packet could not pass; it waits for a retransmission
  std::uint64_t stalls = 0;  // the number of the current stall
  bool sender_gone = false;
};

struct network_options {
  duration latency = std::chrono::microseconds(50);  // one way between hosts; a good local network
  std::size_t socket_buffer = 256 * 1024;  // capacity of a direction until the reader takes the bytes
};

// Runs on one thread, that of the world. Its functions only change state and queue completions at backends:
// no program code runs inside them.
class network {
 public:
  network(std::uint64_t seed, const network_options& options);

  [[nodiscard]] time_point now() const noexcept { return now_; }
  [[nodiscard]] time_point next_event() const noexcept {
    return events_.empty() ? never : events_.top().when;
  }
  // advance() moves the clock; run_due() performs the events that are due.
  void advance(time_point to);
  void run_due();
  [[nodiscard]] trace& traced() noexcept { return trace_; }
  [[nodiscard]] seeded_random& random() noexcept { return random_; }
  [[nodiscard]] name_table& names() noexcept { return names_; }
  // The faults from now on; read at each decision.
  faults going_wrong;

  host_state& add_host(std::string name);
  [[nodiscard]] host_state* find_host(std::string_view name) noexcept;

  // What backends request on behalf of a host. Errors are -errno.
  socket& open(host_state& h, phase state);
  runtime_internal::handle give_handle(socket& s);
  [[nodiscard]] socket& at(host_state& h,
                           runtime_internal::handle handle) noexcept;  // aborts when there is none
  [[nodiscard]] socket* find(std::uint64_t id) noexcept;
  std::int64_t listen(host_state& h, const endpoint& where, const runtime_internal::listen_options& options);
  // Sets the local address of a connection before connect(). Ports that other connections use do not matter.
  std::int64_t bind(socket& s, const endpoint& at);
  void connect(socket& s, const endpoint& to);
  std::int64_t open_datagram(host_state& h, const endpoint& where,
                             const runtime_internal::listen_options& options);
  std::int64_t connect_datagram(socket& s, const endpoint& to);
  // Connects two new sockets of one host to each other.
  void join(socket& a, socket& b);
  runtime_internal::handle accept(socket& listener);  // a connection must be pending
  void accept_later(socket& listener, duration rest);
  void shut_down(socket& s);
  void close(socket& s, bool abort);
  // Takes up to into.size() bytes that have arrived.
  std::size_t read(socket& s, mutable_bytes into);
  bool signal(host_state& h, std::uint32_t bit);
  // Completes the operations that wait on this socket and can proceed.
  void progress(socket& s);
  // Returns true, and adds it to the trace, when a fault makes the host lack a resource at this moment
  // (EMFILE, ENOBUFS).
  bool lacks_resource(const host_state& h, int error);

  // Explicit faults. The link between a host and itself is never cut.
  void cut(host_state& a, host_state& b);
  void heal(host_state& a, host_state& b);
  void heal_all();
  // Simulates a power loss: the host's sockets disappear silently, operations that wait on them end with
  // -ECANCELED, and a part of the data that it had in transit is lost. Nothing reaches the host until
  // come_up().
  void go_down(host_state& h);
  void come_up(host_state& h);
  void jump_clock(host_state& h, duration by);

 private:
  enum class kind : std::uint8_t {
    connect_attempt,
    refused,
    arrival,
    time_out,
    reset,
    queued,
    pause_over,
    writable,
    datagram,
    unreachable,
  };
  struct event {
    time_point when;
    std::uint64_t order;  // among events of the same time
    kind type;
    std::uint64_t to;  // a socket, or a wire by its sender
    // The number of tries (knock), the errno (refused, unreachable), the number of the stall (time_out), the
    // new socket (queued) or the datagram (datagram).
    std::uint64_t amount;
    friend bool operator>(const event& a, const event& b) noexcept {
      return a.when != b.when ? a.when > b.when : a.order > b.order;
    }
  };
  void schedule(time_point when, kind type, std::uint64_t to, std::uint64_t amount = 0);
  void happen(const event& e);
  void connect_attempt(socket& from, std::uint64_t tries);
  void answer(socket& listener, socket& from);
  void queue_at(socket& listener, std::uint64_t newcomer);
  void break_off(socket& s, int error);

  // Wires: bytes in transit.
  void make_wire(socket& from, std::uint64_t to, host_state& to_host);
  // Queues the packet after everything that `from` has sent before.
  void send(socket& from, packet_kind type, std::uint64_t amount = 0);
  [[nodiscard]] duration transit_time(const wire& w, packet_kind type);
  bool apply_faults(socket& from, wire& w, packet_kind type);
  void arrive(wire& w);
  void deliver(const wire& w, const packet& p);
  void stall(wire& w);
  void time_out(wire& w);
  void forget_sender(std::uint64_t id, bool powerless);
  [[nodiscard]] bool unreachable(const host_state& a, const host_state& b) const noexcept;
  [[nodiscard]] bool blocked(const wire& w) const noexcept;
  void probe_if_closed(socket& s);
  void resume_wires();
  void discard(socket& s);

  void progress_sending(socket& s);
  void push_send(socket& s);
  // Datagrams: the effects of the links between send and arrival.
  void send_datagram(socket& s);
  void put_in_flight(const socket& from, const datagram& d);
  void receive_datagram(socket& s);
  void progress_datagrams(socket& s);
  void arrive(const datagram& d);
  [[nodiscard]] std::size_t room_for(const socket& s);
  [[nodiscard]] host_state* host_of(const socket& from, const endpoint& to) noexcept;
  using by_name = std::multimap<endpoint, std::uint64_t>;
  [[nodiscard]] bool in_use(const by_name& names, const endpoint& where, bool reuse_port);
  // Binds the name, and assigns a port if none was given. Returns 0 or -errno.
  int name(host_state& h, const by_name& names, endpoint& where, bool reuse_port);
  [[nodiscard]] socket* socket_for(const by_name& names, const endpoint& to);
  [[nodiscard]] duration latency_to(const socket& from, const host_state* to) const noexcept;
  [[nodiscard]] bool owns(const host_state& h, const endpoint& where) const noexcept;
  static void finish(runtime_internal::operation*& op, std::int64_t result) noexcept;

  network_options options_;
  time_point now_;
  seeded_random random_;
  trace trace_;
  name_table names_;
  std::uint64_t next_order_ = 0;
  std::uint64_t next_socket_ = 1;
  std::priority_queue<event, std::vector<event>, std::greater<>> events_;
  std::vector<std::unique_ptr<host_state>> hosts_;
  std::map<std::uint64_t, std::unique_ptr<socket>> sockets_;
  std::map<std::uint64_t, wire> wires_;  // by sender
  std::set<std::pair<std::uint64_t, std::uint64_t>> cuts_;  // pairs of hosts, the smaller index first
  std::uint64_t next_datagram_ = 0;
  std::map<std::uint64_t, datagram> datagrams_in_flight_;
};

}  // namespace coracle::sim
