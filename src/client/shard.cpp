#include "client/shard.hpp"

#include "base/event_ring.hpp"
#include "base/hot_and_cold.hpp"
#include "base/if_memory_allows.hpp"
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

shard::shard(std::shared_ptr<channel_state> channel, loop& owner_loop, call_counts& calls,
             const std::shared_ptr<const snapshot>& latest)
    : channel_(std::move(channel)),
      loop_(owner_loop),
      calls_(calls),
      configured_(latest && latest->outcome.ok()) {
  if (latest) methods_ = latest->methods;
  timer::fire = [](coro::timer& t) noexcept { static_cast<shard&>(t).check_idle(); };
  runnable::run = [](coro::runnable& w) noexcept { static_cast<shard&>(w).calls_ended(); };
}

shard::~shard() {
  CORACLE_ASSERT(subchannels_.empty() && waiting_.empty() && unconfigured_.empty(),
                 "a shard was destroyed before its calls and connections");
}

// --- calls

void shard::begin(call_attempt& a) noexcept {
  used_ = true;
  if (state_ != connectivity::ready || !waiting_.empty()) return begin_pending(a);
  if (!serve(a)) wait(a);
}

bool shard::serve(call_attempt& a) noexcept {
  const pick p = balancer_->choose(pick_info(a));
  if (p.drop) {
    a.unlink();
    a.fail(status::unavailable("the channel's pick_policy dropped the call"), refusal::final);
    return true;
  }
  if (!p.to) return false;
  transport::exchange x = p.to->open(a);
  if (!x) {
    p.to->scale();
    return false;
  }
  attach(a, x, p.to->target(channel_->target));
  return true;
}

void shard::begin_pending(call_attempt& a) noexcept {
  if (state_ == connectivity::shutdown) return a.fail(channel_->end_reason(), refusal::final);
  if (!channel_->to.bad.ok()) return a.fail(channel_->to.bad, refusal::final);
  if (state_ == connectivity::transient_failure && !a.terms().wait_for_ready())
    return a.fail(last_failure_, refusal::unavailable);
  wait(a);
  if (state_ == connectivity::idle) exit_idle();
}

CORACLE_COLD void shard::wait(call_attempt& a) noexcept {
  waiting_.push_back(a);
  record_queued(a);
}

void shard::record_queued(const call_attempt& a) noexcept {
  loop_.events().call_queued(a.terms().number, loop_.events().name_of(a.terms().path.data()));
}

// Returns false for a call that cannot wait here; it fails in begin().
bool shard::wait_for_config(call_attempt& a) noexcept {
  if (configured_ || state_ == connectivity::shutdown || !channel_->to.bad.ok()) return false;
  if (state_ == connectivity::transient_failure && !a.terms().wait_for_ready()) return false;
  used_ = true;
  unconfigured_.push_back(a);
  record_queued(a);
  if (state_ == connectivity::idle) exit_idle();
  return true;
}

void shard::configure_waiting() noexcept {
  configured_ = true;
  base::intrusive_list<call_attempt> calls;
  calls.take(unconfigured_);
  while (call_attempt* a = calls.pop_front())
    a->configured(config_for(a->terms().path), channel_->secure_authority());
}

void shard::serve_waiting() noexcept {
  while (state_ == connectivity::ready && !waiting_.empty())
    if (!serve(*waiting_.front())) return;  // a stream that ends, or the balancer, calls this again
}

// Fails the calls that are not wait-for-ready (grpc/grpc doc/wait-for-ready.md).
void shard::fail_waiting() noexcept {
  fail_waiting_in(waiting_);
  fail_waiting_in(unconfigured_);
}

void shard::fail_waiting_in(base::intrusive_list<call_attempt>& list) noexcept {
  base::intrusive_list<call_attempt> asked;
  asked.take(list);
  while (call_attempt* a = asked.pop_front()) {
    if (a->terms().wait_for_ready()) list.push_back(*a);
    else a->fail(last_failure_, refusal::unavailable);
  }
}

