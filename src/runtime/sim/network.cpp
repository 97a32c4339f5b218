// network: the network's events, how bytes move between sockets, and the sockets, wires and datagrams
// themselves.
#include "runtime/sim/network.hpp"

#include "coracle/base/impl/assert.hpp"
#include "runtime/sim/sim_backend.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::sim {

namespace {

// Like Linux: a connection attempt without an answer is retried, then given up.
constexpr duration connect_retry_pause = std::chrono::seconds(1);
constexpr std::uint64_t connect_attempts = 6;
// How long a socket that took a part of a send may refuse the rest.
constexpr duration rest_of_send_max = std::chrono::milliseconds(1);
// The results of poll().
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

void network::schedule(time_point when, kind type, std::uint64_t to, std::uint64_t amount) {
  events_.push({when, next_order_++, type, to, amount});
}

void network::happen(const event& e) {
  if (e.type == kind::arrival || e.type == kind::time_out) {
    const auto found = wires_.find(e.to);
    if (found == wires_.end() || found->second.stalls != e.amount) return;
    return e.type == kind::arrival ? arrive(found->second) : time_out(found->second);
  }
  if (e.type == kind::datagram) {
    const auto found = datagrams_in_flight_.find(e.amount);
    const datagram arrived = std::move(found->second);
    datagrams_in_flight_.erase(found);
    return arrive(arrived);
  }
  socket* to = find(e.to);
  if (!to) {
    if (e.type == kind::queued && find(e.amount)) close(*find(e.amount), true);
    return;
  }
  switch (e.type) {
    case kind::connect_attempt: return connect_attempt(*to, e.amount);
    case kind::queued: return queue_at(*to, e.amount);
    case kind::pause_over:
      if (to->acceptor) to->acceptor->pausing = false;
      break;
    case kind::writable: to->send_pausing = false; break;
    case kind::refused:
      trace_.add(now_, event_kind::refuse, to->id, e.amount);
      to->broken = static_cast<int>(e.amount);
      break;
    case kind::reset: return break_off(*to, ECONNRESET);
    case kind::unreachable: to->datagram_error = static_cast<int>(e.amount); break;
    case kind::datagram:
    case kind::arrival:
    case kind::time_out: break;
  }
  progress(*to);
}

void network::break_off(socket& s, int error) {
  trace_.add(now_, error == ECONNRESET ? event_kind::reset : event_kind::timed_out, s.id,
             static_cast<std::uint64_t>(error));
  if (s.broken == 0) s.broken = error;
  progress(s);
}

void network::connect_attempt(socket& from, std::uint64_t tries) {
  host_state* host = host_of(from, from.peer);
  const bool unheard = host && (unreachable(*from.owner, *host) ||
                                (host != from.owner && random_.hits(going_wrong.packet_loss())));
  socket* listener = host && !unheard ? socket_for(host->listeners, from.peer) : nullptr;
  if (unheard || (listener && listener->pending.size() >= listener->backlog)) {
    if (tries + 1 < connect_attempts)
      return schedule(deadline_after(now_, connect_retry_pause), kind::connect_attempt, from.id, tries + 1);
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
  make_wire(made, from.id, *from.owner);
  make_wire(from, made.id, *made.owner);
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

bool network::lacks_resource(const host_state& h, int error) {
  const double chance = error == ENOBUFS ? going_wrong.no_buffers() : going_wrong.no_descriptors();
  if (!random_.hits(chance)) return false;
  trace_.add(now_, event_kind::refused_no_resources, h.index, static_cast<std::uint64_t>(error));
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
    finish(s.accept_op, lacks_resource(*s.owner, EMFILE) ? -EMFILE : accept(s));
  if (s.poll_in_op && s.readable()) finish(s.poll_in_op, poll_readable);
  if (s.receiver && s.readable()) s.receiver->on->queue(*s.receiver);
  if (s.acceptor && s.readable()) s.acceptor->on->queue(*s.acceptor);
}

void network::progress_sending(socket& s) {
  push_send(s);
  if (s.poll_out_op && s.state == phase::connected && (s.broken != 0 || room_for(s) > 0))
    finish(s.poll_out_op, poll_writable);
}

// A peer that is gone or unreachable accepts as much as the sender's own buffer holds.
std::size_t network::room_for(const socket& s) {
  const socket* peer = find(s.other);
  const std::uint64_t held = peer ? peer->incoming.size() : wires_.at(s.id).bytes_in_flight;
  return options_.socket_buffer -
         static_cast<std::size_t>(std::min<std::uint64_t>(options_.socket_buffer, held));
}

void network::push_send(socket& s) {
  runtime_internal::operation* op = s.send_op;
  if (!op) return;
  if (s.broken != 0) return finish(s.send_op, -s.broken);
  if (s.end_sent) return finish(s.send_op, -EPIPE);
  if (s.state != phase::connected) return finish(s.send_op, -ENOTCONN);
  if (s.send_pausing) return;
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
  s.send_pausing = true;
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

// --- sockets

namespace {

constexpr duration loopback_latency = std::chrono::microseconds(5);

endpoint any_address(endpoint::family kind, std::uint16_t port) {
  endpoint e;
  e.kind = kind;
  e.port = port;
  return e;
}

}  // namespace

host_state& network::add_host(std::string name) {
  CORACLE_ASSERT(hosts_.size() < 250, "a world has at most 250 hosts");
  auto h = std::make_unique<host_state>();
  h->name = std::move(name);
  h->index = hosts_.size() + 1;
  h->ip.kind = endpoint::family::ipv4;
  h->ip.ip = {10, 0, 0, static_cast<std::uint8_t>(h->index)};
  hosts_.push_back(std::move(h));
  return *hosts_.back();
}

host_state* network::find_host(std::string_view name) noexcept {
  for (const auto& h : hosts_)
    if (h->name == name) return h.get();
  return nullptr;
}

socket& network::open(host_state& h, phase state) {
  auto s = std::make_unique<socket>();
  s->id = next_socket_++;
  s->owner = &h;
  s->state = state;
  socket& opened = *s;
  sockets_.emplace(opened.id, std::move(s));
  return opened;
}

runtime_internal::handle network::give_handle(socket& s) {
  s.handle = s.owner->next_handle++;
  s.owner->handles.emplace(s.handle, s.id);
  return s.handle;
}

socket& network::at(host_state& h, runtime_internal::handle handle) noexcept {
  const auto found = h.handles.find(handle);
  CORACLE_ASSERT(found != h.handles.end(),
                 "a handle was used after it was closed, or on a host other than its own");
  return *find(found->second);
}

socket* network::find(std::uint64_t id) noexcept {
  const auto found = sockets_.find(id);
  return found == sockets_.end() ? nullptr : found->second.get();
}

bool network::owns(const host_state& h, const endpoint& where) const noexcept {
  return where.kind == endpoint::family::local || where.is_wildcard() || where.is_loopback() ||
         (where.kind == h.ip.kind && where.ip == h.ip.ip);
}

bool network::in_use(const by_name& names, const endpoint& where, bool reuse_port) {
  return std::any_of(names.begin(), names.end(), [&](const auto& entry) {
    const endpoint& held = entry.first;
    if (held.kind != where.kind || held.port != where.port || held.path != where.path) return false;
    if (held.ip != where.ip && !held.is_wildcard() && !where.is_wildcard()) return false;
    return !reuse_port || !find(entry.second)->reuse_port;
  });
}

int network::name(host_state& h, const by_name& names, endpoint& where, bool reuse_port) {
  if (!owns(h, where)) return -EADDRNOTAVAIL;
  const bool any_port = where.kind != endpoint::family::local && where.port == 0;
  do {
    if (any_port) where.port = h.take_port();
  } while (any_port && in_use(names, where, false));
  return in_use(names, where, reuse_port) ? -EADDRINUSE : 0;
}

std::int64_t network::listen(host_state& h, const endpoint& wanted,
                             const runtime_internal::listen_options& options) {
  endpoint where = wanted;
  if (const int error = name(h, h.listeners, where, options.reuse_port)) return error;
  socket& s = open(h, phase::listening);
  s.local = where;
  s.reuse_port = options.reuse_port;
  s.backlog = static_cast<std::size_t>(std::max(options.backlog, 1));
  h.listeners.emplace(where, s.id);
  return give_handle(s);
}

host_state* network::host_of(const socket& from, const endpoint& to) noexcept {
  if (to.kind == endpoint::family::local || to.is_loopback() || to.is_wildcard()) return from.owner;
  for (const auto& h : hosts_)
    if (h->ip.kind == to.kind && h->ip.ip == to.ip) return h.get();
  return nullptr;
}

socket* network::socket_for(const by_name& names, const endpoint& to) {
  auto range = names.equal_range(to);
  if (range.first == range.second) range = names.equal_range(any_address(to.kind, to.port));
  if (range.first == range.second && to.kind == endpoint::family::ipv4)
    range = names.equal_range(any_address(endpoint::family::ipv6, to.port));
  const auto count = std::distance(range.first, range.second);
  if (count == 0) return nullptr;
  const auto place = count == 1 ? 0 : random_.below(static_cast<std::uint64_t>(count));
  return find(std::next(range.first, static_cast<std::ptrdiff_t>(place))->second);
}

duration network::latency_to(const socket& from, const host_state* to) const noexcept {
  return to == from.owner ? loopback_latency : options_.latency;
}

std::int64_t network::bind(socket& s, const endpoint& at) {
  if (!owns(*s.owner, at)) return -EADDRNOTAVAIL;
  s.local = at;
  return 0;
}

void network::connect(socket& s, const endpoint& to) {
  s.state = phase::connecting;
  s.peer = to;
  const host_state* host = host_of(s, to);
  s.latency = latency_to(s, host);
  if (to.kind != endpoint::family::local) {
    const std::uint16_t port = s.local.port;
    if (s.local.kind == endpoint::family::none || s.local.is_wildcard())
      s.local = host == s.owner ? to : s.owner->ip;
    s.local.port = port != 0 ? port : s.owner->take_port();
  }
  trace_.add(now_, event_kind::connect, s.id, to.port);
  const duration jitter = host == s.owner ? duration::zero() : random_.up_to(going_wrong.jitter());
  schedule(deadline_after(now_, s.latency + jitter), kind::connect_attempt, s.id);
}

void network::accept_later(socket& listener, duration rest) {
  listener.acceptor->pausing = true;
  schedule(deadline_after(now_, rest), kind::pause_over, listener.id);
}

runtime_internal::handle network::accept(socket& listener) {
  socket& s = *find(listener.pending.front());
  listener.pending.pop_front();
  trace_.add(now_, event_kind::accept, s.id, s.local.port);
  return give_handle(s);
}

void network::shut_down(socket& s) {
  if (s.state != phase::connected || s.broken != 0 || std::exchange(s.end_sent, true)) return;
  send(s, packet_kind::end);
}

void network::close(socket& s, bool abort) {
  CORACLE_ASSERT(s.idle(),
                 "a handle was closed with an operation or a source in flight: cancel it and wait first");
  trace_.add(now_, event_kind::close, s.id);
  while (!s.pending.empty()) {
    close(*find(s.pending.front()), true);
    s.pending.pop_front();
  }
  if (s.state == phase::listening)
    std::erase_if(s.owner->listeners, [&s](const auto& entry) { return entry.second == s.id; });
  if (s.state == phase::datagrams)
    std::erase_if(s.owner->datagram_sockets, [&s](const auto& entry) { return entry.second == s.id; });
  if (s.state == phase::connected && s.broken == 0) {
    // Like TCP: a close with unread bytes resets the connection.
    if (abort || s.arrived > 0) send(s, packet_kind::reset);
    else if (!s.end_sent) send(s, packet_kind::end);
  }
  // A sender that waits for room here is notified by a reset: either this one, or the answer to its packets
  // in transit.
  if (s.handle != runtime_internal::no_handle) s.owner->handles.erase(s.handle);
  forget_sender(s.id, false);
  sockets_.erase(s.id);
}

bool network::signal(host_state& h, std::uint32_t bit) {
  bool seen = false;
  for (const auto& [handle, id] : h.handles) {
    socket& s = *find(id);
    if (s.state != phase::signals || !(s.signals_watched & bit)) continue;
    seen = true;
    s.signals_pending |= bit;
    progress(s);
  }
  trace_.add(now_, event_kind::signal, h.index, bit);
  return seen;
}

// --- wires: bytes in transit

namespace {

// Like Linux: the first retransmission timeout of a lost packet, and the limit of a whole handshake.
constexpr duration resend_first = std::chrono::milliseconds(200);
constexpr int resends_max = 6;
constexpr duration handshake_max = std::chrono::seconds(127);

}  // namespace

void network::make_wire(socket& from, std::uint64_t to, host_state& to_host) {
  wire& w = wires_[from.id];
  w.from = from.id;
  w.to = to;
  w.from_host = from.owner;
  w.to_host = &to_host;
  w.latency = from.latency;
}

void network::join(socket& a, socket& b) {
  a.other = b.id;
  b.other = a.id;
  make_wire(a, b.id, *b.owner);
  make_wire(b, a.id, *a.owner);
}

duration network::transit_time(const wire& w, packet_kind type) {
  if (w.from_host == w.to_host) return w.latency;
  duration takes = w.latency + random_.up_to(going_wrong.jitter());
  duration resend = resend_first;
  for (int i = 0; i < resends_max && random_.hits(going_wrong.packet_loss()); ++i, resend *= 2) {
    trace_.add(now_, event_kind::lost, w.from, static_cast<std::uint64_t>(type));
    takes += resend;
  }
  return takes;
}

void network::send(socket& from, packet_kind type, std::uint64_t amount) {
  wire& w = wires_.at(from.id);
  if (apply_faults(from, w, type)) type = packet_kind::reset, amount = 0;
  time_point when = deadline_after(now_, transit_time(w, type));
  if (!w.in_flight.empty()) when = std::max(when, w.in_flight.back().when);
  w.in_flight.push_back({type, amount, when});
  w.bytes_in_flight += amount;
  if (w.in_flight.size() == 1 && !w.stalled) schedule(when, kind::arrival, w.from, w.stalls);
}

// Applies a fault that hits the connection while it sends. Returns true when the connection is reset.
bool network::apply_faults(socket& from, wire& w, packet_kind type) {
  if (type != packet_kind::bytes || w.from_host == w.to_host || w.blackholed) return false;
  if (random_.hits(going_wrong.resets())) {
    schedule(deadline_after(now_, w.latency), kind::reset, from.id);
    return true;
  }
  if (random_.hits(going_wrong.blackholes())) {
    trace_.add(now_, event_kind::blackholed, w.from, w.to);
    w.blackholed = true;
    if (const auto back = wires_.find(w.to); back != wires_.end()) back->second.blackholed = true;
    if (socket* peer = find(w.to)) probe_if_closed(*peer);
  }
  return false;
}

void network::arrive(wire& w) {
  if (w.in_flight.empty()) return;
  if (blocked(w)) return stall(w);
  const packet p = w.in_flight.front();
  w.in_flight.pop_front();
  w.bytes_in_flight -= p.amount;
  if (!w.in_flight.empty())
    schedule(std::max(w.in_flight.front().when, now_), kind::arrival, w.from, w.stalls);
  deliver(w, p);
  if (w.in_flight.empty() && w.sender_gone) wires_.erase(w.from);
}

void network::deliver(const wire& w, const packet& p) {
  socket* to = find(w.to);
  if (!to) {
    // RFC 9293 3.5.2: a packet to a closed socket is answered by a reset.
    if (p.type != packet_kind::end && p.type != packet_kind::reset)
      schedule(deadline_after(now_, w.latency), kind::reset, w.from);
    return;
  }
  switch (p.type) {
    case packet_kind::established:
      to->state = phase::connected;
      to->other = w.from;
      break;
    case packet_kind::bytes:
      trace_.add(now_, event_kind::bytes, to->id, p.amount);
      to->arrived += p.amount;
      break;
    case packet_kind::end:
      trace_.add(now_, event_kind::end, to->id);
      to->end_arrived = true;
      break;
    case packet_kind::reset: return break_off(*to, ECONNRESET);
    case packet_kind::probe: return;
  }
  progress(*to);
}

// The packet is sent again when the link is available, unless that takes too long.
void network::stall(wire& w) {
  w.stalled = true;
  const bool handshake = w.in_flight.front().type == packet_kind::established;
  schedule(deadline_after(now_, handshake ? handshake_max : blackhole_timeout), kind::time_out, w.from,
           w.stalls);
}

void network::time_out(wire& w) {
  const bool handshake = w.in_flight.front().type == packet_kind::established;
  socket* from = find(w.from);
  socket* to = find(w.to);
  w.in_flight.clear();
  w.bytes_in_flight = 0;
  w.stalled = false;
  ++w.stalls;
  if (!from) wires_.erase(w.from);
  if (handshake && to) break_off(*to, ETIMEDOUT);
  if (from) break_off(*from, ETIMEDOUT);
}

// Packets of a closed socket still arrive. After a power loss of the host, only those arrive that had already
// left its own link.
void network::forget_sender(std::uint64_t id, bool powerless) {
  const auto found = wires_.find(id);
  if (found == wires_.end()) return;
  wire& w = found->second;
  w.sender_gone = true;
  if (powerless) {
    const bool nothing = w.stalled || w.from_host == w.to_host;
    const std::size_t arriving = nothing ? 0 : random_.below(w.in_flight.size() + 1);
    if (w.stalled) ++w.stalls;
    w.stalled = false;
    w.in_flight.resize(arriving);
  }
  if (w.in_flight.empty()) wires_.erase(found);
}

bool network::unreachable(const host_state& a, const host_state& b) const noexcept {
  return b.down || cuts_.contains(std::minmax(a.index, b.index));
}

bool network::blocked(const wire& w) const noexcept {
  return w.blackholed || unreachable(*w.from_host, *w.to_host);
}

// A sender that waits for room would never learn that its peer is unreachable.
void network::probe_if_closed(socket& s) {
  if (!s.send_op || s.send_pausing || s.state != phase::connected) return;
  const wire& w = wires_.at(s.id);
  if (w.in_flight.empty() && blocked(w)) send(s, packet_kind::probe);
}

void network::resume_wires() {
  for (auto& [id, w] : wires_) {
    if (!w.stalled || blocked(w)) continue;
    w.stalled = false;
    schedule(deadline_after(now_, w.latency), kind::arrival, id, ++w.stalls);
  }
}

void network::cut(host_state& a, host_state& b) {
  if (&a == &b || !cuts_.insert(std::minmax(a.index, b.index)).second) return;
  trace_.add(now_, event_kind::partition, a.index, b.index);
  for (const auto& [id, s] : sockets_) probe_if_closed(*s);
}

void network::heal(host_state& a, host_state& b) {
  if (cuts_.erase(std::minmax(a.index, b.index)) == 0) return;
  trace_.add(now_, event_kind::heal, a.index, b.index);
  resume_wires();
}

void network::heal_all() {
  while (!cuts_.empty()) heal(*hosts_[cuts_.begin()->first - 1], *hosts_[cuts_.begin()->second - 1]);
}

void network::go_down(host_state& h) {
  h.down = true;
  trace_.add(now_, event_kind::crash, h.index, ++h.crashes);
  for (auto it = sockets_.begin(); it != sockets_.end();) {
    if (it->second->owner != &h) {
      ++it;
      continue;
    }
    discard(*it->second);
    forget_sender(it->first, true);
    it = sockets_.erase(it);
  }
  h.handles.clear();
  h.listeners.clear();
  h.datagram_sockets.clear();
  for (const auto& [id, w] : wires_) {
    socket* sender = w.to_host == &h ? find(id) : nullptr;
    if (sender) progress_sending(*sender);  // it waited for room in a buffer that is gone
  }
}

void network::come_up(host_state& h) {
  h.down = false;
  trace_.add(now_, event_kind::start, h.index, h.crashes);
  resume_wires();
}

void network::jump_clock(host_state& h, duration by) {
  h.clock_shift += by;
  trace_.add(now_, event_kind::clock_jump, h.index, static_cast<std::uint64_t>(by.count()));
}

// Ends everything that waits on the socket; its backends report the ends in their next turn.
void network::discard(socket& s) {
  for (runtime_internal::operation** op : s.waiting())
    if (*op) finish(*op, -ECANCELED);
  if (s.receiver) {
    s.receiver->stopping = true;
    s.receiver->on->queue(*std::exchange(s.receiver, nullptr));
  }
  if (s.acceptor) {
    s.acceptor->stopping = true;
    s.acceptor->on->queue(*std::exchange(s.acceptor, nullptr));
  }
}

// --- datagrams

namespace {

// The maximum payload of UDP over IPv4.
constexpr std::size_t datagram_bytes_max = 65'507;

}  // namespace

std::int64_t network::open_datagram(host_state& h, const endpoint& wanted,
                                    const runtime_internal::listen_options& options) {
  endpoint where = wanted;
  if (const int error = name(h, h.datagram_sockets, where, options.reuse_port)) return error;
  socket& s = open(h, phase::datagrams);
  s.local = where;
  s.reuse_port = options.reuse_port;
  h.datagram_sockets.emplace(where, s.id);
  return give_handle(s);
}

// Like the kernel: a socket that is bound to all addresses binds to the local address that leads to its peer.
std::int64_t network::connect_datagram(socket& s, const endpoint& to) {
  s.peer = to;
  if (!s.local.is_wildcard()) return 0;
  endpoint named = host_of(s, to) == s.owner ? to : s.owner->ip;
  named.port = s.local.port;
  std::erase_if(s.owner->datagram_sockets, [&s](const auto& entry) { return entry.second == s.id; });
  s.local = named;
  s.owner->datagram_sockets.emplace(named, s.id);
  return 0;
}

void network::send_datagram(socket& s) {
  const runtime_internal::operation& op = *s.send_op;
  if (s.datagram_error != 0) return finish(s.send_op, -std::exchange(s.datagram_error, 0));
  datagram d{s.id, nullptr, s.local, op.address ? from_raw(*op.address) : s.peer, {}};
  if (d.to.kind == endpoint::family::none) return finish(s.send_op, -EDESTADDRREQ);
  for (std::size_t i = 0; i < op.piece_count; ++i) {
    const auto* bytes = static_cast<const std::uint8_t*>(op.pieces[i].data);
    d.bytes.insert(d.bytes.end(), bytes, bytes + op.pieces[i].size);
  }
  const std::size_t size = d.bytes.size();
  if (size > datagram_bytes_max) return finish(s.send_op, -EMSGSIZE);
  d.at = host_of(s, d.to);
  if (!d.at) return finish(s.send_op, -EHOSTUNREACH);
  if (d.from.is_wildcard()) {
    d.from = d.at == s.owner ? d.to : s.owner->ip;
    d.from.port = s.local.port;
  }
  put_in_flight(s, d);
  finish(s.send_op, static_cast<std::int64_t>(size));
}

// A lost datagram is not sent again, and duplicates are not removed.
void network::put_in_flight(const socket& from, const datagram& d) {
  const bool far = d.at != from.owner;
  if (unreachable(*from.owner, *d.at) || (far && random_.hits(going_wrong.packet_loss())))
    return trace_.add(now_, event_kind::lost, from.id, d.bytes.size());
  const int copies = far && random_.hits(going_wrong.duplicates()) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    const duration jitter = far ? random_.up_to(going_wrong.jitter()) : duration::zero();
    const std::uint64_t number = next_datagram_++;
    datagrams_in_flight_.emplace(number, d);
    schedule(deadline_after(now_, latency_to(from, d.at) + jitter), kind::datagram, 0, number);
  }
}

void network::arrive(const datagram& d) {
  if (d.at->down) return;
  socket* to = socket_for(d.at->datagram_sockets, d.to);
  if (!to) {
    const socket* from = find(d.from_socket);
    if (!from || from->peer.kind == endpoint::family::none) return;
    // ICMP reports the error, and only a socket with a peer set receives it.
    const time_point received = deadline_after(now_, latency_to(*from, d.at));
    return schedule(received, kind::unreachable, d.from_socket, ECONNREFUSED);
  }
  const bool strange = to->peer.kind != endpoint::family::none && to->peer != d.from;
  // Like the kernel: drops datagrams when the receive buffer is full.
  if (strange || to->datagram_bytes + d.bytes.size() > options_.socket_buffer) return;
  trace_.add(now_, event_kind::bytes, to->id, d.bytes.size());
  to->datagram_bytes += d.bytes.size();
  to->datagrams.push_back(d);
  progress(*to);
}

void network::receive_datagram(socket& s) {
  const runtime_internal::operation& op = *s.receive_op;
  if (s.datagram_error != 0) return finish(s.receive_op, -std::exchange(s.datagram_error, 0));
  if (s.datagrams.empty()) return;
  const datagram d = std::move(s.datagrams.front());
  s.datagrams.pop_front();
  s.datagram_bytes -= d.bytes.size();
  std::copy_n(d.bytes.begin(), std::min(d.bytes.size(), op.into.size()), op.into.begin());
  *op.sender = to_raw(d.from);
  finish(s.receive_op, static_cast<std::int64_t>(d.bytes.size()));
}

void network::progress_datagrams(socket& s) {
  if (s.send_op) send_datagram(s);
  if (s.receive_op) receive_datagram(s);
}

}  // namespace coracle::sim
