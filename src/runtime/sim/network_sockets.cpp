// The network's sockets: how they are made, named, connected and closed.
#include "coracle/base/impl/assert.hpp"
#include "runtime/sim/network.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::sim {

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
                 "a handle was used after it was closed, or on another host than its own");
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

void network::connect(socket& s, const endpoint& to) {
  s.state = phase::connecting;
  s.peer = to;
  const host_state* host = host_of(s, to);
  s.latency = latency_to(s, host);
  if (to.kind != endpoint::family::local) {
    s.local = host == s.owner ? to : s.owner->ip;
    s.local.port = s.owner->take_port();
  }
  trace_.add(now_, event_kind::connect, s.id, to.port);
  const duration jitter = host == s.owner ? duration::zero() : random_.up_to(going_wrong.jitter());
  schedule(deadline_after(now_, s.latency + jitter), kind::knock, s.id);
}

void network::accept_later(socket& listener, duration rest) {
  listener.acceptor->resting = true;
  schedule(deadline_after(now_, rest), kind::rested, listener.id);
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
    // As TCP: closing with bytes that nobody read is no proper end.
    if (abort || s.arrived > 0) send(s, packet_kind::reset);
    else if (!s.end_sent) send(s, packet_kind::end);
  }
  // A sender that waits for room here hears of it by a reset: ours, or the answer to what is on its way.
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
    s.signals_come |= bit;
    progress(s);
  }
  trace_.add(now_, event_kind::signal, h.index, bit);
  return seen;
}

}  // namespace coracle::sim