// --- leaving and entering IDLE

void shard::exit_idle() noexcept {
  if (state_ != connectivity::idle || !channel_->to.bad.ok()) return;
  if (balancer_) return connect_balancer();
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
  if (!active_ || state_ == connectivity::shutdown) return;
  if (!now->outcome.ok()) {
    publish(connectivity::transient_failure, now->outcome);
    return channel_->resolve_again();
  }
  if (!base::if_memory_allows([&] { apply(*now); })) out_of_memory();
}

void shard::apply(const snapshot& latest) {
  connections_max_ = latest.connections_max;
  for (const auto& s : subchannels_) s->set_connections_max(connections_max_);
  std::optional<std::string> service = channel_->options.health_check;
  if (const std::string* configured_service = latest.config.health_check_service())
    service = *configured_service;
  if (!balancer_ || balancing_ != latest.balancing_policy || health_service_ != service) {
    balancer_.reset();
    balancing_ = latest.balancing_policy;
    health_service_ = std::move(service);
    balancer_ = make_balancer(balancing_, *this);
    balancer_->update(latest.servers);
    balancer_->connect();
    return configure_waiting();
  }
  balancer_->update(latest.servers);
  serve_waiting();  // there may be more connections now
  configure_waiting();
}

void shard::connect_balancer() noexcept {
  if (!base::if_memory_allows([&] { balancer_->connect(); })) out_of_memory();
}

// The balancer did not finish its work, and must not choose any more. One of its functions may still be
// running, so it is dropped from the loop's queue.
void shard::out_of_memory() noexcept {
  if (state_ == connectivity::shutdown) return;
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
    base::intrusive_list<call_attempt> calls;
    calls.take(*list);
    while (call_attempt* a = calls.pop_front()) a->fail(reason, refusal::unavailable);
  }
}

void shard::check_idle() noexcept {
  const bool calls = std::any_of(subchannels_.begin(), subchannels_.end(),
                                 [](const auto& s) { return s->open_calls() > 0; });
  if (!std::exchange(used_, false) && !calls && waiting_.empty() && unconfigured_.empty())
    return enter_idle();
  loop_.arm(*this, deadline_after(loop_.now(), channel_->options.idle_timeout));
}

void shard::enter_idle() noexcept {
  active_ = false;
  balancer_.reset();
  publish(connectivity::idle, {});
}

// --- the balancer's host

subchannel& shard::make_subchannel(const endpoint& to) {
  subchannels_.push_back(
      std::make_unique<subchannel>(loop_, channel_->params, to, static_cast<subchannel_owner&>(*this)));
  subchannel& made = *subchannels_.back();
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

void shard::publish(connectivity c, const status& reason) noexcept {
  if (out_of_memory_) return;
  if (std::exchange(state_, c) != c) channel_->report(loop_, c);
  switch (c) {
    case connectivity::ready: return serve_waiting();
    case connectivity::transient_failure: last_failure_ = reason; return fail_waiting();
    case connectivity::idle:
      if (balancer_ && !waiting_.empty()) connect_balancer();
      return;
    default: return;
  }
}

void shard::on_state(subchannel& s) noexcept {
  if (!balancer_ || out_of_memory_) return;
  if (!base::if_memory_allows([&] { balancer_->on_state(s); })) return out_of_memory();
  serve_waiting();  // another connection does not change the balancer's state (gRFC A105)
}

void shard::on_slots(subchannel&) noexcept { serve_waiting(); }

void shard::on_drained(subchannel& s) noexcept {
  record_event(s, " removed");
  add_bytes(bytes_before_, s);
  std::erase_if(subchannels_, [&](const auto& p) { return p.get() == &s; });
  if (state_ == connectivity::shutdown) finish_if_done();
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
  for (auto* list : {&calls_.between, &waiting_, &unconfigured_})
    while (call_attempt* a = list->pop_front()) a->fail(reason, refusal::final);
  balancer_.reset();
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
