// The network's events, and how bytes move between sockets.
#include "runtime/sim/network.hpp"

#include "coracle/base/impl/assert.hpp"
#include "runtime/sim/sim_backend.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::sim {

namespace {

// As Linux: a knock that nobody answers is repeated, then given up.
constexpr duration knock_again = std::chrono::seconds(1);
constexpr std::uint64_t knocks = 6;
// How long a socket that took a part of a send may refuse the rest.
constexpr duration rest_of_send_max = std::chrono::milliseconds(1);
// What poll() says.
constexpr std::int64_t poll_readable = 1;
constexpr std::int64_t poll_writable = 4;

std::size_t bytes_left(runtime_internal::operation& op) noexcept {
  const send_progress& done = sim_backend::progress_of(op);
  std::size_t left = 0;
  for (std::size_t i = done.piece; i < op.piece_count; ++i) left += op.pieces[i].size;
  return left - done.offset;
}

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

void network::schedule(time_point when, kind what, std::uint64_t to, std::uint64_t amount) {
  events_.push({when, next_order_++, what, to, amount});
}

void network::happen(const event& e) {
  if (e.what == kind::arrival || e.what == kind::give_up) {
    const auto found = wires_.find(e.to);
    if (found == wires_.end() || found->second.stalls != e.amount) return;
    return e.what == kind::arrival ? arrive(found->second) : give_up(found->second);
  }
  if (e.what == kind::datagram) {
    const auto found = datagrams_on_way_.find(e.amount);
    const datagram arrived = std::move(found->second);
    datagrams_on_way_.erase(found);
    return arrive(arrived);
  }
  socket* to = find(e.to);
  if (!to) {
    if (e.what == kind::queued && find(e.amount)) close(*find(e.amount), true);
    return;
  }
  switch (e.what) {
    case kind::knock: return knock(*to, e.amount);
    case kind::queued: return queue_at(*to, e.amount);
    case kind::rested:
      if (to->acceptor) to->acceptor->resting = false;
      break;
    case kind::writable: to->send_resting = false; break;
    case kind::refused:
      trace_.add(now_, event_kind::refuse, to->id, e.amount);
      to->broken = static_cast<int>(e.amount);
      break;
    case kind::reset: return break_off(*to, ECONNRESET);
    case kind::unreachable: to->datagram_error = static_cast<int>(e.amount); break;
    case kind::datagram:
    case kind::arrival:
    case kind::give_up: break;
  }
  progress(*to);
}

void network::break_off(socket& s, int error) {
  trace_.add(now_, error == ECONNRESET ? event_kind::reset : event_kind::given_up, s.id,
             static_cast<std::uint64_t>(error));
  if (s.broken == 0) s.broken = error;
  progress(s);
}

void network::knock(socket& from, std::uint64_t tries) {
  host_state* host = host_of(from, from.peer);
  const bool unheard = host && (unreachable(*from.owner, *host) ||
                                (host != from.owner && random_.hits(going_wrong.packet_loss())));
  socket* listener = host && !unheard ? socket_for(host->listeners, from.peer) : nullptr;
  if (unheard || (listener && listener->pending.size() >= listener->backlog)) {
    if (tries + 1 < knocks)
      return schedule(deadline_after(now_, knock_again), kind::knock, from.id, tries + 1);
    return schedule(now_, kind::refused, from.id, ETIMEDOUT);
  }
  if (listener) return answer(*listener, from);
  const bool no_file = from.peer.kind == endpoint::family::local;
  const int error = no_file ? ENOENT : host ? ECONNREFUSED : EHOSTUNREACH;
  schedule(deadline_after(now_, from.latency), kind::refused, from.id, static_cast<std::uint64_t>(error));
}

void network::answer(socket& listener, socket& from) {
  socket& made = open(*listener.owner, phase::connected);
  made.local = from.peer;
  made.peer = from.local;
  made.other = from.id;
  made.latency = from.latency;
  lay_wire(made, from.id, *from.owner);
  lay_wire(from, made.id, *made.owner);
  send(made, packet_kind::established);
  if (random_.hits(going_wrong.slow_accepts()))
    return schedule(deadline_after(now_, random_.up_to(going_wrong.slow_accept())), kind::queued, listener.id,
                    made.id);
  queue_at(listener, made.id);
}

void network::queue_at(socket& listener, std::uint64_t newcomer) {
  if (!find(newcomer)) return;
  listener.pending.push_back(newcomer);
  progress(listener);
}

bool network::short_of(const host_state& h, int error) {
  const double chance = error == ENOBUFS ? going_wrong.no_buffers() : going_wrong.no_descriptors();
  if (!random_.hits(chance)) return false;
  trace_.add(now_, event_kind::refused_for_want, h.index, static_cast<std::uint64_t>(error));
  return true;
}

void network::finish(runtime_internal::operation*& op, std::int64_t result) noexcept {
  runtime_internal::operation& ended = *std::exchange(op, nullptr);
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
  if (s.accept_op && !s.pending.empty())
    finish(s.accept_op, short_of(*s.owner, EMFILE) ? -EMFILE : accept(s));
  if (s.poll_in_op && s.readable()) finish(s.poll_in_op, poll_readable);
  if (s.receiver && s.readable()) s.receiver->on->queue(*s.receiver);
  if (s.acceptor && s.readable()) s.acceptor->on->queue(*s.acceptor);
}

void network::progress_sending(socket& s) {
  push_send(s);
  if (s.poll_out_op && s.state == phase::connected && (s.broken != 0 || room_for(s) > 0))
    finish(s.poll_out_op, poll_writable);
}

// A peer that is gone or unreachable takes as much as the sender's own buffer would.
std::size_t network::room_for(const socket& s) {
  const socket* peer = find(s.other);
  const std::uint64_t held = peer ? peer->incoming.size() : wires_.at(s.id).bytes_on_way;
  return options_.socket_buffer -
         static_cast<std::size_t>(std::min<std::uint64_t>(options_.socket_buffer, held));
}

void network::push_send(socket& s) {
  runtime_internal::operation* op = s.send_op;
  if (!op) return;
  if (s.broken != 0) return finish(s.send_op, -s.broken);
  if (s.end_sent) return finish(s.send_op, -EPIPE);
  if (s.state != phase::connected) return finish(s.send_op, -ENOTCONN);
  if (s.send_resting) return;
  socket* peer = find(s.other);
  std::size_t room = room_for(s);
  const std::size_t could = std::min(room, bytes_left(*op));
  const bool cut_short = could > 1 && random_.hits(going_wrong.short_writes());
  if (cut_short) room = 1 + random_.below(could - 1);
  send_progress& done = sim_backend::progress_of(*op);
  std::size_t moved = 0;
  while (done.piece < op->piece_count && (room > 0 || op->pieces[done.piece].size == done.offset)) {
    const runtime_internal::operation::piece& p = op->pieces[done.piece];
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
  const bool all = done.piece == op->piece_count;
  if (all) finish(s.send_op, static_cast<std::int64_t>(done.total));
  if (moved > 0) send(s, packet_kind::bytes, moved);
  if (all) return;
  if (!cut_short) return probe_if_closed(s);
  s.send_resting = true;
  schedule(deadline_after(now_, random_.up_to(rest_of_send_max)), kind::writable, s.id);
}

std::size_t network::read(socket& s, mutable_bytes into) {
  std::size_t n = std::min(into.size(), s.arrived);
  if (n > 1 && random_.hits(going_wrong.short_reads())) n = 1 + random_.below(n - 1);
  const bytes_view taken = s.incoming.pending().first(n);
  std::copy(taken.begin(), taken.end(), into.begin());
  s.incoming.consume(n);
  s.arrived -= n;
  if (socket* peer = find(s.other)) progress_sending(*peer);  // there is room again
  return n;
}

}  // namespace coracle::sim
