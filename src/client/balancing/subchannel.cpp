#include "client/balancing/subchannel.hpp"

#include "base/hot_and_cold.hpp"
#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "rpc/channel_registry.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <utility>

namespace coracle::client {

using severity = rpc::traced_event::severity;

namespace {
constexpr unsigned reset_shift_max = 8;
constexpr std::string_view no_memory = "the process is out of memory";
}  // namespace

subchannel::subchannel(loop& owner_loop, const connect_params& params, endpoint where,
                       subchannel_owner& owner, subchannel_user* user)
    : loop_(owner_loop),
      params_(params),
      where_(std::move(where)),
      owner_(owner),
      user_(user),
      id_(params.registry->next_id()),
      trace_(owner_loop.wall_now()),
      measures_(params.uri),
      keepalive_time_(params.connection.http2.keepalive.time) {
  timer::fire = [](coro::timer& t) noexcept { static_cast<subchannel&>(t).on_timer(); };
  runnable::run = [](coro::runnable& w) noexcept { static_cast<subchannel&>(w).report_state(); };
}

subchannel::~subchannel() {
  CORACLE_ASSERT(connections_.empty() && !report_scheduled_,
                 "a subchannel was destroyed before its connections");
  if (timer::holder) loop_.disarm(*this);
}

connectivity subchannel::state() const noexcept {
  const connectivity c = connection_state();
  return ejected_.ok() || c == connectivity::shutdown ? c : connectivity::transient_failure;
}

connectivity subchannel::connection_state() const noexcept {
  if (closing_) return connectivity::shutdown;
  const auto any = [this](auto is) { return std::any_of(connections_.begin(), connections_.end(), is); };
  if (any([](const connection_entry& l) { return l.serves(); })) return connectivity::ready;
  using verdict = health_watch::verdict;
  const auto reports = [](const connection_entry& l, verdict v) {
    return !l.draining && l.health && l.health->serving_state() == v;
  };
  if (attempting_ || any([&](const connection_entry& l) { return reports(l, verdict::unknown); }))
    return connectivity::connecting;
  if (any([&](const connection_entry& l) {
        return reports(l, verdict::not_serving) || reports(l, verdict::failed);
      }))
    return connectivity::transient_failure;
  return pausing_ ? connectivity::transient_failure : connectivity::idle;
}

// --- connecting

void subchannel::connect() noexcept {
  if (connection_state() == connectivity::idle) begin_attempt();
}

void subchannel::begin_attempt() noexcept {
  const auto is_stable = [this](const connection_entry& l) {
    return l.ready && !l.draining && loop_.now() - l.ready_since >= stable_time;
  };
  if (std::any_of(connections_.begin(), connections_.end(), is_stable)) backoff_.reset();
  attempting_ = true;
  dialed_ = nullptr;
  attempt_began_ = loop_.now();
  record_state();
  if (!base::if_memory_allows([this] { work_.spawn(attempt()); })) attempt_failed(no_memory);
}

void subchannel::scale() noexcept {
  const std::size_t n = ready_connections();
  if (n > 0 && n < connections_max() && !closing_ && !attempting_ && !pausing_) begin_attempt();
}

task<> subchannel::attempt() {
  using made = result<std::unique_ptr<net::duplex>>;
  made outcome = status::unavailable("not connected");
  try {
    const endpoint to = where_;  // which may change meanwhile
    const std::optional<net::address> proxy = proxy_ ? std::optional(*proxy_) : std::nullopt;
    task<made> dial = proxy ? params_.by->dial_through(loop_, *proxy, to) : params_.by->dial(loop_, to);
    with_timeout<made> limited(connect_timeout, std::move(dial));
    outcome = co_await limited;
  } catch (const coro::cancelled&) {
    outcome = status::unavailable("connecting was cancelled");
  } catch (const std::bad_alloc&) {
    outcome = status::unavailable(no_memory);
  } catch (...) {
    outcome = status::unavailable("the connector threw an exception");
  }
  if (closing_) co_return schedule_state_report();
  if (!outcome) co_return attempt_failed(outcome.status().message());
  if (!base::if_memory_allows([&] { begin_connection(*std::move(outcome)); })) attempt_failed(no_memory);
}

bool subchannel::has_own_security() const noexcept {
  return security_.by && params_.credentials.secure() &&
         params_.credentials.security()->yields_to_control_plane();
}

void subchannel::begin_connection(std::unique_ptr<net::duplex> raw) {
  const bool own = has_own_security();
  const channel_credentials by = own ? security_.by->credentials() : params_.credentials;
  if (!by.failure().ok()) return attempt_failed(by.failure().message());
  transport::connection_options options = params_.connection;
  options.http2.keepalive.time = keepalive_time_;
  reduce_resets(options.http2);
  if (params_.http1) options.http1 = &*params_.http1;
  connections_.reserve(connections_.size() + 1);
  auto stream = security::secured(by, loop_, std::move(raw), own ? security_.host : params_.authority,
                                  params_.http1 ? "http/1.1" : "h2");
  auto made =
      std::make_unique<transport::connection>(loop_, std::move(stream), transport::role::client, options,
                                              static_cast<transport::connection_owner&>(*this), nullptr);
  transport::connection& c = *made;
  connections_.push_back({std::move(made), params_.registry->next_id()});
  // The attempt includes the wait for the server's SETTINGS.
  loop_.arm(*this, deadline_after(attempt_began_, connect_timeout));
  try {
    c.start();
  } catch (const std::bad_alloc&) {
    loop_.disarm(*this);
    connections_.pop_back();
    throw;
  }
}

// The server's limits are not known before it closes a connection because of them.
void subchannel::reduce_resets(http2::limits& l) const noexcept {
  for (std::uint16_t* const n : {&l.own_resets_burst, &l.own_resets_per_second, &l.own_early_resets_burst,
                                 &l.own_early_resets_per_second})
    *n = static_cast<std::uint16_t>(std::max(*n >> reset_shift_, 1));
}

void subchannel::attempt_failed(std::string_view reason) noexcept {
  attempting_ = false;
  measures_.attempt_failed();
  std::string text;
  const bool whole = base::if_memory_allows(
      [&] { text.append("cannot connect to ").append(params_.name).append(": ").append(reason); });
  fail_for(backoff_.next(loop_.io().random()), whole ? std::string_view(text) : no_memory);
}

void subchannel::connection_lost(duration up, std::string_view reason) noexcept {
  if (attempting_ || pausing_) return schedule_state_report();
  const duration pause = backoff_.lost(up, loop_.io().random());
  if (deadline_after(attempt_began_, pause) <= loop_.now()) return schedule_state_report();
  std::string text;
  const bool whole = base::if_memory_allows([&] {
    text.append(params_.name)
        .append(" closes connections shortly after they are established, the last one after ")
        .append(std::to_string(up / std::chrono::milliseconds(1)))
        .append(" ms: ")
        .append(reason);
  });
  fail_for(pause, whole ? std::string_view(text) : no_memory);
}

// Enters TRANSIENT_FAILURE until `pause` after the start of the last attempt.
void subchannel::fail_for(duration pause, std::string_view text) noexcept {
  failure_ = status::unavailable(text);
  loop_.log().write(log_room::client, log_level::info, text);
  record_event(text, severity::warning);
  pausing_ = true;
  loop_.arm(*this, deadline_after(attempt_began_, pause));
  schedule_state_report();
}

void subchannel::on_timer() noexcept {
  if (std::exchange(pausing_, false)) return schedule_state_report();
  if (!attempting_ || connections_.empty()) return;
  connections_.back().connection->close(
      transport::error_code::no_error, params_.http1
                                           ? "the connection was not established within the connect timeout"
                                           : "the server sent no HTTP/2 SETTINGS within the connect timeout");
}

void subchannel::on_ready(transport::connection& c) noexcept {
  connection_entry* l = entry_of(c);
  if (!l || l->draining || closing_ || std::exchange(l->ready, true)) return;
  attempting_ = false;
  ++bytes_before_.connections;
  l->secure = c.auth() != nullptr;
  measures_.handshake_ended(c);
  measures_.attempt_succeeded();
  measures_.opened(c);
  if (timer::holder) loop_.disarm(*this);
  l->ready_since = loop_.now();
  record_event("connected", severity::info);
  // Over HTTP/1.1 the watch would occupy the connection.
  if (health_service_ && !params_.http1 && !base::if_memory_allows([&] { begin_health(*l); }))
    return c.close(transport::error_code::no_error, no_memory);
  begin_load(*l);
  if (const auto before = std::exchange(dialed_, nullptr)) leave_withdrawn(*l, *before);
  schedule_state_report();
}

void subchannel::begin_health(connection_entry& l) {
  l.health = std::make_shared<health_watch>(*l.connection, params_, *health_service_,
                                            static_cast<health_watch_owner&>(*this));
  work_.spawn(check_health(l.health));
}

task<> subchannel::check_health(std::shared_ptr<health_watch> w) {
  const health_watch& of = *w;
  try {
    co_await health_watch::run(w);
  } catch (const std::bad_alloc&) {
    // Without the watch, nothing would tell whether the connection may be used.
    const auto watched = std::find_if(connections_.begin(), connections_.end(),
                                      [&](const connection_entry& l) { return l.health.get() == &of; });
    if (watched != connections_.end()) watched->connection->close(transport::error_code::no_error, no_memory);
  }
  if (closing_) schedule_state_report();
}

void subchannel::stop_watches(connection_entry& l) noexcept {
  if (const auto stopped = std::exchange(l.health, nullptr)) stopped->stop();
  if (const auto stopped = std::exchange(l.load, nullptr)) stopped->stop();
}

void subchannel::eject(const status& reason) noexcept {
  if (ejected_.ok() == reason.ok()) return;
  ejected_ = reason;
  schedule_state_report();
}

// --- the load of the server

void subchannel::report_load_to(load_listener& l, bool with_calls, std::optional<duration> interval) {
  loads_ = &l;
  load_of_calls_ = with_calls;
  if (std::exchange(load_interval_, interval) == interval) return;
  for (connection_entry& c : connections_) {
    if (!c.ready || c.draining) continue;
    if (const auto stopped = std::exchange(c.load, nullptr)) stopped->stop();
    begin_load(c);
  }
}

// Without memory for it, this call is not observed.
const call_target& subchannel::observed_target(const call_target& of_channel, call_attempt* a,
                                               const transport::exchange* x) noexcept {
  if (a && a->has_place()) [[unlikely]]
    a->release_place();
  // Credentials that yield to a control plane may be plaintext for some servers, and TLS for this one.
  const bool secure = params_.credentials.secure() && x && x->auth();
  const call_route* const route = a ? a->terms().route.get() : nullptr;
  const bool rewritten = route && route->rewrites_authority && !host_name_.empty();
  std::unique_ptr<call_target>& mine = own_targets_[(secure ? 2 : 0) + (rewritten ? 1 : 0)];
  if (!mine) [[unlikely]]
    if (!add_own_target(mine, of_channel, secure, rewritten)) return of_channel;
  if (attempts_) attempts_->began();
  return *mine;
}

CORACLE_COLD bool subchannel::add_own_target(std::unique_ptr<call_target>& to, const call_target& of_channel,
                                             bool secure, bool rewritten) noexcept {
  to.reset(new (std::nothrow) call_target(of_channel));
  if (!to) return false;
  to->ends = this;
  to->labels = measures_.labels();
  if (secure) to->scheme = "https";
  to->is_rewritten = rewritten;
  if (rewritten) to->authority = host_name_;
  return true;
}

// The authority of a target is read when its headers are written, and not after that.
void subchannel::name_host(std::string name) {
  host_name_ = std::move(name);
  for (const auto& t : own_targets_)
    if (t && t->is_rewritten) t->authority = host_name_;
}

void subchannel::hold_place_for(call_attempt& a) noexcept {
  if (!attempts_ || a.has_place()) return;
  // Without memory for it, the call is counted when it has a stream.
  base::if_memory_allows([&] { a.hold_place(attempts_->place()); });
}

// Over HTTP/1.1 the watch would occupy the connection. Without memory for it, the connection has no reports.
void subchannel::begin_load(connection_entry& l) noexcept {
  if (!load_interval_ || params_.http1) return;
  base::if_memory_allows([&] {
    l.load = std::make_shared<load_watch>(*l.connection, params_, std::max(*load_interval_, duration(0)),
                                          static_cast<load_watch_owner&>(*this));
    work_.spawn(receive_load(l.load));
  });
}

task<> subchannel::receive_load(std::shared_ptr<load_watch> w) {
  try {
    co_await load_watch::run(std::move(w));
  } catch (const std::bad_alloc&) {
  }
  if (closing_) schedule_state_report();
}

void subchannel::on_load(const load_report& load) noexcept {
  if (loads_) loads_->on_load(*this, load);
}

void subchannel::on_no_load() noexcept {
  record_event("the server does not report its load out of band", severity::warning);
}

void subchannel::attempt_ended(status_code code, const metadata& trailing) noexcept {
  if (outcomes_) outcomes_->add(code == status_code::ok);
  if (attempts_) attempts_->ended(code, trailing);
  if (loads_ && load_of_calls_) [[unlikely]]
    report_load(trailing);
}

CORACLE_COLD void subchannel::report_load(const metadata& trailing) noexcept {
  base::if_memory_allows([&] {
    if (const auto load = load_report::of_call(trailing)) loads_->on_load(*this, *load);
  });
}

// --- calls

transport::exchange subchannel::open(transport::exchange_handler& handler) {
  for (connection_entry& l : connections_) {
    if (!l.serves()) continue;
    if (transport::exchange x = l.connection->open(handler)) return x;
  }
  return {};
}

bool subchannel::can_open() const noexcept {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const connection_entry& l) { return l.serves() && l.connection->can_open(); });
}

