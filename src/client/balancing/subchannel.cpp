#include "client/balancing/subchannel.hpp"

#include "base/hot_and_cold.hpp"
#include "base/if_memory_allows.hpp"
#include "base/printable.hpp"
#include "coracle/coro/stop_on.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/net/connect.hpp"
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
      made_(owner_loop.wall_now()) {
  runnable::run = [](coro::runnable& w) noexcept { static_cast<subchannel&>(w).check(); };
}

subchannel::~subchannel() {
  CORACLE_ASSERT(connections_.empty() && !check_scheduled_,
                 "a subchannel was destroyed before its connections");
  disarm();
}

connectivity subchannel::state() const noexcept {
  const connectivity c = connection_state();
  return ejected_.ok() || c == connectivity::shutdown ? c : connectivity::transient_failure;
}

const status& subchannel::failure() const noexcept {
  static const status none;
  if (!ejected_.ok()) return ejected_;
  return history_ ? history_->failure : none;
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

void subchannel::connect() {
  if (connection_state() == connectivity::idle) begin_attempt();
}

subchannel::history& subchannel::kept() {
  if (!history_) history_ = std::make_unique<history>(made_, params_.connection.http2.keepalive.time);
  return *history_;
}

void subchannel::begin_attempt() {
  history& h = kept();
  if (!activity_) activity_ = std::make_unique<activity>(*this);
  const auto is_stable = [this](const connection_entry& l) {
    return l.ready && !l.draining && loop_.now() - l.ready_since >= stable_time;
  };
  if (std::any_of(connections_.begin(), connections_.end(), is_stable)) h.pauses.reset();
  attempting_ = true;
  activity_->attempt_began = loop_.now();
  record_state();
  const bool begun = base::if_memory_allows([this] {
    std::shared_ptr<address_pass>& pass = activity_->pass;
    pass = std::make_shared<address_pass>();
    pass->is_dialing = true;
    activity_->work.spawn(attempt(pass));
  });
  if (!begun) attempt_failed(no_memory);
}

void subchannel::scale() noexcept {
  const std::size_t n = ready_connections();
  if (n > 0 && n < connections_max() && !closing_ && !attempting_ && !pausing_) begin_attempt();
}

task<result<std::unique_ptr<net::duplex>>> subchannel::dial(address_pass& of, const endpoint& to) {
  using made = result<std::unique_ptr<net::duplex>>;
  const std::optional<net::address> proxy = access_ ? access_->proxy : std::nullopt;
  task<made> whole = proxy ? params_.by->dial_through(loop_, *proxy, to)
                           : params_.by->dial_and_follow(loop_, to, of.running);
  stop_on<made> limited(of.stop_token(), std::move(whole));
  co_return co_await limited;
}

task<> subchannel::attempt(std::shared_ptr<address_pass> of) {
  using made = result<std::unique_ptr<net::duplex>>;
  made outcome = status::unavailable("not connected");
  const time_point end = deadline_after(loop_.now(), connect_timeout);
  bool enough = true;  // memory
  while (enough) {
    try {
      const std::optional<endpoint> to = of->rest(where_);
      if (!to) break;
      of->dialed = to;
      with_timeout<made> limited(end - loop_.now(), dial(*of, *to));
      outcome = co_await limited;
      if (outcome && has_withdrawn((*outcome)->peer_address(), *of->dialed))
        outcome = status::unavailable("the server no longer has this address");
    } catch (const coro::cancelled&) {
      outcome = status::unavailable("connecting was cancelled");
    } catch (const std::bad_alloc&) {
      outcome = status::unavailable(no_memory);
      enough = false;
    } catch (...) {
      outcome = status::unavailable("the connector threw an exception");
    }
    const bool was_stopped = of->was_stopped();
    if (outcome || closing_ || of != activity_->pass) break;
    // The server may have addresses by now that were not dialed.
    if (!was_stopped) enough = enough && base::if_memory_allows([&] { of->tried(*of->dialed); });
  }
  if (closing_) co_return schedule_check();
  if (of != activity_->pass) {  // another address was faster
    if (connections_.empty()) schedule_check();
    co_return;
  }
  of->is_dialing = false;
  if (!outcome && awaits_settings()) co_return arm_attempt_timer(false);
  if (!outcome) co_return attempt_failed(outcome.status().message());
  if (!base::if_memory_allows([&] { begin_connection(*std::move(outcome), *of->dialed); }))
    attempt_failed(no_memory);
}

bool subchannel::has_own_security() const noexcept {
  return security_ && security_->by && params_.credentials.secure() &&
         params_.credentials.security()->yields_to_control_plane();
}

void subchannel::begin_connection(std::unique_ptr<net::duplex> raw, const endpoint& dialed) {
  const bool own = has_own_security();
  const channel_credentials by = own ? security_->by->credentials() : params_.credentials;
  if (!by.failure().ok()) return attempt_failed(by.failure().message());
  transport::connection_options options = params_.connection;
  options.http2.keepalive.time = history_->keepalive_time;
  reduce_resets(options.http2);
  if (params_.http1) options.http1 = &*params_.http1;
  connections_.reserve(connections_.size() + 1);
  auto stream = security::secured(by, loop_, std::move(raw), own ? security_->host : params_.authority,
                                  params_.http1 ? "http/1.1" : "h2");
  auto made =
      std::make_unique<transport::connection>(loop_, std::move(stream), transport::role::client, options,
                                              static_cast<transport::connection_owner&>(*this), nullptr);
  transport::connection& c = *made;
  connections_.push_back({std::move(made), params_.registry->next_id()});
  try {
    address_pass& pass = *activity_->pass;
    pass.reached(dialed, c.peer_address());
    arm_attempt_timer(pass.rest(where_).has_value());
    c.start();
  } catch (const std::bad_alloc&) {
    disarm();
    connections_.pop_back();
    throw;
  }
}

// The attempt includes the wait for the server's SETTINGS.
void subchannel::arm_attempt_timer(bool next_address) {
  loop_.arm(*activity_, next_address ? deadline_after(loop_.now(), net::connection_attempt_delay)
                                     : deadline_after(activity_->attempt_began, connect_timeout));
}

// gRFC A61: beside one that is silent, and after one that breaks.
bool subchannel::try_next_address() noexcept {
  const std::shared_ptr<address_pass> pass = activity_->pass;  // which the attempt may end at once
  if (!pass || pass->is_dialing) return pass != nullptr;
  bool begun = false;
  base::if_memory_allows([&] {
    if (!pass->rest(where_)) return;
    task<> dialing = attempt(pass);
    begun = pass->is_dialing = true;
    activity_->work.spawn(std::move(dialing));
  });
  return begun;
}

bool subchannel::awaits_settings() const noexcept {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const connection_entry& l) { return !l.ready && !l.draining; });
}

