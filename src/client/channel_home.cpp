#include "client/channel_home.hpp"

#include "coracle/coro/sleep.hpp"
#include "runtime/backend.hpp"

#include <string>
#include <utility>

namespace coracle::client {

channel_home::channel_home(std::shared_ptr<channel_state> channel, loop& home)
    : channel_(std::move(channel)), home_(home), asked_(home) {}

channel_home::~channel_home() {
  CORACLE_ASSERT(!running_, "a channel_home was destroyed before its resolver ended");
}

void channel_home::start() {
  running_ = true;
  work_.spawn(run());
}

// A resolver that returns has published its last result. One that throws, or returns without a result, runs
// again when a resolution is requested.
task<> channel_home::run() {
  bool again = true;
  while (again && !leaving_) {
    std::string why = "the resolver ended without a result";
    bool threw = true;
    try {
      co_await channel_->to.by->run(*channel_->to.of, *this);
      threw = false;
    } catch (const coro::cancelled&) {
      again = false;
    } catch (const std::exception& e) {
      why = e.what();
    } catch (...) {
      why = "the resolver threw an exception that is not a std::exception";
    }
    if (!again || leaving_ || (!threw && found_)) break;
    fail(status::unavailable(why));
    again = co_await wanted_again();
  }
  running_ = false;
  if (leaving_) leave_now();
}

// Returns false if the end of the channel stopped the wait.
task<bool> channel_home::wanted_again() {
  try {
    co_await wanted();
  } catch (const coro::cancelled&) {
    co_return false;
  }
  co_return true;
}

void channel_home::publish(resolution found) {
  if (leaving_) return;
  pause_.reset();
  not_before_ = deadline_after(home_.now(), channel_->options.resolve_pause());
  found_ = true;
  asked_.reset();  // this result also answers requests made meanwhile
  channel_->publish(std::move(found));
}

void channel_home::fail(const status& why) {
  if (leaving_) return;
  not_before_ = deadline_after(home_.now(), pause_.next(home_.io().random()));
  std::string text = "cannot resolve " + channel_->to.name;
  text.append(": ").append(why.message());
  home_.log().write(log_level::info, text);
  channel_->publish_failure(status::unavailable(text));
}

task<> channel_home::wanted() {
  co_await asked_;
  co_await sleep_until(not_before_);
  asked_.reset();
}

void channel_home::want() noexcept { asked_.set(); }

void channel_home::leave() noexcept {
  leaving_ = true;
  channel_->forget_home();
  work_.request_stop();
  if (!running_) leave_now();
}

void channel_home::leave_now() noexcept {
  channel_->home_left();
  left();
}

}  // namespace coracle::client