std::size_t subchannel::open_calls() const noexcept {
  std::size_t n = 0;
  for (const connection_entry& l : connections_) {
    const std::size_t streams = l.connection->open_streams();
    const std::size_t watches = (l.health && l.health->open() ? 1 : 0) + (l.load && l.load->open() ? 1 : 0);
    n += streams - std::min(streams, watches);
  }
  return n;
}

connection_bytes subchannel::bytes() const noexcept {
  connection_bytes all = bytes_before_;
  for (const connection_entry& l : connections_) {
    all.sent += l.connection->bytes_sent();
    all.received += l.connection->bytes_received();
  }
  return all;
}

std::shared_ptr<const auth_context> subchannel::server_auth() const {
  for (const connection_entry& l : connections_)
    if (const auth_context* const by = l.connection->auth(); by && l.serves()) return by->shared_from_this();
  return nullptr;
}

rpc::subchannel_snapshot subchannel::stats(std::uint64_t detailed) const {
  rpc::subchannel_snapshot s;
  s.id = id_;
  s.address = where_.address().to_string();
  s.state = name_of(state());
  s.trace = trace_;
  s.connections_max = connections_max();
  s.last_call_started = rpc::to_wall_time(loop_, last_stream_before_);
  s.calls_started = streams_before_;
  s.calls_succeeded = calls_ok_before_;
  std::uint64_t open = 0;
  for (const connection_entry& l : connections_) {
    s.connections.push_back(rpc::take_snapshot(loop_, l.id, *l.connection, l.id == detailed));
    s.calls_started += s.connections.back().streams_started;
    s.last_call_started = std::max(s.last_call_started, s.connections.back().last_stream_started);
    s.calls_succeeded += l.connection->messages().calls_ok;
    open += s.connections.back().streams_open;
  }
  const std::uint64_t not_failed = s.calls_succeeded + open;
  s.calls_failed = s.calls_started > not_failed ? s.calls_started - not_failed : 0;
  return s;
}

