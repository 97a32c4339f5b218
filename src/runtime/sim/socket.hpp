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

// A multishot source at work. The backend that it was started on owns it, until ended() was called.
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
  bool resting = false;  // out of descriptors a moment ago
};

enum class phase : std::uint8_t { fresh, listening, connecting, connected, signals, datagrams };

// One that is on its way, or that has arrived and nobody has read.
struct datagram {
  std::uint64_t from_socket;
  host_state* at;  // where it goes
  endpoint from;
  endpoint to;
  std::vector<std::uint8_t> bytes;
};

// The network owns sockets and finds them by an id that is never used again, so that a late event meets
// nobody rather than somebody else.
struct socket {
  std::uint64_t id = 0;
  host_state* owner = nullptr;
  runtime_internal::handle handle = runtime_internal::no_handle;  // none until it was accepted
  phase state = phase::fresh;
  endpoint local;
  endpoint peer;
  std::uint64_t other = 0;  // the peer's socket

  // Receiving: what the peer has sent and nobody has read; the first `arrived` bytes of it can be read, the
  // rest is on its way. Its size is what the sender's window bounds.
  base::output_buffer incoming;
  std::size_t arrived = 0;
  bool end_arrived = false;
  int broken = 0;  // errno of a connection that is no more

  bool end_sent = false;
  bool send_resting = false;  // a part of a send was taken, the socket takes no more just now
  duration latency{};  // of the link to the peer

  // Waiting. One of each kind, as the backend's users keep it.
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

  // Datagrams that have arrived. `peer` is the one that was fixed, or none.
  std::deque<datagram> datagrams;
  std::size_t datagram_bytes = 0;
  int datagram_error = 0;  // errno that the next operation takes

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