void subchannel::end_pass(std::string_view reason) noexcept {
  const std::shared_ptr<address_pass> pass = std::exchange(activity_->pass, nullptr);
  if (!pass) return;
  if (pass->is_dialing) pass->stop_dialing();
  close_unready(reason);
}

void subchannel::close_unready(std::string_view reason) noexcept {
  for (connection_entry& l : connections_)
    if (!l.ready && !l.draining) l.connection->close(transport::error_code::no_error, reason);
}

// The server's limits are not known before it closes a connection because of them.
void subchannel::reduce_resets(http2::limits& l) const noexcept {
  for (std::uint16_t* const n : {&l.own_resets_burst, &l.own_resets_per_second, &l.own_early_resets_burst,
                                 &l.own_early_resets_per_second})
    *n = static_cast<std::uint16_t>(std::max(*n >> history_->reset_shift, 1));
}

void subchannel::attempt_failed(std::string_view reason) noexcept {
  attempting_ = false;
  end_pass(reason);
  measures().attempt_failed();
  std::string text;
  const bool whole = base::if_memory_allows(
      [&] { text.append("cannot connect to ").append(params_.name).append(": ").append(reason); });
  fail_for(history_->pauses.next(loop_.io().random()), whole ? std::string_view(text) : no_memory);
}

void subchannel::connection_lost(duration up, std::string_view reason) noexcept {
  if (attempting_ || pausing_) return schedule_state_report();
  const duration pause = history_->pauses.lost(up, loop_.io().random());
  if (deadline_after(activity_->attempt_began, pause) <= loop_.now()) return schedule_state_report();
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
  history_->failure = status::unavailable(text);
  loop_.log().write(log_room::client, log_level::info, text);
  record_event(text, severity::warning);
  pausing_ = true;
  loop_.arm(*activity_, deadline_after(activity_->attempt_began, pause));
  schedule_state_report();
}

void subchannel::on_timer() noexcept {
  if (std::exchange(pausing_, false)) return schedule_state_report();
  if (!attempting_ || try_next_address()) return;
  // The others have gone, or memory has run out: this one has the rest of the time.
  if (loop_.now() < deadline_after(activity_->attempt_began, connect_timeout))
    return arm_attempt_timer(false);
  close_unready(params_.http1 ? "the connection was not established within the connect timeout"
                              : "the server sent no HTTP/2 SETTINGS within the connect timeout");
}

void subchannel::disarm() noexcept {
  if (activity_ && activity_->holder) loop_.disarm(*activity_);
}

