#include "client/shard.hpp"

#include "coracle/coro/timeout.hpp"
#include "net/duplex.hpp"
#include "runtime/backend.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace coracle::client {

shard::shard(std::shared_ptr<channel_state> channel, loop& home) : channel_(std::move(channel)), home_(home) {
  timer::fire = [](coro::timer& t) noexcept {
    auto& self = static_cast<shard&>(t);
    if (self.state_ != state::transient_failure) return;
    self.state_ = state::idle;
    if (!self.waiting_.empty()) self.connect();
  };
}

shard::~shard() {
  CORACLE_ASSERT(connections_.empty() && waiting_.empty(), "a shard went before its calls and connections");
}

void shard::begin(calls::call_attempt& a) noexcept {
  switch (state_) {
    case state::shutdown:
      return a.fail(status::unavailable("the channel is being destroyed"), calls::refusal::final);
    case state::transient_failure:
      if (!a.terms().wait_for_ready()) return a.fail(last_failure_, calls::refusal::unavailable);
      break;
    case state::ready:
      if (waiting_.empty()) {
        if (transport::exchange x = current_->open(a)) return a.attach(x, channel_->target);
      }
      break;
    case state::idle: waiting_.push_back(a); return connect();
    case state::connecting: break;
  }
  waiting_.push_back(a);
}

// --- connecting

void shard::connect() {
  state_ = state::connecting;
  attempt_began_ = home_.now();
  attempting_ = true;
  work_.spawn(make_connection());
}

task<> shard::make_connection() {
  using made = result<std::unique_ptr<net::duplex>>;
  task<made> attempt = channel_->connector->connect(home_);
  timeout<made> limited(connect_timeout, std::move(attempt));
  made outcome = status::unavailable("not connected");
  try {
    if (channel_->credentials.failure().ok()) outcome = co_await limited;
    else outcome = channel_->credentials.failure();
  } catch (const coro::cancelled&) {
    outcome = status::unavailable("the channel is being destroyed");
  } catch (...) {
    outcome = status::unavailable("the connector threw an exception");
  }
  attempting_ = false;
  if (state_ == state::shutdown) co_return leave_if_done();
  if (!outcome) co_return attempt_failed(outcome.status());
  auto stream = transport::secured(channel_->credentials, home_, *std::move(outcome), channel_->authority);
  connections_.push_back(std::make_unique<transport::connection>(
      home_, std::move(stream), transport::role::client, transport::connection_options{},
      static_cast<transport::connection_owner&>(*this), nullptr));
  current_ = connections_.back().get();
  current_->start();
}

void shard::attempt_failed(const status& why) noexcept {
  std::string text = "cannot connect to " + channel_->authority;
  text.append(": ").append(why.message());
  last_failure_ = status::unavailable(text);
  home_.log().write(log_level::info, text);
  state_ = state::transient_failure;
  home_.arm(*this, deadline_after(attempt_began_, backoff_.next(home_.io().random())));
  fail_waiting(last_failure_, calls::refusal::unavailable);
}

void shard::on_ready(transport::connection& c) noexcept {
  if (&c != current_ || state_ != state::connecting) return;
  state_ = state::ready;
  backoff_.reset();
  serve_waiting();
}

void shard::on_slots(transport::connection&) noexcept { serve_waiting(); }

void shard::serve_waiting() noexcept {
  while (state_ == state::ready && !waiting_.empty()) {
    calls::call_attempt& a = *waiting_.front();
    transport::exchange x = current_->open(a);
    if (!x) return;  // at the peer's limit: on_slots() will come
    a.attach(x, channel_->target);
  }
}

// With `final` all of them, else those that do not wait for a connection that comes later.
void shard::fail_waiting(const status& why, calls::refusal how) noexcept {
  base::intrusive_list<calls::call_attempt> asked;
  asked.take(waiting_);
  while (calls::call_attempt* a = asked.pop_front()) {
    if (how != calls::refusal::final && a->terms().wait_for_ready()) waiting_.push_back(*a);
    else a->fail(why, how);
  }
}

// --- losing

void shard::on_going_away(transport::connection& c) noexcept {
  if (&c != current_) return;
  current_ = nullptr;
  if (state_ == state::connecting) {
    attempt_failed(status::unavailable(c.end_reason()));
  } else if (state_ == state::ready) {
    state_ = state::idle;
    if (!waiting_.empty()) connect();
  }
}

void shard::on_closed(transport::connection& c) noexcept {
  if (&c == current_) on_going_away(c);
  std::erase_if(connections_, [&](const auto& p) { return p.get() == &c; });
  if (state_ == state::shutdown) leave_if_done();
}

void shard::leave() noexcept {
  state_ = state::shutdown;
  channel_->forget(home_);
  if (timer::holder) home_.disarm(*this);
  fail_waiting(status::unavailable("the channel is being destroyed"), calls::refusal::final);
  work_.request_stop();
  current_ = nullptr;
  for (const auto& c : connections_)
    c->close(transport::error_code::no_error, "the channel is being destroyed");
  leave_if_done();
}

void shard::leave_if_done() noexcept {
  if (!connections_.empty() || attempting_ || left_called_) return;
  left_called_ = true;
  left();
}

}  // namespace coracle::client
