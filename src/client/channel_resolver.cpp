#include "client/channel_resolver.hpp"

#include "client/channel_state.hpp"
#include "coracle/coro/sleep.hpp"
#include "runtime/backend.hpp"

#include <string>
#include <utility>

namespace coracle::client {

channel_resolver::channel_resolver(std::shared_ptr<channel_state> channel, loop& owner_loop)
    : channel_(std::move(channel)), loop_(owner_loop), requested_(owner_loop) {}

channel_resolver::~channel_resolver() {
  CORACLE_ASSERT(!running_, "a channel_resolver was destroyed before its resolver ended");
}

void channel_resolver::start() {
  running_ = true;
  work_.spawn(run());
}

// A resolver that returns has published its last result. One that throws, or returns without a result, runs
// again when a resolution is requested.
task<> channel_resolver::run() {
  bool again = true;
  while (again && !shutting_down_) {
    std::string reason = "the resolver ended without a result";
    bool threw = true;
    try {
      co_await channel_->to.by->run(*channel_->to.of, *this);
      threw = false;
    } catch (const coro::cancelled&) {
      again = false;
    } catch (const std::exception& e) {
      reason = e.what();
    } catch (...) {
      reason = "the resolver threw an exception that is not a std::exception";
    }
    if (!again || shutting_down_ || (!threw && found_)) break;
    fail(status::unavailable(reason));
    again = co_await wait_and_retry();
  }
  running_ = false;
  if (shutting_down_) finish_shutdown();
}

// Returns false if the end of the channel stopped the wait.
task<bool> channel_resolver::wait_and_retry() {
  try {
    co_await wait_until_requested();
  } catch (const coro::cancelled&) {
    co_return false;
  }
  co_return true;
}

void channel_resolver::publish(resolution found) {
  if (shutting_down_) return;
  backoff_.reset();
  not_before_ = deadline_after(loop_.now(), channel_->options.resolve_pause);
  found_ = true;
  requested_.reset();  // this result also answers requests made meanwhile
  channel_->publish(std::move(found));
}

void channel_resolver::fail(const status& reason) {
  if (shutting_down_) return;
  not_before_ = deadline_after(loop_.now(), backoff_.next(loop_.io().random()));
  std::string text = "cannot resolve " + channel_->to.name;
  text.append(": ").append(reason.message());
  loop_.log().write(log_level::info, text);
  channel_->publish_failure(status::unavailable(text));
}

task<> channel_resolver::wait_until_requested() {
  co_await requested_;
  co_await sleep_until(not_before_);
  requested_.reset();
}

void channel_resolver::request_resolution() noexcept { requested_.set(); }

void channel_resolver::begin_shutdown() noexcept {
  shutting_down_ = true;
  channel_->forget_resolver();
  work_.request_stop();
  if (!running_) finish_shutdown();
}

void channel_resolver::finish_shutdown() noexcept {
  channel_->resolver_ended();
  shutdown_finished();
}

}  // namespace coracle::client