void subchannel::on_ready(transport::connection& c) noexcept {
  connection_entry* l = entry_of(c);
  if (!l || l->draining || closing_ || std::exchange(l->ready, true)) return;
  attempting_ = false;
  end_pass("another address of the server was faster");
  ++history_->bytes.connections;
  l->secure = c.auth() != nullptr;
  measures().handshake_ended(c);
  measures().attempt_succeeded();
  measures().opened(c);
  disarm();
  l->ready_since = loop_.now();
  record_event("connected", severity::info);
  // Over HTTP/1.1 the watch would occupy the connection.
  if (health_service_ && !params_.http1 && !base::if_memory_allows([&] { begin_health(*l); }))
    return c.close(transport::error_code::no_error, no_memory);
  begin_load(*l);
  schedule_state_report();
}

void subchannel::begin_health(connection_entry& l) {
  l.health = std::make_shared<health_watch>(*l.connection, params_, *health_service_,
                                            static_cast<health_watch_owner&>(*activity_));
  activity_->work.spawn(check_health(l.health));
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
  if (closing_ || connections_.empty()) schedule_check();
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
  const bool rewritten = route && route->rewrites_authority && access_ && !access_->hostname.empty();
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
  to->labels = labels_;
  if (secure) to->scheme = "https";
  to->is_rewritten = rewritten;
  if (rewritten) to->authority = access_->hostname;
  return true;
}

// The authority of a target is read when its headers are written, and not after that.
void subchannel::reach_by(std::shared_ptr<const server_access> a) noexcept {
  access_ = std::move(a);
  for (const auto& t : own_targets_)
    if (t && t->is_rewritten)
      t->authority = access_ ? std::string_view(access_->hostname) : std::string_view();
}

void subchannel::set_user(subchannel_user& another) noexcept {
  user_ = &another;
  loads_ = nullptr;
  load_of_calls_ = false;
  load_interval_.reset();
  for (connection_entry& l : connections_)
    if (const auto stopped = std::exchange(l.load, nullptr)) stopped->stop();
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
                                          static_cast<load_watch_owner&>(*activity_));
    activity_->work.spawn(receive_load(l.load));
  });
}

task<> subchannel::receive_load(std::shared_ptr<load_watch> w) {
  try {
    co_await load_watch::run(std::move(w));
  } catch (const std::bad_alloc&) {
  }
  if (closing_ || connections_.empty()) schedule_check();
}

void subchannel::activity::on_load(const load_report& load) noexcept {
  if (of.loads_) of.loads_->on_load(of, load);
}