void subchannel::on_slots(transport::connection&) noexcept {
  if (!closing_) owner_.on_slots(*this);
}

void subchannel::on_health(health_watch& w) noexcept {
  const auto describe = [&] {
    std::string text = where_.address().to_string();
    if (w.serving_state() == health_watch::verdict::not_serving) {
      text.append(" reports that it does not serve \"").append(*health_service_).append("\"");
      failure_ = status::unavailable(text);
    } else if (w.serving_state() == health_watch::verdict::failed) {
      text.append(": the health check of \"").append(*health_service_).append("\" failed with ");
      failure_ = status::unavailable(text.append(base::printable(w.failure().to_string())));
    }
  };
  if (!base::if_memory_allows(describe)) failure_ = status::unavailable(no_memory);
  schedule_state_report();
}

// --- losing connections

namespace {

bool has_address(const endpoint& e, const net::address& a) {
  return e.address() == a ||
         std::find(e.other_addresses().begin(), e.other_addresses().end(), a) != e.other_addresses().end();
}

}  // namespace

void subchannel::set_where(const endpoint& e) {
  if (where_ == e) return;
  const endpoint before = std::exchange(where_, e);
  if (before.other_addresses() == e.other_addresses()) return;
  if (attempting_ && !dialed_) dialed_ = std::make_unique<const endpoint>(before);
  for (connection_entry& l : connections_)
    if (l.ready) leave_withdrawn(l, before);
}

