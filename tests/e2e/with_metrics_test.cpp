// The page of metrics over every backend. What it says is compared in tests/unit/telemetry and by Prometheus
// itself.
#include "coracle/telemetry/with_metrics.hpp"

#include "support/echo_fixture.hpp"
#include "support/kept_log.hpp"
#include "support/raw_http.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/measure.hpp"
#include "coracle/runtime/sim.hpp"

#include <gmock/gmock.h>

#include <optional>
#include <string>

namespace coracle::with_metrics_test {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

class metrics_page : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    make();
  }
  // A server that is not listening yet.
  void make() {
    channel_.reset();
    server_.emplace(rt());
    server_->add(served());
  }
  raw_http::response ask(const std::string& line, const std::string& fields = {}) {
    return raw_http::parse(run(raw_http::exchange(address_, raw_http::request(line, fields))));
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, metrics_page, every_world_over_tcp, echo_fixture::case_name);

TEST_P(metrics_page, HasTheCallsOfTheServerAndOfItsRuntime) {
  const telemetry kept = with_metrics(*server_);
  link();
  ASSERT_EQ(sync_wait(stub().Say(text("hello"))).status(), status());
  const auto got = ask("GET /metrics");
  EXPECT_EQ(got.status(), 200) << got.head;
  EXPECT_EQ(got.field("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(got.field("vary"), "accept, accept-encoding");
  EXPECT_THAT(got.body, HasSubstr("\ngrpc_server_call_started_total{grpc_method=\"echo.Echo/Say\"} 1\n"));
  EXPECT_THAT(got.body,
              HasSubstr("\ngrpc_client_call_duration_seconds_count{grpc_method=\"echo.Echo/Say\",grpc_status="
                        "\"OK\",grpc_target=\"dns:///" +
                        address_ + "\"} 1\n"));
  EXPECT_THAT(got.body, HasSubstr("telemetry_sdk_name=\"coracle\""));
  EXPECT_TRUE(got.body.ends_with('\n'));
}

TEST_P(metrics_page, OfAWrongPathIsAnError) {
  metrics_options options;
  options.path = "metrics";
  EXPECT_THROW((void)with_metrics(*server_, options), usage_error);
}

TEST_P(metrics_page, AsksAuthorizeForEveryRequest) {
  metrics_options options;
  options.path = "/internal/metrics";
  options.authorize = [](const http_request& request) -> status {
    const auto who = request.header("authorization");
    if (!who) return status::unauthenticated("who are you?");
    return *who == "Basic eW91" ? status() : status::permission_denied("not you");
  };
  with_metrics(*server_, options);
  link();
  const auto unknown = ask("GET /internal/metrics");
  EXPECT_EQ(unknown.status(), 401);
  EXPECT_THAT(unknown.field("www-authenticate"), HasSubstr("Basic"));
  EXPECT_EQ(ask("GET /internal/metrics", "authorization: Basic bWU=\r\n").status(), 403);
  const auto proxied =
      ask("GET /internal/metrics", "authorization: Basic eW91\r\nforwarded: for=192.0.2.1\r\n");
  EXPECT_EQ(proxied.status(), 200);
  EXPECT_EQ(ask("GET /metrics").status(), 404);
}

TEST_P(metrics_page, MayHaveAPortOfItsOwn) {
  metrics_options options;
  options.address = "unix-abstract:coracle-with-metrics-" + std::to_string(getpid()) + "-" +
                    std::to_string(reinterpret_cast<std::uintptr_t>(this));
  with_metrics(*server_, options);
  link();
  EXPECT_EQ(ask("GET /metrics").status(), 404);
  // It serves while the server drains, and when the server has gone.
  run(server_->drain(std::chrono::seconds(1)));
  close();
  address_ = options.address;
  EXPECT_EQ(ask("GET /metrics", "x-forwarded-for: 192.0.2.1\r\n").status(), 200);
  make();
  EXPECT_THROW((void)with_metrics(*server_, options), status_error);  // the address is taken
}

TEST_P(metrics_page, WithMoreSeriesThanTheLimitIsRefusedWithTheirNumber) {
  metrics_options options;
  options.series_max = 3;
  with_metrics(*server_, options);
  link();
  const auto refused = ask("GET /metrics");
  EXPECT_EQ(refused.status(), 503);
  EXPECT_THAT(refused.body, HasSubstr(" series, limit 3 (see metrics_options::series_max"));
}

TEST(MetricsPage, AnswersThisMachineAloneUnlessItAuthorizesOrHasAPortOfItsOwn) {
  sim::world world(1);
  runtime& prometheus = world.host("prometheus");
  const auto status_for = [&](metrics_options options, const char* host, const char* port) {
    server s(world.host(host));
    with_metrics(s, std::move(options));
    EXPECT_EQ(s.listen("0.0.0.0:50051", insecure()), status());
    s.start();
    const std::string to = world.address_of(host) + port;
    const auto got = raw_http::parse(
        sync_wait(prometheus, prometheus.at(0), raw_http::exchange(to, raw_http::request("GET /metrics"))));
    if (got.status() == 403) {
      EXPECT_THAT(got.body, HasSubstr("metrics_options::address"));
    }
    return got.status();
  };
  EXPECT_EQ(status_for({}, "a", ":50051"), 403);
  metrics_options options;
  options.authorize = [](const http_request&) { return status(); };
  EXPECT_EQ(status_for(options, "b", ":50051"), 200);
  options.authorize = nullptr;
  options.address = "0.0.0.0:9464";
  EXPECT_EQ(status_for(options, "c", ":9464"), 200);
}

}  // namespace
}  // namespace coracle::with_metrics_test