void subchannel::activity::on_no_load() noexcept {
  of.record_event("the server does not report its load out of band", severity::warning);
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
  connection_bytes all = history_ ? history_->bytes : connection_bytes();
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
  s.trace = history_ ? history_->trace : rpc::event_trace(made_);
  s.connections_max = connections_max();
  if (history_) {
    s.last_call_started = rpc::to_wall_time(loop_, history_->last_stream);
    s.calls_started = history_->streams;
    s.calls_succeeded = history_->calls_ok;
  }
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

void subchannel::activity::on_health(health_watch& w) noexcept {
  status& failure = of.history_->failure;
  const auto describe = [&] {
    std::string text = of.where_.address().to_string();
    if (w.serving_state() == health_watch::verdict::not_serving) {
      text.append(" reports that it does not serve \"").append(*of.health_service_).append("\"");
      failure = status::unavailable(text);
    } else if (w.serving_state() == health_watch::verdict::failed) {
      text.append(": the health check of \"").append(*of.health_service_).append("\" failed with ");
      failure = status::unavailable(text.append(base::printable(w.failure().to_string())));
    }
  };
  if (!base::if_memory_allows(describe)) failure = status::unavailable(no_memory);
  of.schedule_state_report();
}

// --- losing connections

void subchannel::set_where(const endpoint& e) {
  if (where_ == e) return;
  endpoint before = e;
  std::swap(before, where_);
  const auto gone = [&](const net::address& a) { return has_withdrawn(a, before); };
  const bool any_gone = gone(before.address()) || std::ranges::any_of(before.other_addresses(), gone);
  const std::shared_ptr<address_pass> pass = attempting_ ? activity_->pass : nullptr;
  if (pass && pass->is_dialing && !redirect(*pass) && any_gone) pass->stop_dialing();
  // Another address waits beside one that is silent: without memory for it, as long as that has time.
  base::if_memory_allows([&] {
    if (!pass || pass->is_dialing || pass->rest(before) || !pass->rest(where_)) return;
    const time_point due = deadline_after(loop_.now(), net::connection_attempt_delay);
    // One that comes and goes does not begin its wait anew.
    if (!activity_->holder || due < activity_->when) loop_.arm(*activity_, due);
  });
  if (!any_gone) return;
  for (std::size_t i = 0; i < connections_.size(); ++i) {  // the end of one may begin another
    connection_entry& l = connections_[i];
    if (l.draining || closing_ || !gone(l.connection->peer_address())) continue;
    if (l.ready) leave_withdrawn(l);
    else l.connection->close(transport::error_code::no_error, "the server no longer has this address");
  }
}

// What is dialed goes on beside addresses that come and go. Returns false if it cannot.
bool subchannel::redirect(address_pass& pass) const noexcept {
  bool goes_on = false;
  base::if_memory_allows([&] {
    std::optional<endpoint> rest = pass.rest(where_);
    if (!rest || !pass.running) return;
    goes_on = pass.running->change_to(*rest);
    if (goes_on) pass.dialed = std::move(rest);
  });
  return goes_on;
}

void subchannel::leave_withdrawn(connection_entry& l) noexcept {
  l.draining = true;
  stop_watches(l);
  record_event("disconnected: the server no longer has this address", severity::info);
  l.connection->drain();
  schedule_state_report();
}

void subchannel::on_going_away(transport::connection& c) noexcept {
  connection_entry* l = entry_of(c);
  if (!l || std::exchange(l->draining, true)) return;
  stop_watches(*l);
  if (c.asked_for_fewer_resets() && history_->reset_shift < reset_shift_max) ++history_->reset_shift;
  if (c.sent_too_many_pings() && history_->keepalive_time < duration::max() / 2)
    history_->keepalive_time *= 2;
  if (closing_) return;
  if (l->ready) {
    base::if_memory_allows(
        [&] { record_event(std::string("disconnected: ").append(c.end_reason()), severity::info); });
    // A server of HTTP/1.1 may close after each response, and a cancelled call closes its connection.
    if (params_.http1 && (c.stats().streams_succeeded > 0 || c.abandoned())) return schedule_state_report();
    // A healthy server may drain its connections at any rate, such as with each change of its configuration.
    if (c.peer_says().goaway == http2::error_code::no_error && c.messages().calls_ok > 0) {
      if (!attempting_ && !pausing_) history_->pauses.reset();
      return schedule_state_report();
    }
    return connection_lost(loop_.now() - l->ready_since, c.end_reason());
  }
  measures().handshake_ended(c);
  if (!attempting_) return;  // it has ended: another address was faster
  if (try_next_address() || awaits_settings()) return;
  disarm();
  attempt_failed(c.end_reason());
}

void subchannel::on_closed(transport::connection& c) noexcept {
  on_going_away(c);
  if (const connection_entry* const l = entry_of(c); l && l->ready) measures().closed(c, l->secure);
  history_->streams += c.stats().streams_started;
  history_->calls_ok += c.messages().calls_ok;
  history_->last_stream = std::max(history_->last_stream, c.stats().last_stream_started);
  history_->bytes.sent += c.bytes_sent();
  history_->bytes.received += c.bytes_received();
  std::erase_if(connections_, [&](const connection_entry& l) { return l.connection.get() == &c; });
  if (closing_ || connections_.empty()) schedule_check();
}

void subchannel::end_connections(bool at_once, std::string_view reason) noexcept {
  closing_ = true;
  attempting_ = pausing_ = false;
  if (activity_) activity_->pass = nullptr;
  disarm();
  loads_ = nullptr;
  security_ = nullptr;
  for (connection_entry& l : connections_) stop_watches(l);
  if (activity_) activity_->work.request_stop();
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
  report_due_ = true;
  schedule_check();
}

void subchannel::schedule_check() noexcept {
  if (!std::exchange(check_scheduled_, true)) loop_.post(*this);
}

void subchannel::check() noexcept {
  check_scheduled_ = false;
  if (std::exchange(report_due_, false) && !closing_) owner_.on_state(*this);
  const bool works = attempting_ || pausing_ || (activity_ && activity_->work.running() > 0);
  if (check_scheduled_ || works || !connections_.empty()) return;
  if (closing_) return owner_.on_drained(*this);  // destroys this
  activity_ = nullptr;
  std::vector<connection_entry>().swap(connections_);
}

void subchannel::record_event(std::string_view text, severity level) noexcept {
  // A subchannel that was never used records nothing of its end.
  if (history_ || (!closing_ && base::if_memory_allows([this] { kept(); })))
    history_->trace.add(loop_.wall_now(), text, level);
  loop_.log().in(log_room::client).debug(params_.name, ": ", text);
}

void subchannel::record_state() noexcept {
  const connectivity now = state();
  if (std::exchange(recorded_state_, now) == now) return;
  if (now == connectivity::ready) {
    ++history_->times_ready;
    history_->ready_since = loop_.now();
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
