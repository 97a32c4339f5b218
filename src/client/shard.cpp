#include "client/shard.hpp"

#include <algorithm>
#include <utility>

namespace coracle::client {

// --- counting

void call_counts::post_if_none(loop& here) noexcept {
  if (in_progress() == 0) here.post(*std::exchange(when_none, nullptr));
}

shard::shard(std::shared_ptr<channel_state> channel, loop& home, call_counts& calls,
             const std::shared_ptr<const snapshot>& latest)
    : channel_(std::move(channel)), home_(home), calls_(calls), configured_(latest && latest->why.ok()) {
  if (latest) methods_ = latest->methods;
  timer::fire = [](coro::timer& t) noexcept { static_cast<shard&>(t).rest_if_unused(); };
  work::run = [](coro::work& w) noexcept { static_cast<shard&>(w).calls_ended(); };
}

shard::~shard() {
  CORACLE_ASSERT(subchannels_.empty() && waiting_.empty() && unconfigured_.empty(),
                 "a shard was destroyed before its calls and connections");
}

// --- calls

void shard::begin(call_attempt& a) noexcept {
  used_ = true;
  if (state_ != connectivity::ready || !waiting_.empty()) return begin_slowly(a);
  if (!serve(a)) waiting_.push_back(a);
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
  a.attach(x, channel_->target);
  return true;
}

void shard::begin_slowly(call_attempt& a) noexcept {
  if (state_ == connectivity::shutdown) return a.fail(channel_->end_reason(), refusal::final);
  if (!channel_->to.bad.ok()) return a.fail(channel_->to.bad, refusal::final);
  if (state_ == connectivity::transient_failure && !a.terms().wait_for_ready())
    return a.fail(last_failure_, refusal::unavailable);
  waiting_.push_back(a);
  if (state_ == connectivity::idle) wake();
}

// Returns false for a call that cannot wait here; it fails in begin().
bool shard::wait_for_config(call_attempt& a) noexcept {
  if (configured_ || state_ == connectivity::shutdown || !channel_->to.bad.ok()) return false;
  if (state_ == connectivity::transient_failure && !a.terms().wait_for_ready()) return false;
  used_ = true;
  unconfigured_.push_back(a);
  if (state_ == connectivity::idle) wake();
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

void shard::wake() {
  if (state_ != connectivity::idle || !channel_->to.bad.ok()) return;
  if (balancer_) return balancer_->connect();
  awake_ = true;
  if (channel_->options.idle_timeout() != duration::max())
    home_.arm(*this, deadline_after(home_.now(), channel_->options.idle_timeout()));
  const std::shared_ptr<const snapshot> latest = channel_->latest();
  if (latest) channel_->resolve_again();  // it may be stale; without one the resolver has just begun
  if (latest && latest->why.ok()) return update();
  publish(connectivity::connecting, {});
}

void shard::update() {
  const std::shared_ptr<const snapshot> now = channel_->latest();
  methods_ = now->methods;
  if (!awake_ || state_ == connectivity::shutdown) return;
  if (!now->why.ok()) {
    publish(connectivity::transient_failure, now->why);
    return channel_->resolve_again();
  }
  connections_max_ = now->connections_max;
  for (const auto& s : subchannels_) s->set_connections_max(connections_max_);
  std::optional<std::string> service = channel_->options.health_check();
  if (const std::string* said = now->config.health_check_service()) service = *said;
  if (!balancer_ || how_ != now->how || health_service_ != service) {
    balancer_.reset();
    how_ = now->how;
    health_service_ = std::move(service);
    balancer_ = make_balancer(how_, *this);
    balancer_->update(now->servers);
    balancer_->connect();
    return configure_waiting();
  }
  balancer_->update(now->servers);
  serve_waiting();  // there may be more connections now
  configure_waiting();
}

void shard::rest_if_unused() noexcept {
  const bool calls = std::any_of(subchannels_.begin(), subchannels_.end(),
                                 [](const auto& s) { return s->open_calls() > 0; });
  if (!std::exchange(used_, false) && !calls && waiting_.empty() && unconfigured_.empty()) return rest();
  home_.arm(*this, deadline_after(home_.now(), channel_->options.idle_timeout()));
}

void shard::rest() noexcept {
  awake_ = false;
  balancer_.reset();
  publish(connectivity::idle, {});
}

// --- the balancer's host

subchannel& shard::make_subchannel(const endpoint& to) {
  subchannels_.push_back(
      std::make_unique<subchannel>(home_, channel_->how, to, static_cast<subchannel_owner&>(*this)));
  subchannel& made = *subchannels_.back();
  made.set_connections_max(connections_max_);
  channel_->note(home_, "subchannel to " + to.address().to_string() + " created", made.id());
  return made;
}

void shard::add_to(rpc::channel_snapshot& whole) const {
  for (const auto& s : subchannels_) whole.subchannels.push_back(s->figures());
}

void shard::drop_subchannel(subchannel& s) noexcept { s.leave(); }

void shard::resolve_again() noexcept { channel_->resolve_again(); }

void shard::publish(connectivity c, const status& why) noexcept {
  if (std::exchange(state_, c) != c) channel_->report(home_, c);
  switch (c) {
    case connectivity::ready: return serve_waiting();
    case connectivity::transient_failure: last_failure_ = why; return fail_waiting();
    case connectivity::idle:
      if (balancer_ && !waiting_.empty()) balancer_->connect();
      return;
    default: return;
  }
}

void shard::on_state(subchannel& s) noexcept {
  if (!balancer_) return;
  balancer_->on_state(s);
  serve_waiting();  // another connection does not change the balancer's state (gRFC A105)
}

void shard::on_slots(subchannel&) noexcept { serve_waiting(); }

void shard::on_left(subchannel& s) noexcept {
  channel_->note(home_, "subchannel to " + s.where().address().to_string() + " removed", s.id());
  std::erase_if(subchannels_, [&](const auto& p) { return p.get() == &s; });
  if (state_ == connectivity::shutdown) leave_if_done();
}

// --- the end

void shard::retire() noexcept {
  if (calls_.in_progress() == 0) return leave_once();
  await_calls();
}

void shard::await_calls() noexcept {
  if (awaiting_calls_) return;
  awaiting_calls_ = true;
  calls_.when_none = this;
}

void shard::calls_ended() noexcept {
  awaiting_calls_ = false;
  if (state_ == connectivity::shutdown) return leave_if_done();
  leave_once();
}

// Calls that are not committed to an attempt come first: else the ends of their attempts would make them try
// again.
void shard::leave() noexcept {
  const status why = channel_->end_reason();
  state_ = connectivity::shutdown;
  channel_->forget(home_);
  if (timer::holder) home_.disarm(*this);
  for (auto* list : {&calls_.between, &waiting_, &unconfigured_})
    while (call_attempt* a = list->pop_front()) a->fail(why, refusal::final);
  balancer_.reset();
  for (const auto& s : subchannels_) s->close(why.message());
  if (calls_.in_progress() > 0) await_calls();
  leave_if_done();
}

void shard::leave_if_done() noexcept {
  if (!subchannels_.empty() || awaiting_calls_ || std::exchange(left_called_, true)) return;
  channel_->shard_left();
  left();
}

}  // namespace coracle::client
