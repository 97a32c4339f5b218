#include "client/balancing/health_watch.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/client/client_stream.hpp"
#include "coracle/runtime/loop.hpp"
#include "rpc/message_format.hpp"
#include "runtime/repeated_lines.hpp"
#include "wellknown/health.pb.h"

namespace coracle::client {

namespace wire = wellknown::health::v1;

task<status> health_watch::call() {
  try {
    wire::HealthCheckRequest request;
    request.set_service(service_);
    server_streaming_call<wire::HealthCheckResponse> watch(
        channel(shared_from_this()), "/grpc.health.v1.Health/Watch", request, options());
    wire::HealthCheckResponse answer;
    while (true) {
      const result<bool> more = co_await watch.read(answer);
      if (!more.ok()) co_return more.status();
      if (!*more) break;
      answered();
      set_serving_state(answer.status() == wire::HealthCheckResponse::SERVING ? verdict::serving
                                                                              : verdict::not_serving);
    }
  } catch (const std::bad_alloc&) {
    co_return rpc::out_of_memory();
  }
  co_return status::unknown("the server ended the watch");
}

bool health_watch::ended(const status& failure, bool begun, bool refused) noexcept {
  failure_ = failure;
  if (begun && failure.code() == status_code::unimplemented) {
    base::if_memory_allows([&] {
      repeated_lines::write(*loop::current(), log_room::client, log_level::warning, nullptr,
                            "no health service", "a server has no health service: it is treated as serving");
    });
    set_serving_state(verdict::serving);
    return false;
  }
  // gRFC A17: the health is unknown, so calls use other servers until the next attempt.
  set_serving_state(refused ? verdict::unknown : verdict::failed);
  return true;
}

void health_watch::begins_again() noexcept {
  if (serving_state_ == verdict::failed) set_serving_state(verdict::unknown);
}

void health_watch::set_serving_state(verdict v) noexcept {
  if (serving_state_ == v || stopped()) return;
  serving_state_ = v;
  owner_.on_health(*this);
}

}  // namespace coracle::client
