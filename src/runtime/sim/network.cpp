#include "runtime/sim/network.hpp"

#include "coracle/base/assert.hpp"
#include "runtime/sim/sim_backend.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::sim {

namespace {

// As Linux: a knock at a listener whose queue is full is repeated, then given up.
constexpr duration knock_again = std::chrono::seconds(1);
constexpr std::uint64_t knocks = 6;
// What poll() says.
constexpr std::int64_t poll_readable = 1;
constexpr std::int64_t poll_writable = 4;

}  // namespace

network::network(std::uint64_t seed, const network_options& options)
    : options_(options), now_(time_point(std::chrono::hours(1))), random_(seed) {}

void network::advance(time_point to) {
  CORACLE_ASSERT(to >= now_, "virtual time does not go back");
  now_ = to;
  run_due();
}

void network::run_due() {
  while (!events_.empty() && events_.top().when <= now_) {
    const event e = events_.top();
    events_.pop();
    happen(e);
  }
}

void network::schedule(time_point when, kind what, std::uint64_t to, std::uint64_t from,
                       std::uint64_t amount) {
  events_.push({when, next_order_++, what, to, from, amount});
}

void network::send(socket& from, kind what, std::uint64_t amount) {
  from.last_arrival = std::max(from.last_arrival, deadline_after(now_, from.latency));
  schedule(from.last_arrival, what, from.other, from.id, amount);
}

void network::happen(const event& e) {
  socket* to = find(e.to);
  if (e.what == kind::knock) {
    if (socket* from = find(e.from)) knock(*from, e);
    return;
  }
  if (e.what == kind::datagram) {
    const auto found = datagrams_on_way_.find(e.amount);
    const datagram arrived = std::move(found->second);
    datagrams_on_way_.erase(found);
    return arrive(arrived);
  }
  if (!to) {
    // Whoever speaks to a closed socket is told so (RFC 9293 3.5.2).
    socket* from = find(e.from);
    if (from && (e.what == kind::bytes || e.what == kind::established))
      schedule(deadline_after(now_, from->latency), kind::reset, e.from, e.to);
    return;
  }
  switch (e.what) {
    case kind::established:
      to->state = phase::connected;
      to->other = e.from;
      break;
    case kind::refused:
      trace_.add(now_, event_kind::refuse, to->id, e.amount);
      to->broken = static_cast<int>(e.amount);
      break;
    case kind::bytes:
      trace_.add(now_, event_kind::bytes, to->id, e.amount);
      to->arrived += e.amount;
      break;
    case kind::end:
      trace_.add(now_, event_kind::end, to->id);
      to->end_arrived = true;
      break;
    case kind::reset:
      trace_.add(now_, event_kind::reset, to->id);
      if (to->broken == 0) to->broken = ECONNRESET;
      break;
    case kind::unreachable: to->datagram_error = static_cast<int>(e.amount); break;
    case kind::datagram:
    case kind::knock: break;
  }
  progress(*to);
}

void network::knock(socket& from, const event& e) {
  host_state* host = host_of(from, from.peer);
  socket* listener = host ? socket_for(host->listeners, from.peer) : nullptr;
  if (!listener) {
    const bool no_file = from.peer.kind == endpoint::family::local;
    const int error = no_file ? ENOENT : host ? ECONNREFUSED : EHOSTUNREACH;
    return schedule(deadline_after(now_, from.latency), kind::refused, from.id, 0,
                    static_cast<std::uint64_t>(error));
  }
  if (listener->pending.size() >= listener->backlog) {
    if (e.amount + 1 < knocks)
      return schedule(deadline_after(now_, knock_again), kind::knock, 0, from.id, e.amount + 1);
    return schedule(now_, kind::refused, from.id, 0, ETIMEDOUT);
  }
  socket& answer = open(*host, phase::connected);
  answer.local = from.peer;
  answer.peer = from.local;
  answer.other = from.id;
  answer.latency = from.latency;
  listener->pending.push_back(answer.id);
  send(answer, kind::established);
  progress(*listener);
}

void network::finish(io::operation*& op, std::int64_t result) noexcept {
  io::operation& ended = *std::exchange(op, nullptr);
  sim_backend::of(ended).finish(ended, result);
}

void network::progress(socket& s) {
  if (s.state == phase::datagrams) return progress_datagrams(s);
  if (s.connect_op) {
    if (s.broken != 0) finish(s.connect_op, -s.broken);
    else if (s.state == phase::connected) finish(s.connect_op, 0);
  }
  if (s.receive_op && s.readable()) {
    if (s.arrived > 0) finish(s.receive_op, static_cast<std::int64_t>(read(s, s.receive_op->into)));
    else finish(s.receive_op, s.broken != 0 ? -s.broken : 0);
  }
  progress_sending(s);
  if (s.accept_op && !s.pending.empty()) finish(s.accept_op, accept(s));
  if (s.poll_in_op && s.readable()) finish(s.poll_in_op, poll_readable);
  if (s.receiver && s.readable()) s.receiver->on->queue(*s.receiver);
  if (s.acceptor && s.readable()) s.acceptor->on->queue(*s.acceptor);
}

void network::progress_sending(socket& s) {
  push_send(s);
  if (!s.poll_out_op || s.state != phase::connected) return;
  const socket* peer = find(s.other);
  if (s.broken != 0 || !peer || peer->incoming.size() < options_.socket_buffer)
    finish(s.poll_out_op, poll_writable);
}

void network::push_send(socket& s) {
  io::operation* op = s.send_op;
  if (!op) return;
  if (s.broken != 0) return finish(s.send_op, -s.broken);
  if (s.end_sent) return finish(s.send_op, -EPIPE);
  if (s.state != phase::connected) return finish(s.send_op, -ENOTCONN);
  socket* peer = find(s.other);  // none: it is closed, and answers what arrives by a reset
  const std::size_t taken = peer ? std::min(options_.socket_buffer, peer->incoming.size()) : 0;
  std::size_t room = options_.socket_buffer - taken;
  send_progress& done = sim_backend::progress_of(*op);
  std::size_t moved = 0;
  while (done.piece < op->piece_count && (room > 0 || op->pieces[done.piece].size == done.offset)) {
    const io::operation::piece& p = op->pieces[done.piece];
    const std::size_t n = std::min(room, p.size - done.offset);
    if (peer) peer->incoming.append({static_cast<const std::uint8_t*>(p.data) + done.offset, n});
    room -= n;
    moved += n;
    done.offset += n;
    if (done.offset == p.size) {
      ++done.piece;
      done.offset = 0;
    }
  }
  done.total += moved;
  if (moved > 0) send(s, kind::bytes, moved);
  if (done.piece == op->piece_count) finish(s.send_op, static_cast<std::int64_t>(done.total));
}

std::size_t network::read(socket& s, mutable_bytes into) {
  const std::size_t n = std::min(into.size(), s.arrived);
  const bytes_view taken = s.incoming.pending().first(n);
  std::copy(taken.begin(), taken.end(), into.begin());
  s.incoming.consume(n);
  s.arrived -= n;
  if (socket* peer = find(s.other)) progress_sending(*peer);  // there is room again
  return n;
}

}  // namespace coracle::sim