// A connection to an address that is in neither list, because a proxy or the program's connector made it,
// stays.
void subchannel::leave_withdrawn(connection_entry& l, const endpoint& before) noexcept {
  const net::address& at = l.connection->peer_address();
  if (l.draining || closing_ || has_address(where_, at) || !has_address(before, at)) return;
  l.draining = true;
  stop_watches(l);
  record_event("disconnected: the server no longer has this address", severity::info);
  l.connection->drain();
  schedule_state_report();
}

void subchannel::connect_through(const std::optional<net::address>& proxy) {
  proxy_ = proxy ? std::make_unique<const net::address>(*proxy) : nullptr;
}

void subchannel::on_going_away(transport::connection& c) noexcept {
  connection_entry* l = entry_of(c);
  if (!l || std::exchange(l->draining, true)) return;
  stop_watches(*l);
  if (c.asked_for_fewer_resets() && reset_shift_ < reset_shift_max) ++reset_shift_;
  if (c.sent_too_many_pings() && keepalive_time_ < duration::max() / 2) keepalive_time_ *= 2;
  if (closing_) return;
  if (l->ready) {
    base::if_memory_allows(
        [&] { record_event(std::string("disconnected: ").append(c.end_reason()), severity::info); });
    // A server of HTTP/1.1 may close after each response, and a cancelled call closes its connection.
    if (params_.http1 && (c.stats().streams_succeeded > 0 || c.abandoned())) return schedule_state_report();
    // A healthy server may drain its connections at any rate, such as with each change of its configuration.
    if (c.peer_says().goaway == http2::error_code::no_error && c.messages().calls_ok > 0) {
      if (!attempting_ && !pausing_) backoff_.reset();
      return schedule_state_report();
    }
    return connection_lost(loop_.now() - l->ready_since, c.end_reason());
  }
  if (timer::holder) loop_.disarm(*this);
  measures_.handshake_ended(c);
  attempt_failed(c.end_reason());
}

