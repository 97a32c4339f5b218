#include "runtime/sim/sim_backend.hpp"

#include "coracle/base/impl/assert.hpp"
#include "coracle/coro/impl/run_observer.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace coracle::sim {

namespace {

// The maximum size of one received() call; small enough that some messages are split.
constexpr std::size_t chunk_bytes = 16 * 1024;
// 2024-01-01 00:00 UTC: the wall clocks of simulated worlds start here.
constexpr std::int64_t wall_start_ns = 1'704'067'200'000'000'000;

struct in_flight {
  sim_backend* on;
  send_progress progress;
};
static_assert(sizeof(in_flight) <= sizeof(runtime_internal::operation::scratch));

in_flight& state_of(const runtime_internal::operation& op) noexcept {
  return *std::launder(reinterpret_cast<in_flight*>(const_cast<std::uint64_t*>(op.scratch)));
}

}  // namespace

sim_backend::~sim_backend() {
  CORACLE_ASSERT(due_.empty(), "a simulated loop ended before its operations did");
}

sim_backend& sim_backend::of(const runtime_internal::operation& op) noexcept { return *state_of(op).on; }
send_progress& sim_backend::progress_of(runtime_internal::operation& op) noexcept {
  return state_of(op).progress;
}

runtime_internal::operation** sim_backend::slot(socket& s, const runtime_internal::operation& op) noexcept {
  using kind = runtime_internal::operation::kind;
  switch (op.type) {
    case kind::connect: return &s.connect_op;
    case kind::send:
    case kind::send_to: return &s.send_op;
    case kind::receive:
    case kind::receive_from: return &s.receive_op;
    case kind::accept: return &s.accept_op;
    case kind::poll_in: return &s.poll_in_op;
    case kind::poll_out: return &s.poll_out_op;
    case kind::file: break;  // not used, because takes_files() is false
  }
  CORACLE_ASSERT(false, "a simulated backend does not support files");
}

void sim_backend::submit(runtime_internal::operation& op) noexcept {
  ++counters_.submissions;
  ++counters_.in_flight;
  if (is_cut_off()) return finish(op, -ECANCELED);
  socket& s = net_.at(host_, op.on);
  runtime_internal::operation** where = slot(s, op);
  CORACLE_ASSERT(!*where, "two concurrent operations of one kind on one handle");
  const bool sends = op.type == runtime_internal::operation::kind::send ||
                     op.type == runtime_internal::operation::kind::send_to;
  if (sends && net_.lacks_resource(host_, ENOBUFS)) return finish(op, -ENOBUFS);
  ::new (static_cast<void*>(op.scratch)) in_flight{this, {}};
  *where = &op;
  if (op.type == runtime_internal::operation::kind::connect) net_.connect(s, from_raw(*op.address));
  net_.progress(s);
}

void sim_backend::cancel(runtime_internal::operation& op) noexcept {
  const auto found = host_.handles.find(op.on);
  if (found == host_.handles.end()) return;
  runtime_internal::operation** where = slot(*net_.find(found->second), op);
  if (*where != &op) return;  // it has completed, and its result is queued
  *where = nullptr;
  finish(op, -ECANCELED);
}

void sim_backend::finish(runtime_internal::operation& op, std::int64_t result) noexcept {
  due d;
  d.op = &op;
  d.result = result;
  due_.push_back(d);
}

void sim_backend::queue(receiving& r) noexcept {
  if (r.queued || (r.paused && !r.stopping && !r.source->watches_hangup)) return;
  r.queued = true;
  due d;
  d.receive = &r;
  due_.push_back(d);
}

void sim_backend::queue(accepting& a) noexcept {
  if (a.queued || (a.pausing && !a.stopping)) return;
  a.queued = true;
  due d;
  d.accept = &a;
  due_.push_back(d);
}

void sim_backend::turn(time_point) noexcept {
  ++counters_.turns;
  for (std::size_t left = due_.size(); left > 0; --left) {
    const due d = due_.front();
    due_.pop_front();
    ++counters_.completions;
    deliver(d);
    coro::run_observer::notify_returned();
  }
}

