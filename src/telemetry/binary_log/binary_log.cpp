#include "coracle/telemetry/binary_log.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/client/client_interceptor.hpp"
#include "coracle/coro/environment.hpp"
#include "coracle/runtime/loop.hpp"
#include "coracle/server/server.hpp"
#include "coracle/server/server_interceptor.hpp"
#include "telemetry/binary_log/call_log.hpp"
#include "telemetry/binary_log/filter.hpp"

#include <cstdlib>
#include <utility>

namespace coracle {

namespace {

using telemetry_internal::call_log;

class server_log final : public server_interceptor {
 public:
  explicit server_log(std::shared_ptr<const binary_log> to) noexcept : to_(std::move(to)) {}

  task<status> intercept(server_context& context, next_handler next) override {
    const auto limits = to_->filter().find(context.method());
    if (!limits) {
      status outcome = co_await next();
      co_return outcome;
    }
    const auto log = std::make_shared<call_log>(to_, *limits, context);
    status outcome = co_await next(log);
    // Nothing is sent to a client that has cancelled the call or disconnected.
    log->ended(outcome, context.cancelled() && outcome.code() == status_code::cancelled, false);
    co_return outcome;
  }

 private:
  const std::shared_ptr<const binary_log> to_;
};

class client_log final : public client_interceptor {
 public:
  explicit client_log(std::shared_ptr<const binary_log> to) noexcept : to_(std::move(to)) {}

  task<status> intercept(client_context& call, next_call next) override {
    const auto limits = to_->filter().find(call.method());
    if (!limits) {
      status outcome = co_await next();
      co_return outcome;
    }
    const coro::environment& here = co_await coro::this_environment();
    const auto log = std::make_shared<call_log>(to_, *limits, call);
    status outcome = co_await next(log);
    const bool expired =
        outcome.code() == status_code::deadline_exceeded && loop::current()->now() >= call.deadline();
    const bool stopped = outcome.code() == status_code::cancelled && here.stop.stop_requested();
    log->ended(outcome, expired || stopped, !next.has_reply());
    co_return outcome;
  }

 private:
  const std::shared_ptr<const binary_log> to_;
};

}  // namespace

binary_log::binary_log(std::unique_ptr<telemetry_internal::binary_log_filter> filter,
                       std::shared_ptr<binary_log_sink> sink) noexcept
    : filter_(std::move(filter)), sink_(std::move(sink)) {}
binary_log::~binary_log() = default;

result<std::shared_ptr<const binary_log>> binary_log::make(std::string_view filter,
                                                           std::shared_ptr<binary_log_sink> sink) {
  CORACLE_REQUIRE(sink, "a binary log requires a sink: open a binary_log_file, or make one of your own");
  auto parsed = telemetry_internal::binary_log_filter::parse(filter);
  if (!parsed) return parsed.status();
  auto kept = std::make_unique<telemetry_internal::binary_log_filter>(*std::move(parsed));
  return std::shared_ptr<const binary_log>(new binary_log(std::move(kept), std::move(sink)));
}

result<std::shared_ptr<const binary_log>> binary_log::from_environment(
    std::shared_ptr<binary_log_sink> sink) {
  const char* const filter = std::getenv("GRPC_BINARY_LOG_FILTER");
  auto made = make(filter ? filter : "", std::move(sink));
  if (!made)
    return status(made.status().code(), "GRPC_BINARY_LOG_FILTER: " + std::string(made.status().message()));
  return made;
}

// Without calls to log, the server has one interceptor less.
void with_binary_log(server& to, std::shared_ptr<const binary_log> log) {
  CORACLE_REQUIRE(log, "with_binary_log() requires a log: binary_log::make() makes one");
  if (!log->filter().logs_nothing()) to.add_interceptor(std::make_shared<server_log>(std::move(log)));
}

std::shared_ptr<client_interceptor> binary_log_interceptor(std::shared_ptr<const binary_log> log) {
  CORACLE_REQUIRE(log, "binary_log_interceptor() requires a log: binary_log::make() makes one");
  return std::make_shared<client_log>(std::move(log));
}

}  // namespace coracle
