// The code of docs/guides/overload.md, and of retries.md and testing.md about overload and faults.
#include "movie.coracle.hpp"  // generated from movie.proto

#include <coracle/client.hpp>
#include <coracle/client/idempotency_keys.hpp>
#include <coracle/client/single_flight.hpp>
#include <coracle/server.hpp>
#include <coracle/server/idempotency.hpp>
#include <coracle/server/server_faults.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>

namespace overload_page {
namespace {

using namespace std::chrono_literals;

class shelf final : public movie::rpc::MovieService::service {
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie&) override {
    level = context.criticality();
    co_return movie::AddMovieResponse();
  }

 public:
  coracle::criticality level{};
};

// --8<-- [start:service]
class admin_service final : public movie::rpc::MovieService::service {
 public:
  [[nodiscard]] bool is_limited() const noexcept override { return false; }
};
// --8<-- [end:service]

TEST(Overload, AServerProtectsItself) {
  coracle::runtime runtime;
  shelf movies_service;
  // --8<-- [start:protect]
  coracle::server_options options;
  options.protect();
  coracle::server server(runtime, options);
  // --8<-- [end:protect]
  server.add(movies_service);
  const movie::rpc::MovieService::stub movies(coracle::channel(runtime, server.in_process()));
  const movie::Movie movie;
  const auto add = [&]() -> coracle::task<bool> {
    // --8<-- [start:criticality]
    coracle::call_options batch = coracle::within(1s);
    batch.criticality = coracle::criticality::sheddable;
    const auto reply = co_await movies.AddMovie(movie, batch);
    // --8<-- [end:criticality]
    co_return reply.ok();
  };
  EXPECT_TRUE(coracle::sync_wait(runtime, add()));
  EXPECT_EQ(movies_service.level, coracle::criticality::sheddable);
  const auto show = [&]() -> coracle::task<> {
    // --8<-- [start:snapshot]
    const coracle::server_snapshot now = co_await server.snapshot();
    std::printf("%zu of %zu run, %zu wait, %llu were rejected\n", now.calls_limited, now.concurrency_limit,
                now.calls_waiting, static_cast<unsigned long long>(now.calls_rejected));
    // --8<-- [end:snapshot]
    EXPECT_GE(now.concurrency_limit, 20u);
  };
  coracle::sync_wait(runtime, show());
  EXPECT_FALSE(admin_service().is_limited());
}

TEST(Overload, ClientsHelp) {
  coracle::runtime runtime;
  shelf movies_service;
  coracle::server server(runtime);
  server.add(movies_service);
  // --8<-- [start:clients]
  coracle::channel_options options;
  options.throttling = true;
  options.calls.deadline_margin = 20ms;
  options.interceptors = {coracle::single_flight({"/movie.MovieService/GetMovie"})};
  // --8<-- [end:clients]
  // --8<-- [start:waiting]
  options.max_waiting_calls = 1'000;  // on each loop
  // --8<-- [end:waiting]
  // --8<-- [start:budget]
  const auto budget = std::make_shared<coracle::retry_budget>();
  options.retry_budget = budget;  // the same object for each channel
  // --8<-- [end:budget]
  const movie::rpc::MovieService::stub movies(coracle::channel(runtime, server.in_process(), options));
  EXPECT_TRUE(coracle::sync_wait(movies.AddMovie(movie::Movie())).ok());
  EXPECT_EQ(budget->available(), 100u);
}

TEST(Overload, CallsWithKeysRunOnce) {
  coracle::runtime runtime;
  shelf movies_service;
  coracle::server server(runtime);
  // --8<-- [start:idempotent]
  server.add_interceptor(
      coracle::idempotent_calls(coracle::memory_idempotency_store(), {"/movie.MovieService/AddMovie"}));
  // --8<-- [end:idempotent]
  server.add(movies_service);
  // --8<-- [start:keys]
  coracle::channel_options options;
  options.interceptors = {coracle::idempotency_keys({"/movie.MovieService/AddMovie"})};
  // --8<-- [end:keys]
  const movie::rpc::MovieService::stub movies(coracle::channel(runtime, server.in_process(), options));
  EXPECT_TRUE(coracle::sync_wait(movies.AddMovie(movie::Movie())).ok());
}

TEST(Overload, FaultsAreInjected) {
  coracle::runtime runtime;
  shelf movies_service;
  coracle::server server(runtime);
  // --8<-- [start:faults]
  coracle::fault_options faults;
  faults.methods = {"/movie.MovieService/"};
  faults.delay = 200ms;
  faults.delayed = 0.1;  // of the calls
  faults.abort = coracle::status::unavailable("as planned");
  faults.aborted = 0.01;
  server.add_interceptor(coracle::server_faults(faults));
  // --8<-- [end:faults]
  server.add(movies_service);
  const movie::rpc::MovieService::stub movies(coracle::channel(runtime, server.in_process()));
  const auto reply = coracle::sync_wait(movies.AddMovie(movie::Movie()));
  EXPECT_TRUE(reply.ok() || reply.status() == faults.abort);
}

TEST(Overload, AServerLimitsRates) {
  coracle::runtime runtime;
  shelf movies_service;
  // --8<-- [start:rates]
  coracle::rate_limit everyone(1000);  // calls a second
  everyone.methods = {"/movie.MovieService/"};
  coracle::rate_limit each_client(50, 100);  // and at most 100 at once
  each_client.per = coracle::rate_limit::caller::client;
  coracle::rate_limit each_tenant(1);
  each_tenant.methods = {"/movie.MovieService/AddMovie"};
  each_tenant.per = coracle::rate_limit::caller::metadata;
  each_tenant.metadata_name = "x-tenant";
  coracle::server_options options;
  options.rate_limits = {everyone, each_client, each_tenant};
  // --8<-- [end:rates]
  coracle::server server(runtime, options);
  server.add(movies_service);
  const movie::rpc::MovieService::stub movies(coracle::channel(runtime, server.in_process()));
  const auto add = [&]() -> coracle::task<coracle::status> {
    const movie::Movie movie;
    const auto reply = co_await movies.AddMovie(movie);
    co_return reply.status();
  };
  EXPECT_EQ(coracle::sync_wait(runtime, add()), coracle::status());
  int rejected = 0;
  for (int i = 0; i < 100; ++i)
    rejected += coracle::sync_wait(runtime, add()).code() == coracle::status_code::resource_exhausted;
  EXPECT_GT(rejected, 0);
}

}  // namespace
}  // namespace overload_page
