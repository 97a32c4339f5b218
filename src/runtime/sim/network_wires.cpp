// What happens to packets between two sockets: they take their time, get lost, stall and are given up.
#include "runtime/sim/network.hpp"
#include "runtime/sim/sim_backend.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::sim {

namespace {

// As Linux: when a lost packet is sent again, at first; and how long a handshake may take in all.
constexpr duration resend_first = std::chrono::milliseconds(200);
constexpr int resends_max = 6;
constexpr duration handshake_max = std::chrono::seconds(127);

}  // namespace

void network::lay_wire(socket& from, std::uint64_t to, host_state& to_host) {
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
  lay_wire(a, b.id, *b.owner);
  lay_wire(b, a.id, *a.owner);
}

duration network::time_on_way(const wire& w, packet_kind what) {
  if (w.from_host == w.to_host) return w.latency;
  duration takes = w.latency + random_.up_to(going_wrong.jitter());
  duration resend = resend_first;
  for (int i = 0; i < resends_max && random_.hits(going_wrong.packet_loss()); ++i, resend *= 2) {
    trace_.add(now_, event_kind::lost, w.from, static_cast<std::uint64_t>(what));
    takes += resend;
  }
  return takes;
}

void network::send(socket& from, packet_kind what, std::uint64_t amount) {
  wire& w = wires_.at(from.id);
  if (strike(from, w, what)) what = packet_kind::reset, amount = 0;
  time_point when = deadline_after(now_, time_on_way(w, what));
  if (!w.on_way.empty()) when = std::max(when, w.on_way.back().when);
  w.on_way.push_back({what, amount, when});
  w.bytes_on_way += amount;
  if (w.on_way.size() == 1 && !w.stalled) schedule(when, kind::arrival, w.from, w.stalls);
}

// A fault of the connection that hits it while it sends. True when it is reset.
bool network::strike(socket& from, wire& w, packet_kind what) {
  if (what != packet_kind::bytes || w.from_host == w.to_host || w.silent) return false;
  if (random_.hits(going_wrong.resets())) {
    schedule(deadline_after(now_, w.latency), kind::reset, from.id);
    return true;
  }
  if (random_.hits(going_wrong.silences())) {
    trace_.add(now_, event_kind::fallen_silent, w.from, w.to);
    w.silent = true;
    if (const auto back = wires_.find(w.to); back != wires_.end()) back->second.silent = true;
    if (socket* peer = find(w.to)) probe_if_closed(*peer);
  }
  return false;
}

void network::arrive(wire& w) {
  if (w.on_way.empty()) return;
  if (blocked(w)) return stall(w);
  const packet p = w.on_way.front();
  w.on_way.pop_front();
  w.bytes_on_way -= p.amount;
  if (!w.on_way.empty()) schedule(std::max(w.on_way.front().when, now_), kind::arrival, w.from, w.stalls);
  deliver(w, p);
  if (w.on_way.empty() && w.sender_gone) wires_.erase(w.from);
}

void network::deliver(const wire& w, const packet& p) {
  socket* to = find(w.to);
  if (!to) {
    // Whoever speaks to a closed socket is told so (RFC 9293 3.5.2).
    if (p.what != packet_kind::end && p.what != packet_kind::reset)
      schedule(deadline_after(now_, w.latency), kind::reset, w.from);
    return;
  }
  switch (p.what) {
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

// It is sent again when the way is free, unless that takes too long.
void network::stall(wire& w) {
  w.stalled = true;
  const bool handshake = w.on_way.front().what == packet_kind::established;
  schedule(deadline_after(now_, handshake ? handshake_max : silence_noticed_after), kind::give_up, w.from,
           w.stalls);
}

void network::give_up(wire& w) {
  const bool handshake = w.on_way.front().what == packet_kind::established;
  socket* from = find(w.from);
  socket* to = find(w.to);
  w.on_way.clear();
  w.bytes_on_way = 0;
  w.stalled = false;
  ++w.stalls;
  if (!from) wires_.erase(w.from);
  if (handshake && to) break_off(*to, ETIMEDOUT);
  if (from) break_off(*from, ETIMEDOUT);
}

// What a closed socket has sent still arrives; of what a host without power has sent, only what was past its own
// wire already.
void network::forget_sender(std::uint64_t id, bool powerless) {
  const auto found = wires_.find(id);
  if (found == wires_.end()) return;
  wire& w = found->second;
  w.sender_gone = true;
  if (powerless) {
    const bool nothing = w.stalled || w.from_host == w.to_host;
    const std::size_t arriving = nothing ? 0 : random_.below(w.on_way.size() + 1);
    if (w.stalled) ++w.stalls;
    w.stalled = false;
    w.on_way.resize(arriving);
  }
  if (w.on_way.empty()) wires_.erase(found);
}

bool network::unreachable(const host_state& a, const host_state& b) const noexcept {
  return b.down || cuts_.contains(std::minmax(a.index, b.index));
}

bool network::blocked(const wire& w) const noexcept {
  return w.silent || unreachable(*w.from_host, *w.to_host);
}

// A sender that waits for room would never hear that its peer is out of reach.
void network::probe_if_closed(socket& s) {
  if (!s.send_op || s.send_resting || s.state != phase::connected) return;
  const wire& w = wires_.at(s.id);
  if (w.on_way.empty() && blocked(w)) send(s, packet_kind::probe);
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
    abandon(*it->second);
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

// Whatever waits on it ends; its backends tell in their next turn.
void network::abandon(socket& s) {
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

}  // namespace coracle::sim
