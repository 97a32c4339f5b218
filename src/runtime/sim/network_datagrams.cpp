// The network's datagrams: whole, each on its own way, and nobody's business once they are sent.
#include "runtime/sim/network.hpp"

#include "coracle/base/impl/assert.hpp"
#include "runtime/sim/sim_backend.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::sim {

namespace {

// What UDP over IPv4 can carry.
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

// As the kernel: a socket that is bound to all addresses takes the one that leads to its peer.
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
  put_on_way(s, d);
  finish(s.send_op, static_cast<std::int64_t>(size));
}

// Nobody sends it again when it is lost, and nobody counts how often it comes.
void network::put_on_way(const socket& from, const datagram& d) {
  const bool far = d.at != from.owner;
  if (unreachable(*from.owner, *d.at) || (far && random_.hits(going_wrong.packet_loss())))
    return trace_.add(now_, event_kind::lost, from.id, d.bytes.size());
  const int copies = far && random_.hits(going_wrong.duplicates()) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    const duration jitter = far ? random_.up_to(going_wrong.jitter()) : duration::zero();
    const std::uint64_t number = next_datagram_++;
    datagrams_on_way_.emplace(number, d);
    schedule(deadline_after(now_, latency_to(from, d.at) + jitter), kind::datagram, 0, number);
  }
}

void network::arrive(const datagram& d) {
  if (d.at->down) return;
  socket* to = socket_for(d.at->datagram_sockets, d.to);
  if (!to) {
    const socket* from = find(d.from_socket);
    if (!from || from->peer.kind == endpoint::family::none) return;
    // ICMP tells, and only a socket that has fixed its peer hears of it.
    const time_point heard = deadline_after(now_, latency_to(*from, d.at));
    return schedule(heard, kind::unreachable, d.from_socket, ECONNREFUSED);
  }
  const bool strange = to->peer.kind != endpoint::family::none && to->peer != d.from;
  // As the kernel: what nobody reads is dropped when there is no more room.
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