void sim_backend::deliver(const due& d) noexcept {
  if (d.op) {
    --counters_.in_flight;
    d.op->complete(*d.op, d.result);
  } else if (d.receive) {
    deliver(*d.receive);
  } else {
    deliver(*d.accept);
  }
}

void sim_backend::deliver(receiving& r) noexcept {
  r.queued = false;
  if (r.stopping) return end(r, -ECANCELED);
  socket& s = *net_.find(r.socket);
  if (!r.paused && s.arrived == 0 && s.readable()) return end(r, -s.broken);
  if (r.paused && r.source->watches_hangup && (s.end_arrived || s.broken != 0)) return r.source->hung_up();
  if (r.paused || s.arrived == 0) return;
  std::vector<std::uint8_t> chunk(std::min(chunk_bytes, s.arrived));
  const std::size_t got = net_.read(s, chunk);
  if (got < chunk.size())
    chunk = std::vector<std::uint8_t>(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(got));
  if (s.readable()) queue(r);  // before the call, which may pause or stop
  r.source->received(chunk);
}

void sim_backend::end(receiving& r, std::int64_t result) noexcept {
  --counters_.in_flight;
  if (socket* s = net_.find(r.socket)) s->receiver = nullptr;
  r.source->state = nullptr;
  const std::unique_ptr<receiving> ended(&r);
  ended->source->ended(result);
}

void sim_backend::deliver(accepting& a) noexcept {
  a.queued = false;
  if (a.stopping) {
    --counters_.in_flight;
    if (socket* s = net_.find(a.socket)) s->acceptor = nullptr;
    a.source->state = nullptr;
    const std::unique_ptr<accepting> ended(&a);
    return ended->source->ended(-ECANCELED);
  }
  socket& s = *net_.find(a.socket);
  if (s.pending.empty() || a.pausing) return;
  if (net_.lacks_resource(host_, EMFILE)) return net_.accept_later(s, runtime_internal::accept_pause_time);
  const runtime_internal::handle connection = net_.accept(s);
  if (s.readable()) queue(a);
  a.source->accepted(connection);
}

void sim_backend::start_accept(runtime_internal::handle listener,
                               runtime_internal::accept_source& source) noexcept {
  auto* a = new accepting{&source, 0, this};
  source.state = a;
  ++counters_.in_flight;
  if (is_cut_off()) return stop_accept(source);
  socket& s = net_.at(host_, listener);
  CORACLE_ASSERT(!s.acceptor && s.state == phase::listening, "accepts once, on a listener");
  a->socket = s.id;
  s.acceptor = a;
  net_.progress(s);
}

void sim_backend::stop_accept(runtime_internal::accept_source& source) noexcept {
  auto& a = *static_cast<accepting*>(source.state);
  a.stopping = true;
  queue(a);
}

std::int64_t sim_backend::accept_now(runtime_internal::handle listener) noexcept {
  if (is_cut_off()) return -EAGAIN;
  socket& s = net_.at(host_, listener);
  if (s.pending.empty()) return -EAGAIN;
  if (net_.lacks_resource(host_, EMFILE)) return -EMFILE;
  return net_.accept(s);
}

void sim_backend::start_receive(runtime_internal::handle connection,
                                runtime_internal::receive_source& source) noexcept {
  auto* r = new receiving{&source, 0, this};
  source.state = r;
  ++counters_.in_flight;
  if (is_cut_off()) return stop_receive(source);
  socket& s = net_.at(host_, connection);
  CORACLE_ASSERT(!s.receiver && s.state == phase::connected, "receives once, on a connection");
  r->socket = s.id;
  s.receiver = r;
  net_.progress(s);
}

void sim_backend::pause_receive(runtime_internal::receive_source& source) noexcept {
  static_cast<receiving*>(source.state)->paused = true;
}

void sim_backend::resume_receive(runtime_internal::receive_source& source) noexcept {
  auto& r = *static_cast<receiving*>(source.state);
  r.paused = false;
  if (socket* s = net_.find(r.socket)) net_.progress(*s);
}

void sim_backend::stop_receive(runtime_internal::receive_source& source) noexcept {
  auto& r = *static_cast<receiving*>(source.state);
  r.stopping = true;
  queue(r);
}

