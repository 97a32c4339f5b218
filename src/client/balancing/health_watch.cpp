#include "client/balancing/health_watch.hpp"

#include "base/if_memory_allows.hpp"
#include "client/balancing/subchannel.hpp"
#include "client/call/call_setup.hpp"
#include "client/web/web_exchange.hpp"
#include "coracle/client/client_stream.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/stop_on.hpp"
#include "coracle/runtime/loop.hpp"
#include "rpc/message_format.hpp"
#include "runtime/backend.hpp"
#include "runtime/repeated_lines.hpp"
#include "wellknown/health.pb.h"

namespace coracle::client {

namespace wire = wellknown::health::v1;

call_options health_watch::options_for(const connect_params& params) {
  call_options options;
  options.credentials = params.health_credentials;
  options.max_receive_bytes = answer_bytes_max;
  return options;
}

health_watch::health_watch(transport::connection& on, const connect_params& params,
                           const std::string& service, health_watch_owner& owner)
    : connection_(&on),
      owner_(owner),
      service_(service),
      options_(options_for(params)),
      target_{security::scheme_of(params.credentials), params.authority, this, {}, params.wire},
      private_(params.credentials.secure() || params.in_process) {}

task<> health_watch::run(std::shared_ptr<health_watch> self) {
  stop_on<void> until_stopped(self->stop_.token(), self->watch());
  (void)co_await until_stopped;
}

void health_watch::stop() noexcept {
  connection_ = nullptr;
  stop_.request_stop();
}

// After its first suspension, only the calls allocate, and a call that there is no memory for is made again.
task<> health_watch::watch() {
  loop& owner_loop = *loop::current();
  while (true) {
    try {
      failure_ = co_await send_request_with();
    } catch (const std::bad_alloc&) {
      failure_ = rpc::out_of_memory();
    }
    const bool answered = std::exchange(open_, false);
    if (!connection_) co_return;
    if (answered && failure_.code() == status_code::unimplemented) {
      base::if_memory_allows([&] {
        repeated_lines::write(owner_loop, log_room::client, log_level::warning, nullptr, "no health service",
                              "a server has no health service: it is treated as serving");
      });
      co_return set_serving_state(verdict::serving);
    }
    // gRFC A17: the health is unknown, so calls use other servers until the next attempt.
    set_serving_state(std::exchange(refused_, false) ? verdict::unknown : verdict::failed);
    co_await sleep_for(pause_.next(owner_loop.io().random()));
    if (serving_state_ == verdict::failed) set_serving_state(verdict::unknown);
  }
}

// Returns the error with which the call ended.
task<status> health_watch::send_request_with() {
  try {
    wire::HealthCheckRequest request;
    request.set_service(service_);
    server_streaming_call<wire::HealthCheckResponse> call(channel(shared_from_this()),
                                                          "/grpc.health.v1.Health/Watch", request, options_);
    wire::HealthCheckResponse answer;
    while (true) {
      const result<bool> more = co_await call.read(answer);
      if (!more.ok()) co_return more.status();
      if (!*more) break;
      pause_.reset();
      set_serving_state(answer.status() == wire::HealthCheckResponse::SERVING ? verdict::serving
                                                                              : verdict::not_serving);
    }
  } catch (const std::bad_alloc&) {
    co_return rpc::out_of_memory();
  }
  co_return status::unknown("the server ended the watch");
}

void health_watch::set_serving_state(verdict v) noexcept {
  if (serving_state_ == v || !connection_) return;
  serving_state_ = v;
  owner_.on_health(*this);
}

// --- the channel of the call

void health_watch::begin(call_attempt& a) noexcept {
  const transport::exchange x = connection_ ? connection_->open(a) : transport::exchange();
  open_ = static_cast<bool>(x);
  if (open_) return attach(a, x, target_);
  refused_ = true;
  a.fail(status::unavailable("the server's limit of streams is reached"), refusal::final);
}

loop& health_watch::blocking_loop() { return *loop::current(); }

void health_watch::set_up(call_setup& setup, std::string_view, loop&) noexcept {
  if (private_) setup.secure_authority = target_.authority;
}

}  // namespace coracle::client