void subchannel::on_closed(transport::connection& c) noexcept {
  on_going_away(c);
  if (const connection_entry* const l = entry_of(c); l && l->ready) measures_.closed(c, l->secure);
  streams_before_ += c.stats().streams_started;
  calls_ok_before_ += c.messages().calls_ok;
  last_stream_before_ = std::max(last_stream_before_, c.stats().last_stream_started);
  bytes_before_.sent += c.bytes_sent();
  bytes_before_.received += c.bytes_received();
  std::erase_if(connections_, [&](const connection_entry& l) { return l.connection.get() == &c; });
  if (closing_) schedule_state_report();
}

void subchannel::end_connections(bool at_once, std::string_view reason) noexcept {
  closing_ = true;
  attempting_ = pausing_ = false;
  if (timer::holder) loop_.disarm(*this);
  loads_ = nullptr;
  for (connection_entry& l : connections_) stop_watches(l);
  work_.request_stop();
  for (connection_entry& l : connections_) {
    // A connection whose server has not sent its SETTINGS has no calls to wait for.
    if (at_once || !l.ready) l.connection->close(transport::error_code::no_error, reason);
    else l.connection->drain();
  }
  schedule_state_report();
}

// --- notifying the owner

void subchannel::schedule_state_report() noexcept {
  record_state();
  if (std::exchange(report_scheduled_, true)) return;
  loop_.post(*this);
}

void subchannel::report_state() noexcept {
  report_scheduled_ = false;
  if (!closing_) return owner_.on_state(*this);
  if (connections_.empty() && work_.running() == 0) owner_.on_drained(*this);  // destroys this
}

void subchannel::record_event(std::string_view text, severity level) noexcept {
  trace_.add(loop_.wall_now(), text, level);
  loop_.log().in(log_room::client).debug(params_.name, ": ", text);
}

void subchannel::record_state() noexcept {
  const connectivity now = state();
  if (std::exchange(recorded_state_, now) == now) return;
  if (now == connectivity::ready) {
    ++times_ready_;
    ready_since_ = loop_.now();
  }
  record_event(name_of(now), severity_of(now));
}

subchannel::connection_entry* subchannel::entry_of(const transport::connection& c) noexcept {
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [&](const connection_entry& l) { return l.connection.get() == &c; });
  return found == connections_.end() ? nullptr : &*found;
}

std::size_t subchannel::ready_connections() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(connections_.begin(), connections_.end(),
                    [](const connection_entry& l) { return l.ready && !l.draining; }));
}

}  // namespace coracle::client
