// The code of docs/guides/overload.md.
#include "movie.coracle.hpp"  // generated from movie.proto

#include <coracle/client.hpp>
#include <coracle/server.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

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

}  // namespace
}  // namespace overload_page
