// A server that leaves: health checks and services learn of it, and calls are served until its time is over.
#include "grpc/health/v1/health.coracle.hpp"
#include "support/echo_service.hpp"

#include "coracle/client/channel.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/services/health_service.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace coracle::testing_support::leaving_test {
namespace {

using namespace std::chrono_literals;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class witness final : public service {
 public:
  explicit witness(loop& of) : of_(of) {}
  [[nodiscard]] method_table methods() const noexcept override { return {}; }
  void leaving() noexcept override { left.push_back(of_.now()); }
  void draining() noexcept override { drained.push_back(of_.now()); }
  std::vector<time_point> left;
  std::vector<time_point> drained;

 private:
  loop& of_;
};

class leaving : public ::testing::Test {
 protected:
  void serve(duration leave_time, std::size_t loops = 1) {
    server_options options;
    options.leave_time = leave_time;
    runtime& host = world_.host("server", loops);
    seen_.emplace(host.at(0));
    server_.emplace(host, options);
    server_->add(echo_);
    server_->add(health_);
    server_->add(*seen_);
    ASSERT_EQ(server_->listen("0.0.0.0:50051", insecure()), status());
    at_ = world_.address_of("server") + ":50051";
  }
  static task<std::string> check(channel to, std::string name) {
    const grpc::health::v1::rpc::Health::stub stub(to);
    HealthCheckRequest request;
    request.set_service(name);
    const auto reply = co_await stub.Check(request);
    co_return reply.ok() ? HealthCheckResponse::ServingStatus_Name(reply->status())
                         : std::string(name_of(reply.status().code()));
  }
  // By a connection of its own.
  static task<status_code> call(runtime& from, std::string at) {
    const channel another(from, at, insecure());
    const echo::rpc::Echo::stub stub(another);
    const echo::Text request;
    const auto reply = co_await stub.Say(request);
    co_return reply.status().code();
  }

  sim::world world_{3};
  runtime& clients_ = world_.host("client");
  echo_service echo_;
  health_service health_;
  std::optional<witness> seen_;
  std::optional<server> server_;
  std::string at_;
};

task<> watch_it_leave(channel to, server& one, std::vector<std::string>& said,
                      task<std::string> (*check)(channel, std::string)) {
  const auto ask = [&](const char* name) -> task<> {
    std::string answer = co_await check(to, name);
    said.push_back(std::move(answer));
  };
  co_await ask("");
  co_await ask("liveness");
  one.stop();
  co_await sleep_for(1s);
  co_await ask("");
  co_await ask("echo.Echo");
  co_await ask("liveness");
}

TEST_F(leaving, IsNotReadyAndLivesUntilItDrains) {
  serve(10s);
  std::vector<std::string> said;
  const channel to(clients_, at_, insecure());
  sync_wait(clients_, watch_it_leave(to, *server_, said, check));
  EXPECT_EQ(said, (std::vector<std::string>{"SERVING", "SERVING", "NOT_SERVING", "NOT_SERVING", "SERVING"}));
  EXPECT_EQ(sync_wait(clients_, call(clients_, at_)), status_code::ok) << "it serves new connections";
  world_.run_for(10s);
  EXPECT_EQ(sync_wait(clients_, call(clients_, at_)), status_code::unavailable);
  ASSERT_EQ(seen_->left.size(), 1u);
  ASSERT_EQ(seen_->drained.size(), 1u);
  EXPECT_EQ(seen_->drained.front() - seen_->left.front(), 10s);
}

task<> signal_twice(sim::world& w) {
  co_await sleep_for(1s);
  EXPECT_TRUE(w.signal("server", process_signal::terminate));
  co_await sleep_for(1s);
  EXPECT_TRUE(w.signal("server", process_signal::interrupt));
}

// A call that no handler ends.
task<> hang(channel to, duration begins_after, int& unavailable) {
  co_await sleep_for(begins_after);
  const echo::rpc::Echo::stub stub(to);
  echo::Text request;
  request.set_text("hang");
  const auto reply = co_await stub.Misbehave(request);
  unavailable += reply.status().code() == status_code::unavailable;
}

// Calls begin before the second signal, with it and after it, on an old connection and on new ones.
TEST_F(leaving, ASecondSignalLeavesNoTimeToAnyCall) {
  serve(10s, 3);
  const time_point begun = world_.now();
  const channel old(clients_, at_, insecure());
  int begun_count = 0;
  int unavailable = 0;
  for (duration after = 1500ms; after < 2500ms; after += 5ms) {
    for (const channel& to : {old, channel(clients_, at_, insecure())}) {
      clients_.spawn(hang(to, after, unavailable));
      ++begun_count;
    }
  }
  clients_.spawn(signal_twice(world_));
  EXPECT_EQ(server_->run(), 0);
  EXPECT_LT(world_.now() - begun, 10s) << "neither the rest of leave_time nor drain_grace";
  world_.run_for(1s);
  EXPECT_EQ(unavailable, begun_count);
  EXPECT_GT(echo_.hung, 100);
}

TEST_F(leaving, TakesNoTimeUnlessToldTo) {
  serve(0s);
  std::vector<std::string> said;
  server_->stop();
  world_.run_for(1s);
  EXPECT_EQ(seen_->left, seen_->drained);
  EXPECT_EQ(seen_->left.size(), 1u);
  EXPECT_EQ(sync_wait(clients_, call(clients_, at_)), status_code::unavailable);
}

}  // namespace
}  // namespace coracle::testing_support::leaving_test
