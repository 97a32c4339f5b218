#include "client/shard.hpp"

#include "base/event_ring.hpp"
#include "base/hot_and_cold.hpp"
#include "base/if_memory_allows.hpp"
#include "client/call/retry_instruments.hpp"
#include "client/web/web_exchange.hpp"
#include "rpc/message_format.hpp"

#include <algorithm>
#include <utility>

namespace coracle::client {

// --- counting

namespace {

void add_bytes(connection_bytes& to, const subchannel& from) noexcept {
  const connection_bytes more = from.bytes();
  to.sent += more.sent;
  to.received += more.received;
  to.connections += more.connections;
}

}  // namespace

void call_counts::post_if_none(loop& here) noexcept {
  if (in_progress() == 0) here.post(*std::exchange(when_none, nullptr));
}

namespace {

// Made by the first channel that needs it: when a call is displaced, memory may be short.
const status& reason_of_displacement() {
  static const status reason = status::resource_exhausted(
      "more calls wait than may (channel_options::max_waiting_calls), and this one was the oldest "
      "of the least critical ones, or a hedge");
  return reason;
}

}  // namespace

shard::shard(std::shared_ptr<channel_state> channel, loop& owner_loop, call_counts& calls,
             const std::shared_ptr<const snapshot>& latest)
    : channel_(std::move(channel)),
      loop_(owner_loop),
      calls_(calls),
      configured_(latest && latest->outcome.ok()),
      all_waiting_(channel_->options.max_waiting_calls) {
  if (latest) {
    methods_ = latest->methods;
    router_ = latest->router;
  }
  if (channel_->options.max_waiting_calls != waiting_calls::no_maximum)
    static_cast<void>(reason_of_displacement());
  timer::fire = [](coro::timer& t) noexcept { static_cast<shard&>(t).check_idle(); };
  runnable::run = [](coro::runnable& w) noexcept { static_cast<shard&>(w).calls_ended(); };
}

shard::~shard() {
  CORACLE_ASSERT(subchannels_.empty() && waiting_.empty() && unconfigured_.empty(),
                 "a shard was destroyed before its calls and connections");
}

// --- calls

[[gnu::always_inline]] inline bool shard::open(call_attempt& a, subchannel& at) noexcept {
  transport::exchange x = at.open(a);
  if (!x) [[unlikely]] {
    at.scale();
    return false;
  }
  attach(a, x, at.target_of_attempt(channel_->target, &a, &x));
  return true;
}

namespace {

// Whether no other server takes the call.
CORACLE_COLD bool waits_for(const call_attempt& a, const subchannel& s) noexcept {
  const auto& route = a.terms().route;
  return route && route->waits_for_it && route->server == &s;
}

// Where the call waits for a stream of the server.
[[gnu::always_inline]] inline call_queue& queue_at(subchannel& s, const call_attempt& a) noexcept {
  if (s.own_queue() && waits_for(a, s)) [[unlikely]]
    return *s.own_queue();
  return s.user()->waiting;
}

}  // namespace

[[gnu::always_inline]] inline void shard::place_at(call_attempt& a, pick p) noexcept {
  if (!p.to) [[unlikely]]
    return place_without_server(a, *p.otherwise);
  call_queue& earlier = queue_at(*p.to, a);
  if (!earlier.empty() || !open(a, *p.to)) wait_for_stream(a, *p.to, earlier);
  if (p.otherwise) [[unlikely]]
    connect(*p.otherwise->idle);
}

[[gnu::always_inline]] inline void shard::place(call_attempt& a) noexcept {
  if (!chooser_) [[unlikely]]
    return place_without_balancer(a);
  place_at(a, chooser_->choose(pick_info(a)));
}

void shard::begin(call_attempt& a) noexcept {
  used_ = true;
  place(a);
}

namespace {

// A policy of the program's may forget to give one. A call that fails must not look as if it was served.
const status& given(const status& reason) noexcept {
  static const status none = status::internal("the balancing policy gave no reason");
  return reason.ok() ? none : reason;
}

}  // namespace

CORACLE_COLD void shard::place_without_server(call_attempt& a, const no_server& why) noexcept {
  using action = no_server::action;
  a.unlink();
  a.release_place();
  if (why.then == action::drop) return a.fail(given(why.reason), refusal::final);
  if (why.then == action::fail && !a.terms().wait_for_ready())
    return a.fail(given(why.reason), refusal::unavailable);
  connectable* const idle = why.then == action::connect ? why.idle : nullptr;
  wait(a, waiting_);
  if (idle) connect(*idle);
}

CORACLE_COLD void shard::place_without_balancer(call_attempt& a) noexcept {
  if (updating_) return wait(a, waiting_);
  a.unlink();
  a.release_place();
  if (state_ == connectivity::shutdown) return a.fail(channel_->end_reason(), refusal::final);
  if (!channel_->to.bad.ok()) return a.fail(channel_->to.bad, refusal::final);
  if (state_ == connectivity::transient_failure && !a.terms().wait_for_ready())
    return a.fail(last_failure_, refusal::unavailable);
  wait(a, waiting_);
  if (state_ == connectivity::idle) exit_idle();
}

CORACLE_COLD void shard::wait(call_attempt& a, call_queue& list) noexcept {
  a.unlink();
  list.push_back(a);
  record_queued(a);
  if (call_attempt* const displaced = all_waiting_.enter(a)) displace(*displaced);
}

CORACLE_COLD void shard::wait_for_stream(call_attempt& a, subchannel& at, call_queue& list) noexcept {
  at.hold_place_for(a);
  wait(a, list);
}

// Whichever queue it is in.
void shard::displace(call_attempt& a) noexcept {
  measure_call_displaced();
  a.unlink();
  a.fail(reason_of_displacement(), refusal::displaced);
}

void shard::record_queued(const call_attempt& a) noexcept {
  loop_.events().call_queued(a.terms().number, loop_.events().name_of(a.terms().path.data()));
}

// Returns false for a call that cannot wait here; it fails in begin().
bool shard::wait_for_config(call_attempt& a) noexcept {
  if (configured_ || state_ == connectivity::shutdown || !channel_->to.bad.ok()) return false;
  if (state_ == connectivity::transient_failure && !a.terms().wait_for_ready()) return false;
  used_ = true;
  wait(a, unconfigured_);
  if (state_ == connectivity::idle) exit_idle();
  return true;
}

void shard::configure_waiting() noexcept {
  configured_ = true;
  call_queue calls;
  calls.take(unconfigured_);
  while (call_attempt* a = calls.pop_front()) {
    call_setup setup;
    setup.secure_authority = channel_->secure_authority();
    configure(setup, a->terms().path);
    a->configured(setup);
  }
}

void shard::serve_waiting() noexcept {
  call_queue asked;
  asked.take(waiting_);
  while (call_attempt* a = asked.front()) place(*a);
}

// Any of the calls may change what the shard has, so that each one looks anew.
void shard::serve_waiting_for(const subchannel& s) noexcept {
  if (s.own_queue()) [[unlikely]]
    serve_own_queue(s);
  while (chooser_ && s.user()) {
    call_attempt* const a = s.user()->waiting.front();
    if (!a) return;
    const pick p = chooser_->choose(pick_info(*a));
    if (p.to && p.to->user() == s.user()) {
      const bool opened = open(*a, *p.to);
      if (!opened) p.to->hold_place_for(*a);
      if (p.otherwise) connect(*p.otherwise->idle);
      if (!opened) return;  // a stream that ends calls this again
      continue;
    }
    place_at(*a, p);
  }
}

// The same for the calls that wait for this server alone.
CORACLE_COLD void shard::serve_own_queue(const subchannel& s) noexcept {
  while (chooser_ && s.own_queue()) {
    call_attempt* const a = s.own_queue()->front();
    if (!a) return;
    const pick p = chooser_->choose(pick_info(*a));
    if (p.to == &s && waits_for(*a, s)) {
      const bool opened = open(*a, *p.to);
      if (!opened) p.to->hold_place_for(*a);
      if (p.otherwise) connect(*p.otherwise->idle);
      if (!opened) return;
      continue;
    }
    place_at(*a, p);
  }
}

// Fails the calls that are not wait-for-ready (grpc/grpc doc/wait-for-ready.md).
void shard::fail_waiting_in(call_queue& list) noexcept {
  call_queue asked;
  asked.take(list);
  while (call_attempt* a = asked.pop_front()) {
    if (a->terms().wait_for_ready()) list.push_back(*a);
    else a->fail(last_failure_, refusal::unavailable);
  }
}

// --- leaving and entering IDLE

void shard::exit_idle() noexcept {
  if (state_ != connectivity::idle || !channel_->to.bad.ok()) return;
  if (balancer_) return connect(*balancer_.get());
  active_ = true;
  if (channel_->options.idle_timeout != duration::max())
    loop_.arm(*this, deadline_after(loop_.now(), channel_->options.idle_timeout));
  const std::shared_ptr<const snapshot> latest = channel_->latest();
  if (latest) channel_->resolve_again();  // it may be stale; without one the resolver has just begun
  if (latest && latest->outcome.ok()) return update();
  publish(connectivity::connecting, {});
}

void shard::notified() noexcept {
  if (out_of_memory_) start_over();
  update();
}

void shard::update() noexcept {
  const std::shared_ptr<const snapshot> now = channel_->latest();
  if (!now) return;
  methods_ = now->methods;
  router_ = now->router;
  if (!active_ || state_ == connectivity::shutdown) return;
  if (!now->outcome.ok()) {
    publish(connectivity::transient_failure, now->outcome);
    return channel_->resolve_again();
  }
  chooser_ = nullptr;
  updating_ = true;
  const bool enough = base::if_memory_allows([&] { apply(*now); });
  updating_ = false;
  if (!enough) return out_of_memory();
  chooser_ = balancer_.get();
  serve_waiting();
  // There may be more connections to a server now.
  for (std::size_t i = 0; i < subchannels_.size(); ++i) serve_waiting_for(*subchannels_[i]);
  configure_waiting();
}

void shard::apply(const snapshot& latest) {
  connections_max_ = latest.connections_max;
  for (const auto& s : subchannels_) s->set_connections_max(connections_max_);
  std::optional<std::string> service = channel_->options.health_check;
  if (const std::string* configured_service = latest.config.health_check_service())
    service = *configured_service;
  if (health_service_ != service) {
    drop_balancer();
    health_service_ = std::move(service);
  }
  if (balancer* const fresh = balancer_.update(latest.balancing_policy, latest.servers, *this))
    fresh->start();
}

void shard::connect(connectable& idle) noexcept {
  if (!base::if_memory_allows([&] { idle.connect(); })) out_of_memory();
}

void shard::drop_balancer() noexcept {
  chooser_ = nullptr;
  balancer_.reset();
}

// The balancer did not finish its work, and must not choose any more. One of its functions may still be
// running, so it is dropped from the loop's queue.
void shard::out_of_memory() noexcept {
  if (state_ == connectivity::shutdown) return;
  chooser_ = nullptr;
  publish(connectivity::connecting, {});  // calls that begin meanwhile wait
  out_of_memory_ = true;
  notify_later();
}

// The waiting calls end, also those that are wait-for-ready, because only a call makes the channel leave
// IDLE. Calls that have a connection keep it to their ends.
void shard::start_over() noexcept {
  out_of_memory_ = false;
  if (timer::holder) loop_.disarm(*this);
  const status reason = rpc::out_of_memory();
  enter_idle();
  for (auto* list : {&waiting_, &unconfigured_}) {
    call_queue calls;
    calls.take(*list);
    while (call_attempt* a = calls.pop_front()) a->fail(reason, refusal::unavailable);
  }
}

void shard::check_idle() noexcept {
  const bool calls = std::any_of(subchannels_.begin(), subchannels_.end(),
                                 [](const auto& s) { return s->open_calls() > 0; });
  const bool queued = std::any_of(subchannels_.begin(), subchannels_.end(), [](const auto& s) {
    return (s->user() && !s->user()->waiting.empty()) || (s->own_queue() && !s->own_queue()->empty());
  });
  if (!std::exchange(used_, false) && !calls && !queued && waiting_.empty() && unconfigured_.empty())
    return enter_idle();
  loop_.arm(*this, deadline_after(loop_.now(), channel_->options.idle_timeout));
}

void shard::enter_idle() noexcept {
  active_ = false;
  drop_balancer();
  publish(connectivity::idle, {});
}

// --- the balancer's host

subchannel& shard::make_subchannel(const endpoint& to, subchannel_user& user) {
  subchannels_.push_back(std::make_unique<subchannel>(loop_, channel_->params, to,
                                                      static_cast<subchannel_owner&>(*this), &user));
  subchannel& made = *subchannels_.back();
  made.set_place(subchannels_.size() - 1);
  made.set_connections_max(connections_max_);
  record_event(made, " created");
  return made;
}

void shard::record_event(const subchannel& s, const char* event) noexcept {
  base::if_memory_allows([&] {
    channel_->record_event(loop_, "subchannel to " + s.where().address().to_string() + event,
                           rpc::traced_event::severity::info, s.id());
  });
}

void shard::add_to(rpc::channel_snapshot& whole, std::uint64_t detailed) const {
  for (const auto& s : subchannels_) whole.subchannels.push_back(s->stats(detailed));
}

std::shared_ptr<const auth_context> shard::server_auth() const {
  for (const auto& s : subchannels_)
    if (auto found = s->server_auth()) return found;
  return nullptr;
}

connection_bytes shard::bytes() const noexcept {
  connection_bytes all = bytes_before_;
  for (const auto& s : subchannels_) add_bytes(all, *s);
  return all;
}

void shard::drop_subchannel(subchannel& s) noexcept { s.drain(); }

void shard::resolve_again() noexcept { channel_->resolve_again(); }

std::string_view shard::target() const noexcept { return channel_->params.uri; }

std::shared_ptr<shared_by_loops> shard::shared(std::string_view name, shared_by_loops_maker make) {
  return channel_->shared(name, make, loop_.io().random());
}

void shard::publish(connectivity c, const status& reason) noexcept {
  if (out_of_memory_) return;
  if (std::exchange(state_, c) != c) channel_->report(loop_, c);
  if (c == connectivity::transient_failure) last_failure_ = given(reason);
  if (updating_) return;  // calls are served after that
  if (chooser_) chooser_ = balancer_.get();  // perhaps of another policy now
  if (c == connectivity::transient_failure) {
    fail_waiting_in(unconfigured_);
    if (!chooser_) fail_waiting_in(waiting_);
  }
  if (chooser_) serve_waiting();
}

void shard::on_state(subchannel& s) noexcept {
  if (!s.user() || out_of_memory_) return;
  if (!base::if_memory_allows([&] { s.user()->on_state(s); })) return out_of_memory();
  serve_waiting_for(s);  // another connection does not change the balancer's state (gRFC A105)
}

void shard::on_slots(subchannel& s) noexcept { serve_waiting_for(s); }

void shard::on_drained(subchannel& s) noexcept {
  record_event(s, " removed");
  add_bytes(bytes_before_, s);
  remove(s);
  if (state_ == connectivity::shutdown) finish_if_done();
}

// The last one takes its place: thousands may end at once.
void shard::remove(const subchannel& s) noexcept {
  const std::size_t place = s.place();
  subchannels_.back()->set_place(place);
  subchannels_[place].swap(subchannels_.back());
  subchannels_.pop_back();
}

// --- the end

void shard::retire() noexcept {
  if (calls_.in_progress() == 0) return begin_shutdown_once();
  await_calls();
}

void shard::await_calls() noexcept {
  if (awaiting_calls_) return;
  awaiting_calls_ = true;
  calls_.when_none = this;
}

void shard::calls_ended() noexcept {
  awaiting_calls_ = false;
  if (state_ == connectivity::shutdown) return finish_if_done();
  begin_shutdown_once();
}

// Calls that are not committed to an attempt come first: else the ends of their attempts would make them try
// again.
void shard::begin_shutdown() noexcept {
  const status reason = channel_->end_reason();
  state_ = connectivity::shutdown;
  channel_->forget(loop_);
  if (timer::holder) loop_.disarm(*this);
  drop_balancer();  // its calls that wait are now in the shard's list
  const auto fail_all = [&reason](auto& calls) {
    while (call_attempt* a = calls.pop_front()) a->fail(reason, refusal::final);
  };
  fail_all(calls_.between);
  fail_all(waiting_);
  fail_all(unconfigured_);
  for (const auto& s : subchannels_) s->close(reason.message());
  if (calls_.in_progress() > 0) await_calls();
  finish_if_done();
}

void shard::finish_if_done() noexcept {
  if (!subchannels_.empty() || awaiting_calls_ || std::exchange(shutdown_reported_, true)) return;
  channel_->shard_ended();
  shutdown_finished();
}

}  // namespace coracle::client
