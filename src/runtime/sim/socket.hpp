// socket: one end of a simulated connection, a listener, or a source of signals.
#pragma once

#include "base/output_buffer.hpp"
#include "coracle/base/clock.hpp"
#include "runtime/backend.hpp"
#include "runtime/sim/endpoint.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
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
  bool resting = false;  // pausing after exhaustion
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

// The network owns sockets and finds them by an id that is never reused, so that a late event never reaches
// another socket.
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
  bool send_resting = false;  // a part of a send was taken; the socket is full
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
  std::uint32_t signals_come = 0;

  [[nodiscard]] bool readable() const noexcept {
    return arrived > 0 || end_arrived || broken != 0 || !pending.empty() || signals_come != 0 ||
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

}  // namespace coracle::sim
