#include "client/naming/channel_resolver.hpp"

#include "base/if_memory_allows.hpp"
#include "client/channel_state.hpp"
#include "coracle/coro/sleep.hpp"
#include "rpc/message_format.hpp"
#include "runtime/backend.hpp"

#include <string>
#include <utility>

namespace coracle::client {

channel_resolver::channel_resolver(std::shared_ptr<channel_state> channel, loop& owner_loop)
    : channel_(std::move(channel)), loop_(owner_loop), unstarted_(run()), requested_(owner_loop) {}

channel_resolver::~channel_resolver() {
  CORACLE_ASSERT(!running_, "a channel_resolver was destroyed before its resolver ended");
}

void channel_resolver::start() noexcept {
  running_ = true;
  work_.spawn(std::move(unstarted_));
}

// A resolver that returns has published its last result. One that throws, or returns without a result, runs
// again when a resolution is requested. One that memory has run out for runs again by itself, because what it
// would have published may be lost, and with it the reason for a request. After start(), this frame and its
// waits allocate nothing.
task<> channel_resolver::run() {
  while (!shutting_down_) {
    status failure = status::unavailable("the resolver ended without a result");
    bool threw = true;
    bool out_of_memory = false;
    try {
      co_await channel_->to.by->run(*channel_->to.of, *this);
      threw = false;
    } catch (const coro::cancelled&) {
      break;
    } catch (const std::bad_alloc&) {
      failure = rpc::out_of_memory();
      out_of_memory = true;
    } catch (const std::exception& e) {
      failure = status::unavailable(e.what());
    } catch (...) {
      failure = status::unavailable("the resolver threw an exception that is not a std::exception");
    }
    if (shutting_down_ || (!threw && found_)) break;
    if (!base::if_memory_allows([&] { fail(failure); })) out_of_memory = true;
    try {
      if (!out_of_memory) co_await requested_;
      co_await sleep_until(not_before_);
    } catch (const coro::cancelled&) {
      break;
    }
    requested_.reset();
  }
  running_ = false;
  if (shutting_down_) finish_shutdown();
}

void channel_resolver::publish(resolution found) {
  if (shutting_down_) return;
  backoff_.reset();
  not_before_ = deadline_after(loop_.now(), channel_->options.resolve_pause);
  requested_.reset();  // this result also answers requests made meanwhile
  loop_.log()
      .in(log_room::client)
      .debug("resolved ", channel_->to.name, ": ", found.endpoints().size(), " endpoints");
  channel_->publish(std::move(found));
  found_ = true;
}

void channel_resolver::fail(const status& reason) {
  if (shutting_down_) return;
  not_before_ = deadline_after(loop_.now(), backoff_.next(loop_.io().random()));
  std::string text = "cannot resolve " + channel_->to.name;
  text.append(": ").append(reason.message());
  loop_.log().write(log_room::client, log_level::info, text);
  channel_->publish_failure(status::unavailable(text));
}

task<> channel_resolver::wait_until_requested() {
  co_await requested_;
  co_await sleep_until(not_before_);
  requested_.reset();
}

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
