#include "client/balancing/connection_watch.hpp"

#include "client/balancing/subchannel.hpp"
#include "client/call/call_setup.hpp"
#include "client/web/web_exchange.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/stop_on.hpp"
#include "coracle/runtime/loop.hpp"
#include "rpc/message_format.hpp"
#include "runtime/backend.hpp"

#include <utility>

namespace coracle::client {

namespace {

call_options options_for(const connect_params& params, std::uint32_t answer_bytes_max) {
  call_options options;
  options.credentials = params.health_credentials;
  options.max_receive_bytes = answer_bytes_max;
  return options;
}

}  // namespace

connection_watch::connection_watch(transport::connection& on, const connect_params& params,
                                   std::uint32_t answer_bytes_max)
    : connection_(&on),
      options_(options_for(params, answer_bytes_max)),
      target_{security::scheme_of(params.credentials), params.authority, this, {}, params.wire},
      private_(security::always_private(params.credentials) || params.in_process) {}

task<> connection_watch::run(std::shared_ptr<connection_watch> self) {
  stop_on<void> until_stopped(self->stop_.token(), self->watch());
  (void)co_await until_stopped;
}

void connection_watch::stop() noexcept {
  connection_ = nullptr;
  stop_.request_stop();
}

// After its first suspension, only the calls allocate, and a call that there is no memory for is made again.
task<> connection_watch::watch() {
  loop& owner_loop = *loop::current();
  while (true) {
    status failure;
    try {
      failure = co_await call();
    } catch (const std::bad_alloc&) {
      failure = rpc::out_of_memory();
    }
    const bool begun = std::exchange(open_, false);
    if (stopped()) co_return;
    if (!ended(failure, begun, std::exchange(refused_, false))) co_return;
    co_await sleep_for(pause_.next(owner_loop.io().random()));
    begins_again();
  }
}

// --- the channel of the call

void connection_watch::begin(call_attempt& a) noexcept {
  const transport::exchange x = connection_ ? connection_->open(a) : transport::exchange();
  open_ = static_cast<bool>(x);
  if (open_) return attach(a, x, target_);
  refused_ = true;
  a.fail(status::unavailable("the server's limit of streams is reached"), refusal::final);
}

loop& connection_watch::blocking_loop() { return *loop::current(); }

void connection_watch::set_up(call_setup& setup, std::string_view, loop&) noexcept {
  if (private_) setup.secure_authority = target_.authority;
}

}  // namespace coracle::client
