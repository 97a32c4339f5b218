#include "client/subchannel.hpp"

#include "base/printable.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "rpc/channel_registry.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <utility>

namespace coracle::client {

using severity = rpc::traced_event::severity;

subchannel::subchannel(loop& home, const connecting& how, endpoint where, subchannel_owner& owner)
    : home_(home),
      how_(how),
      where_(std::move(where)),
      owner_(owner),
      id_(how.registry->next_id()),
      trace_(home.wall_now()),
      keepalive_time_(how.connection.http2.keepalive.time) {
  timer::fire = [](coro::timer& t) noexcept { static_cast<subchannel&>(t).time_is_up(); };
  work::run = [](coro::work& w) noexcept { static_cast<subchannel&>(w).told(); };
}

subchannel::~subchannel() {
  CORACLE_ASSERT(lines_.empty() && !telling_, "a subchannel was destroyed before its connections");
  if (timer::holder) home_.disarm(*this);
}

connectivity subchannel::state() const noexcept {
  if (leaving_) return connectivity::shutdown;
  const auto any = [this](auto is) { return std::any_of(lines_.begin(), lines_.end(), is); };
  if (any([](const line& l) { return l.serves(); })) return connectivity::ready;
  using verdict = health_watch::verdict;
  const auto says = [](const line& l, verdict v) { return !l.going && l.health && l.health->says() == v; };
  if (attempting_ || any([&](const line& l) { return says(l, verdict::unknown); }))
    return connectivity::connecting;
  if (any([&](const line& l) { return says(l, verdict::not_serving) || says(l, verdict::failed); }))
    return connectivity::transient_failure;
  return pausing_ ? connectivity::transient_failure : connectivity::idle;
}

// --- connecting

void subchannel::connect() noexcept {
  if (state() == connectivity::idle) begin_attempt();
}

void subchannel::begin_attempt() noexcept {
  const auto settled = [this](const line& l) {
    return l.ready && !l.going && home_.now() - l.ready_since >= settled_time;
  };
  if (std::any_of(lines_.begin(), lines_.end(), settled)) backoff_.reset();
  attempting_ = true;
  attempt_began_ = home_.now();
  note_state();
  work_.spawn(attempt());
}

void subchannel::scale() noexcept {
  const std::size_t n = ready_lines();
  if (n > 0 && n < connections_max_ && !leaving_ && !attempting_ && !pausing_) begin_attempt();
}

task<> subchannel::attempt() {
  using made = result<std::unique_ptr<net::duplex>>;
  task<made> dial = how_.by->dial(home_, where_);
  with_timeout<made> limited(connect_timeout, std::move(dial));
  made outcome = status::unavailable("not connected");
  try {
    outcome = co_await limited;
  } catch (const coro::cancelled&) {
    outcome = status::unavailable("connecting was cancelled");
  } catch (...) {
    outcome = status::unavailable("the connector threw an exception");
  }
  if (leaving_) co_return tell();
  if (!outcome) co_return attempt_failed(outcome.status().message());
  transport::connection_options options = how_.connection;
  options.http2.keepalive.time = keepalive_time_;
  auto stream = security::secured(how_.credentials, home_, *std::move(outcome), how_.authority);
  lines_.push_back(
      {std::make_unique<transport::connection>(home_, std::move(stream), transport::role::client, options,
                                               static_cast<transport::connection_owner&>(*this), nullptr),
       how_.registry->next_id()});
  // The attempt includes the wait for the server's SETTINGS.
  home_.arm(*this, deadline_after(attempt_began_, connect_timeout));
  lines_.back().connection->start();
}

void subchannel::attempt_failed(std::string_view why) noexcept {
  attempting_ = false;
  std::string text = "cannot connect to " + how_.name;
  fail_for(backoff_.next(home_.io().random()), std::move(text.append(": ").append(why)));
}

void subchannel::connection_lost(duration up, std::string_view why) noexcept {
  if (attempting_ || pausing_) return tell();
  const duration pause = backoff_.lost(up, home_.io().random());
  if (deadline_after(attempt_began_, pause) <= home_.now()) return tell();
  std::string text =
      how_.name + " closes connections shortly after they are established, the last one after ";
  text.append(std::to_string(up / std::chrono::milliseconds(1))).append(" ms: ").append(why);
  fail_for(pause, std::move(text));
}

// Enters TRANSIENT_FAILURE until `pause` after the start of the last attempt.
void subchannel::fail_for(duration pause, std::string text) noexcept {
  failure_ = status::unavailable(text);
  home_.log().write(log_level::info, text);
  note(text, severity::warning);
  pausing_ = true;
  home_.arm(*this, deadline_after(attempt_began_, pause));
  tell();
}

void subchannel::time_is_up() noexcept {
  if (std::exchange(pausing_, false)) return tell();
  if (!attempting_ || lines_.empty()) return;
  lines_.back().connection->close(transport::error_code::no_error,
                                  "the server sent no HTTP/2 SETTINGS within the connect timeout");
}

void subchannel::on_ready(transport::connection& c) noexcept {
  line* l = line_of(c);
  if (!l || l->going || leaving_ || std::exchange(l->ready, true)) return;
  attempting_ = false;
  if (timer::holder) home_.disarm(*this);
  l->ready_since = home_.now();
  note("connected", severity::info);
  if (health_service_) {
    l->health =
        std::make_shared<health_watch>(c, how_, *health_service_, static_cast<health_watch_owner&>(*this));
    work_.spawn(check_health(l->health));
  }
  tell();
}

task<> subchannel::check_health(std::shared_ptr<health_watch> w) {
  co_await health_watch::run(std::move(w));
  if (leaving_) tell();
}

void subchannel::stop_health(line& l) noexcept {
  if (const auto stopped = std::exchange(l.health, nullptr)) stopped->stop();
}

// --- calls

transport::exchange subchannel::open(transport::exchange_handler& handler) {
  for (line& l : lines_) {
    if (!l.serves()) continue;
    if (transport::exchange x = l.connection->open(handler)) return x;
  }
  return {};
}

bool subchannel::can_open() const noexcept {
  return std::any_of(lines_.begin(), lines_.end(),
                     [](const line& l) { return l.serves() && l.connection->can_open(); });
}

std::size_t subchannel::open_calls() const noexcept {
  std::size_t n = 0;
  for (const line& l : lines_) {
    const std::size_t streams = l.connection->open_streams();
    n += streams - std::min<std::size_t>(streams, l.health && l.health->open() ? 1 : 0);
  }
  return n;
}

rpc::subchannel_snapshot subchannel::figures() const {
  rpc::subchannel_snapshot s;
  s.id = id_;
  s.address = where_.address().to_string();
  s.state = name_of(state());
  s.trace = trace_;
  s.calls_started = streams_before_;
  s.calls_succeeded = calls_ok_before_;
  std::uint64_t open = 0;
  for (const line& l : lines_) {
    s.connections.push_back(rpc::take_snapshot(home_, l.id, *l.connection));
    s.calls_started += s.connections.back().streams_started;
    s.calls_succeeded += l.connection->messages().calls_ok;
    open += s.connections.back().streams_open;
  }
  const std::uint64_t well = s.calls_succeeded + open;
  s.calls_failed = s.calls_started > well ? s.calls_started - well : 0;
  return s;
}

void subchannel::on_slots(transport::connection&) noexcept {
  if (!leaving_) owner_.on_slots(*this);
}

void subchannel::on_health(health_watch& w) noexcept {
  std::string text = where_.address().to_string();
  if (w.says() == health_watch::verdict::not_serving) {
    text.append(" reports that it does not serve \"").append(*health_service_).append("\"");
    failure_ = status::unavailable(text);
  } else if (w.says() == health_watch::verdict::failed) {
    text.append(": the health check of \"").append(*health_service_).append("\" failed with ");
    failure_ = status::unavailable(text.append(base::printable(w.failure().to_string())));
  }
  tell();
}

// --- losing connections

void subchannel::on_going_away(transport::connection& c) noexcept {
  line* l = line_of(c);
  if (!l || std::exchange(l->going, true)) return;
  stop_health(*l);
  if (c.sent_too_many_pings() && keepalive_time_ < duration::max() / 2) keepalive_time_ *= 2;
  if (leaving_) return;
  if (l->ready) {
    note(std::string("disconnected: ").append(c.end_reason()), severity::info);
    return connection_lost(home_.now() - l->ready_since, c.end_reason());
  }
  if (timer::holder) home_.disarm(*this);
  attempt_failed(c.end_reason());
}

void subchannel::on_closed(transport::connection& c) noexcept {
  on_going_away(c);
  streams_before_ += c.figures().streams_started;
  calls_ok_before_ += c.messages().calls_ok;
  std::erase_if(lines_, [&](const line& l) { return l.connection.get() == &c; });
  if (leaving_) tell();
}

void subchannel::leave(bool at_once, std::string_view reason) noexcept {
  leaving_ = true;
  attempting_ = pausing_ = false;
  if (timer::holder) home_.disarm(*this);
  for (line& l : lines_) stop_health(l);
  work_.request_stop();
  for (line& l : lines_) {
    // A connection whose server has not sent its SETTINGS has no calls to wait for.
    if (at_once || !l.ready) l.connection->close(transport::error_code::no_error, reason);
    else l.connection->drain();
  }
  tell();
}

// --- notifying the owner

void subchannel::tell() noexcept {
  note_state();
  if (std::exchange(telling_, true)) return;
  home_.post(*this);
}

void subchannel::told() noexcept {
  telling_ = false;
  if (!leaving_) return owner_.on_state(*this);
  if (lines_.empty() && work_.running() == 0) owner_.on_left(*this);  // destroys this
}

void subchannel::note(std::string_view what, severity how) noexcept {
  trace_.add(home_.wall_now(), what, how);
}

void subchannel::note_state() noexcept {
  const connectivity now = state();
  if (std::exchange(noted_, now) != now) note(name_of(now), severity::info);
}

subchannel::line* subchannel::line_of(const transport::connection& c) noexcept {
  const auto found =
      std::find_if(lines_.begin(), lines_.end(), [&](const line& l) { return l.connection.get() == &c; });
  return found == lines_.end() ? nullptr : &*found;
}

std::size_t subchannel::ready_lines() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(lines_.begin(), lines_.end(), [](const line& l) { return l.ready && !l.going; }));
}

}  // namespace coracle::client