std::int64_t sim_backend::open_stream(int) noexcept {
  if (is_cut_off()) return -ECANCELED;
  if (net_.lacks_resource(host_, EMFILE)) return -EMFILE;
  return net_.give_handle(net_.open(host_, phase::fresh));
}

std::int64_t sim_backend::bind_stream(runtime_internal::handle h,
                                      const runtime_internal::raw_address& at) noexcept {
  return is_cut_off() ? -ECANCELED : net_.bind(net_.at(host_, h), from_raw(at));
}

std::int64_t sim_backend::open_listener(const runtime_internal::raw_address& at,
                                        const runtime_internal::listen_options& options) noexcept {
  return is_cut_off() ? -ECANCELED : net_.listen(host_, from_raw(at), options);
}

std::int64_t sim_backend::open_datagram(const runtime_internal::raw_address& at,
                                        const runtime_internal::listen_options& options) noexcept {
  if (is_cut_off()) return -ECANCELED;
  if (net_.lacks_resource(host_, EMFILE)) return -EMFILE;
  return net_.open_datagram(host_, from_raw(at), options);
}

std::int64_t sim_backend::connect_datagram(runtime_internal::handle h,
                                           const runtime_internal::raw_address& to) noexcept {
  return is_cut_off() ? -ECANCELED : net_.connect_datagram(net_.at(host_, h), from_raw(to));
}

std::int64_t sim_backend::local_address(runtime_internal::handle h,
                                        runtime_internal::raw_address& out) noexcept {
  if (is_cut_off()) return -ENOTCONN;
  out = to_raw(net_.at(host_, h).local);
  return 0;
}

std::int64_t sim_backend::peer_address(runtime_internal::handle h,
                                       runtime_internal::raw_address& out) noexcept {
  if (is_cut_off()) return -ENOTCONN;
  out = to_raw(net_.at(host_, h).peer);
  return 0;
}

void sim_backend::shutdown_send(runtime_internal::handle h) noexcept {
  if (!is_cut_off()) net_.shut_down(net_.at(host_, h));
}
void sim_backend::close(runtime_internal::handle h, bool abort) noexcept {
  if (!is_cut_off()) net_.close(net_.at(host_, h), abort);
}

std::int64_t sim_backend::open_pipe(runtime_internal::handle (&ends)[2]) noexcept {
  if (is_cut_off()) return -ECANCELED;
  socket& from = net_.open(host_, phase::connected);
  socket& into = net_.open(host_, phase::connected);
  net_.join(from, into);
  ends[0] = net_.give_handle(from);
  ends[1] = net_.give_handle(into);
  return 0;
}

std::int64_t sim_backend::remove_stale_path(const runtime_internal::raw_address&) noexcept {
  return -EADDRINUSE;
}
void sim_backend::remove_path(const runtime_internal::raw_address&) noexcept {}

std::int64_t sim_backend::open_signals(std::uint32_t set) noexcept {
  if (is_cut_off()) return -ECANCELED;
  socket& s = net_.open(host_, phase::signals);
  s.signals_watched = set;
  return net_.give_handle(s);
}
std::uint32_t sim_backend::take_signals(runtime_internal::handle h) noexcept {
  return is_cut_off() ? 0u : std::exchange(net_.at(host_, h).signals_pending, 0u);
}
void sim_backend::close_signals(runtime_internal::handle h) noexcept { close(h, false); }

bool sim_backend::resolve_name(std::string_view name, runtime_internal::name_answer& out) {
  if (is_cut_off()) {
    out.result = runtime_internal::name_answer::outcome::failed;
    return true;
  }
  const host_state* host = net_.find_host(name.substr(0, name.size() - name.ends_with('.')));
  out = net_.names().resolve_name(name, host ? &host->ip : nullptr);
  return true;
}

std::int64_t sim_backend::wall_ns_at(time_point when, const host_state& host) noexcept {
  return wall_start_ns + (when.time_since_epoch() + host.clock_shift).count();
}

std::int64_t sim_backend::wall_ns() noexcept { return wall_ns_at(now(), host_); }

}  // namespace coracle::sim
