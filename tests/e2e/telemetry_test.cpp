#include "coracle/telemetry/telemetry.hpp"

#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/measure.hpp"
#include "net/tcp_meter.hpp"
#include "support/echo_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::telemetry_test {
namespace {

using namespace std::chrono_literals;

constexpr instrument uploads{.name = "test.uploads",
                             .description = "Files that clients uploaded.",
                             .unit = "{file}",
                             .kind = instrument_kind::counter,
                             .labels = {"format"},
                             .optional_labels = {"user"},
                             .bounds = {}};

class telemetry_metrics : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    start({});
  }
  void start(const telemetry_options& options) {
    channel_.reset();
    server_.reset();
    telemetry_.emplace(rt(), options);
    server_.emplace(rt());
    server_->add(served());
    telemetry_->observe(*server_);
    link();
  }
  metrics_snapshot taken() { return run(telemetry_->metrics()); }
  // The point of a family whose labels contain `labels`; null if there is none.
  static const metric_point* find(const metrics_snapshot& s, std::string_view name,
                                  const std::vector<std::pair<std::string, std::string>>& labels) {
    const metric_family* const f = s.find(name);
    if (!f) return nullptr;
    for (const metric_point& p : f->points)
      if (std::ranges::all_of(labels, [&](const auto& l) { return std::ranges::count(p.labels, l) == 1; }))
        return &p;
    return nullptr;
  }
  std::optional<telemetry> telemetry_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, telemetry_metrics, every_world_over_tcp, echo_fixture::case_name);

TEST_P(telemetry_metrics, CallsAreCountedByMethodAndStatusOnBothSides) {
  ASSERT_EQ(sync_wait(stub().Say(text("hello"))).status(), status());
  ASSERT_EQ(sync_wait(stub().Say(text("hello"))).status(), status());
  ASSERT_EQ(sync_wait(stub().Misbehave(text("status"))).status().code(), status_code::not_found);
  const metrics_snapshot now = taken();

  const metric_point* const started =
      find(now, "grpc.server.call.started", {{"grpc.method", "echo.Echo/Say"}});
  ASSERT_TRUE(started);
  EXPECT_EQ(started->value, 2);
  EXPECT_EQ(started->labels.size(), 1U);
  const metric_point* const ok =
      find(now, "grpc.server.call.duration", {{"grpc.method", "echo.Echo/Say"}, {"grpc.status", "OK"}});
  ASSERT_TRUE(ok && ok->histogram);
  EXPECT_EQ(ok->histogram->count, 2U);
  EXPECT_EQ(ok->histogram->buckets.size(), 42U);
  EXPECT_TRUE(find(now, "grpc.server.call.duration",
                   {{"grpc.method", "echo.Echo/Misbehave"}, {"grpc.status", "NOT_FOUND"}}));
  const metric_point* const sent = find(now, "grpc.server.call.sent_total_compressed_message_size",
                                        {{"grpc.method", "echo.Echo/Say"}, {"grpc.status", "OK"}});
  ASSERT_TRUE(sent && sent->histogram);
  EXPECT_EQ(sent->histogram->sum, 2 * 7);  // the text, its tag and its length
  EXPECT_EQ(sent->histogram->buckets.at(1), 2U);

  const std::string target = "dns:///" + address_;
  const metric_point* const attempts =
      find(now, "grpc.client.attempt.started", {{"grpc.method", "echo.Echo/Say"}, {"grpc.target", target}});
  ASSERT_TRUE(attempts);
  EXPECT_EQ(attempts->value, 2);
  for (const char* name : {"grpc.client.attempt.duration", "grpc.client.call.duration"}) {
    const metric_point* const p =
        find(now, name, {{"grpc.method", "echo.Echo/Say"}, {"grpc.target", target}, {"grpc.status", "OK"}});
    ASSERT_TRUE(p && p->histogram) << name;
    EXPECT_EQ(p->histogram->count, 2U) << name;
    EXPECT_EQ(p->labels.size(), 3U) << name;
  }
}

TEST_P(telemetry_metrics, UnregisteredMethodsAreOther) {
  generic_stub any(*channel_);
  const bytes_message request;
  EXPECT_EQ(run([](generic_stub a, const bytes_message& r) -> task<status> {
              const auto reply = co_await a.unary("/invented.Service/ByAClient", r);
              co_return reply.status();
            }(any, request))
                .code(),
            status_code::unimplemented);
  const metrics_snapshot now = taken();
  EXPECT_TRUE(
      find(now, "grpc.server.call.duration", {{"grpc.method", "other"}, {"grpc.status", "UNIMPLEMENTED"}}));
  EXPECT_TRUE(
      find(now, "grpc.client.call.duration", {{"grpc.method", "other"}, {"grpc.status", "UNIMPLEMENTED"}}));
  for (const metric_family& f : now.families)
    for (const metric_point& p : f.points)
      for (const auto& [key, value] : p.labels)
        EXPECT_EQ(value.find("invented"), std::string::npos) << f.name;
}

TEST_P(telemetry_metrics, AFilterAdmitsUnregisteredMethods) {
  telemetry_options options;
  options.admits_method = [](std::string_view m) { return m == "echo.Echo/Say"; };
  // A runtime has one telemetry: this test needs a world of its own for its options.
  any_world other(std::get<0>(GetParam()));
  telemetry of_other(*other.get(), options);
  server s(*other.get());
  s.add(service_);
  of_other.observe(s);
  {
    channel c(*other.get(), s.in_process());
    generic_stub any(c);
    bytes_message request;
    (void)sync_wait(any.unary("/echo.Echo/Say", request));
    (void)sync_wait(any.unary("/echo.Echo/SayAtOnce", request));
  }
  const metrics_snapshot now = sync_wait(*other.get(), other.get()->at(0), of_other.metrics());
  EXPECT_TRUE(find(now, "grpc.client.call.duration", {{"grpc.method", "echo.Echo/Say"}}));
  EXPECT_TRUE(find(now, "grpc.client.call.duration", {{"grpc.method", "other"}}));
  EXPECT_FALSE(find(now, "grpc.client.call.duration", {{"grpc.method", "echo.Echo/SayAtOnce"}}));
  EXPECT_TRUE(find(now, "grpc.server.call.duration", {{"grpc.method", "echo.Echo/SayAtOnce"}}));
}

TEST_P(telemetry_metrics, UsersMeasureOnTheLoops) {
  run([]() -> task<> {
    measure(uploads, 1, {"png", "somebody"});
    measure(uploads, 2, {"png", "another"});
    measure(uploads, 5, {"jpeg"});
    co_return;
  }());
  measure(uploads, 100, {"png"});  // a thread that drives no loop
  const metrics_snapshot now = taken();
  const metric_family* const f = now.find("test.uploads");
  ASSERT_TRUE(f);
  ASSERT_EQ(f->points.size(), 2U);
  EXPECT_EQ(f->points[0].labels, (std::vector<std::pair<std::string, std::string>>{{"format", "jpeg"}}));
  EXPECT_EQ(f->points[0].value, 5);
  EXPECT_EQ(f->points[1].value, 3);
}

TEST_P(telemetry_metrics, SeriesBeyondTheLimitAreFoldedIntoOne) {
  any_world other(std::get<0>(GetParam()));
  telemetry_options options;
  options.series_max = 10;
  telemetry of_other(*other.get(), options);
  const auto measures = []() -> task<> {
    for (int i = 0; i < 100; ++i) {
      const std::string format = "format " + std::to_string(i);
      measure(uploads, 1, {format});
    }
    co_return;
  };
  sync_wait(*other.get(), other.get()->at(0), measures());
  const metrics_snapshot now = sync_wait(*other.get(), other.get()->at(0), of_other.metrics());
  const metric_family* const f = now.find("test.uploads");
  ASSERT_TRUE(f);
  EXPECT_EQ(f->points.size(), 10U);
  const metric_point* const rest = find(now, "test.uploads", {{"otel.metric.overflow", "true"}});
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->value, 91);
}

TEST_P(telemetry_metrics, InstrumentsThatAreOffByDefaultAreTurnedOnByName) {
  any_world other(std::get<0>(GetParam()));
  telemetry_options options;
  options.disabled = {"coracle.loop.*"};
  telemetry of_other(*other.get(), options);
  const metrics_snapshot now = sync_wait(*other.get(), other.get()->at(0), of_other.metrics());
  EXPECT_FALSE(now.find("coracle.loop.iterations"));
  ASSERT_EQ(sync_wait(stub().Say(text("hello"))).status(), status());
  const metrics_snapshot usual = taken();
  const metric_family* const f = usual.find("coracle.loop.iterations");
  ASSERT_TRUE(f);
  EXPECT_GT(f->points.at(0).value, 0);
}

TEST_P(telemetry_metrics, AGaugeIsReadWhenSomebodyAsks) {
  static constexpr instrument cache{.name = "test.cache.entries",
                                    .description = "Entries of the cache.",
                                    .unit = "{entry}",
                                    .kind = instrument_kind::gauge,
                                    .labels = {},
                                    .optional_labels = {},
                                    .bounds = {}};
  double entries = 3;
  telemetry_->add_gauge(cache, [&] { return entries; });
  EXPECT_EQ(find(taken(), "test.cache.entries", {})->value, 3);
  entries = 4;
  EXPECT_EQ(find(taken(), "test.cache.entries", {})->value, 4);
}

// A server and a channel on a runtime whose telemetry has options.
class measured {
 public:
  measured(world_kind kind, const telemetry_options& options, const server_options& of_server = {})
      : world_(kind), telemetry_(*world_.get(), options), server_(std::in_place, *world_.get(), of_server) {
    server_->add(service_);
    telemetry_.observe(*server_);
    EXPECT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    connect();
  }
  void connect() { channel_.emplace(*world_.get(), target(), insecure()); }
  void disconnect() { channel_.reset(); }
  void end_server() { server_.reset(); }
  [[nodiscard]] std::string target() const { return "ipv4:127.0.0.1:" + std::to_string(server_->port()); }
  [[nodiscard]] echo_stub stub() { return echo_stub(*channel_); }
  [[nodiscard]] runtime& rt() { return *world_.get(); }
  metrics_snapshot taken() { return sync_wait(rt(), rt().at(0), telemetry_.metrics()); }

 private:
  any_world world_;
  echo_service service_;
  telemetry telemetry_;
  std::optional<server> server_;
  std::optional<channel> channel_;
};

TEST_P(telemetry_metrics, SubchannelsReportTheirConnections) {
  telemetry_options options;
  options.enabled = {"grpc.subchannel.*", "grpc.lb.pick_first.*"};
  options.optional_labels = {"grpc.disconnect_error", "grpc.security_level"};
  measured m(std::get<0>(GetParam()), options);
  const std::string target = m.target();
  ASSERT_EQ(sync_wait(m.stub().Say(text("hello"))).status(), status());
  const metrics_snapshot before = m.taken();
  const metric_point* const open = find(before, "grpc.subchannel.open_connections",
                                        {{"grpc.target", target}, {"grpc.security_level", "none"}});
  ASSERT_TRUE(open);
  EXPECT_EQ(open->value, 1);
  EXPECT_EQ(find(before, "grpc.subchannel.connection_attempts_succeeded", {{"grpc.target", target}})->value,
            1);
  EXPECT_EQ(
      find(before, "grpc.lb.pick_first.connection_attempts_succeeded", {{"grpc.target", target}})->value, 1);
  EXPECT_FALSE(before.find("grpc.subchannel.disconnections"));
  m.end_server();
  EXPECT_NE(sync_wait(m.stub().Say(text("hello"))).status(), status());
  const metrics_snapshot after = m.taken();
  EXPECT_TRUE(find(after, "grpc.subchannel.disconnections",
                   {{"grpc.target", target}, {"grpc.disconnect_error", "GOAWAY NO_ERROR"}}));
  EXPECT_TRUE(find(after, "grpc.lb.pick_first.disconnections", {{"grpc.target", target}}));
  EXPECT_GE(find(after, "grpc.subchannel.connection_attempts_failed", {{"grpc.target", target}})->value, 1);
  EXPECT_EQ(find(after, "grpc.subchannel.open_connections", {{"grpc.target", target}})->value, 0);
}

TEST_P(telemetry_metrics, CallsHaveALabelOfTheProgram) {
  call_options labelled;
  labelled.telemetry_label = "search";
  const std::pair<std::string, std::string> key{"grpc.client.call.custom", "search"};
  ASSERT_EQ(sync_wait(stub().Say(text("hello"), labelled)).status(), status());
  EXPECT_FALSE(find(taken(), "grpc.client.call.duration", {key})) << "it was not asked for";

  telemetry_options options;
  options.optional_labels = {"grpc.client.call.custom"};
  options.enabled = {"grpc.client.call.*"};
  options.series_max = 3;
  measured m(std::get<0>(GetParam()), options);
  ASSERT_EQ(sync_wait(m.stub().Say(text("hello"), labelled)).status(), status());
  ASSERT_EQ(sync_wait(m.stub().Say(text("hello"), labelled)).status(), status());
  ASSERT_EQ(sync_wait(m.stub().Say(text("hello"))).status(), status());
  const metrics_snapshot now = m.taken();
  for (const char* name : {"grpc.client.attempt.duration", "grpc.client.call.duration",
                           "grpc.client.attempt.sent_total_compressed_message_size"}) {
    const metric_point* const p = find(now, name, {key, {"grpc.method", "echo.Echo/Say"}});
    ASSERT_TRUE(p && p->histogram) << name;
    EXPECT_EQ(p->histogram->count, 2U) << name;
    const metric_point* const other = find(now, name, {{key.first, ""}, {"grpc.method", "echo.Echo/Say"}});
    ASSERT_TRUE(other && other->histogram) << name;
    EXPECT_EQ(other->histogram->count, 1U) << name;
  }
  EXPECT_EQ(find(now, "grpc.client.attempt.started", {key})->value, 2);
  EXPECT_FALSE(find(now, "grpc.server.call.duration", {key}));
  // The server's method and these two are three series: calls with further labels stay with their method.
  for (const char* label : {"a", "b", "c"}) {
    labelled.telemetry_label = label;
    ASSERT_EQ(sync_wait(m.stub().Say(text("hello"), labelled)).status(), status());
  }
  const metrics_snapshot full = m.taken();
  EXPECT_FALSE(find(full, "grpc.client.call.duration", {{key.first, "c"}}));
  EXPECT_EQ(find(full, "grpc.client.call.duration", {{key.first, ""}, {"grpc.method", "echo.Echo/Say"}})
                ->histogram->count,
            4U);
  EXPECT_FALSE(find(full, "grpc.client.call.duration", {{"grpc.method", "other"}}));
}

TEST_P(telemetry_metrics, AServerReportsWhatItHas) {
  ASSERT_EQ(sync_wait(stub().Say(text("hello"))).status(), status());
  const metrics_snapshot now = taken();
  EXPECT_EQ(find(now, "coracle.server.connections", {})->value, 1);
  EXPECT_EQ(find(now, "coracle.server.calls", {})->value, 0);
  EXPECT_GT(find(now, "coracle.server.io", {{"network.io.direction", "transmit"}})->value, 10);
  EXPECT_GT(find(now, "coracle.server.io", {{"network.io.direction", "receive"}})->value, 10);
  EXPECT_GE(find(now, "coracle.server.memory.usage", {})->value, 0);
  for (const char* state : {"idle", "active", "under_pressure"})
    EXPECT_TRUE(find(now, "coracle.server.connections.memory", {{"coracle.connection.state", state}}))
        << state;
  EXPECT_GE(find(now, "coracle.loop.pool.memory", {})->value, 0);
  EXPECT_GT(find(now, "coracle.server.memory.limit", {})->value, 1 << 20);
}

TEST_P(telemetry_metrics, WhatALimitRejectsIsCounted) {
  server_options few;
  few.limits.calls = 0;
  measured m(std::get<0>(GetParam()), {}, few);
  EXPECT_EQ(sync_wait(m.stub().Say(text("hello"))).status().code(), status_code::unavailable);
  EXPECT_EQ(find(m.taken(), "coracle.server.rejections", {{"coracle.limit", "calls"}})->value, 1);
  server_options slow;
  slow.rate_limits = {rate_limit(0.001, 1)};
  measured limited(std::get<0>(GetParam()), {}, slow);
  for (const status_code expected :
       {status_code::ok, status_code::resource_exhausted, status_code::resource_exhausted})
    EXPECT_EQ(sync_wait(limited.stub().Say(text("hello"))).status().code(), expected);
  EXPECT_EQ(find(limited.taken(), "coracle.server.rejections", {{"coracle.limit", "rate"}})->value, 2);
}

TEST_P(telemetry_metrics, IterationsOfLoopsHaveDurations) {
  ASSERT_EQ(sync_wait(stub().Say(text("hello"))).status(), status());
  const metrics_snapshot now = taken();
  const metric_point* const took = find(now, "coracle.loop.iteration.duration", {});
  ASSERT_TRUE(took && took->histogram);
  EXPECT_EQ(took->histogram->buckets.size(), 13U);
  EXPECT_EQ(static_cast<double>(took->histogram->count), find(now, "coracle.loop.iterations", {})->value);
  // A busy machine may stop a thread for that long.
  if (sim_world()) {
    EXPECT_EQ(find(now, "coracle.loop.stalls", {})->value, 0);
  }
}

TEST_P(telemetry_metrics, CostsAreCountedByMethod) {
  server_options all;
  all.cost_trailers = true;  // measures each call
  measured m(std::get<0>(GetParam()), {}, all);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(sync_wait(m.stub().Say(text("hello"))).status(), status());
  const metrics_snapshot now = m.taken();
  EXPECT_EQ(find(now, "coracle.server.cost.calls", {{"grpc.method", "echo.Echo/Say"}})->value, 3);
  EXPECT_GE(find(now, "coracle.server.cost.running", {{"grpc.method", "echo.Echo/Say"}})->value, 0);
  EXPECT_TRUE(find(now, "coracle.server.cost.heap_blocks", {{"grpc.method", "echo.Echo/Say"}}));
  for (const char* wait : {"messages", "room", "calls", "other"})
    EXPECT_TRUE(
        find(now, "coracle.server.cost.waiting", {{"grpc.method", "echo.Echo/Say"}, {"coracle.wait", wait}}))
        << wait;
}

// Time passes while code runs.
class telemetry_of_kernels : public telemetry_metrics {};
INSTANTIATE_TEST_SUITE_P(Everywhere, telemetry_of_kernels, every_kernel_over_tcp, echo_fixture::case_name);

TEST_P(telemetry_of_kernels, TcpConnectionsAreMeasuredWhenTheyEnd) {
  telemetry_options options;
  options.enabled = {"grpc.tcp.*"};
  options.optional_labels = {"network.peer.address", "network.local.port"};
  measured m(std::get<0>(GetParam()), options);
  const std::string port = m.target().substr(m.target().rfind(':') + 1);
  ASSERT_EQ(sync_wait(m.stub().Say(text("hello"))).status(), status());
  const metrics_snapshot before = m.taken();
  const std::pair<std::string, std::string> peer{"network.peer.address", "127.0.0.1"};
  const metric_point* const open =
      find(before, "grpc.tcp.connection_count", {peer, {"network.local.port", port}});
  ASSERT_TRUE(open) << "the server's side";
  EXPECT_EQ(open->value, 1);
  EXPECT_FALSE(before.find("grpc.tcp.bytes_sent"));
  m.disconnect();
  m.end_server();
  const metrics_snapshot after = m.taken();
  EXPECT_EQ(find(after, "grpc.tcp.connection_count", {peer, {"network.local.port", port}})->value, 0);
  EXPECT_EQ(find(after, "grpc.tcp.connections_created", {peer, {"network.local.port", port}})->value, 1);
  EXPECT_GT(find(after, "grpc.tcp.bytes_sent", {peer, {"network.local.port", port}})->value, 20);
  EXPECT_GE(find(after, "grpc.tcp.packets_sent", {peer, {"network.local.port", port}})->value, 1);
  const metric_point* const rtt = find(after, "grpc.tcp.min_rtt", {peer, {"network.local.port", port}});
  ASSERT_TRUE(rtt && rtt->histogram);
  EXPECT_EQ(rtt->histogram->count, 1U);
  EXPECT_LT(rtt->histogram->sum, 10);
}

TEST_P(telemetry_of_kernels, TcpConnectionsAreMeasuredAtIntervalsToo) {
  telemetry_options options;
  options.enabled = {"grpc.tcp.*"};
  measured m(std::get<0>(GetParam()), options);
  ASSERT_EQ(sync_wait(m.stub().Say(text("hello"))).status(), status());
  const auto query_after = [&](duration d) {
    sync_wait(m.rt(), m.rt().at(0), [](duration later) -> task<> {
      loop& here = *loop::current();
      here.local<net::tcp_meter>().query_due(here.now() + later);
      co_return;
    }(d));
    return m.taken();
  };
  EXPECT_FALSE(query_after(duration::zero()).find("grpc.tcp.bytes_sent")) << "none is due";
  const double once = find(query_after(2 * net::tcp_meter::interval), "grpc.tcp.bytes_sent", {})->value;
  EXPECT_GT(once, 20);
  // What was measured is not measured again.
  const double again = find(query_after(4 * net::tcp_meter::interval), "grpc.tcp.bytes_sent", {})->value;
  EXPECT_LT(again, 1.5 * once);
}

TEST_P(telemetry_of_kernels, CodeThatBlocksALoopIsAStall) {
  run([]() -> task<> {
    co_await sleep_for(1ms);
    std::this_thread::sleep_for(20ms);  // sleeps on purpose: blocks the loop
    co_await sleep_for(1ms);
  }());
  const metrics_snapshot now = taken();
  EXPECT_GE(find(now, "coracle.loop.stalls", {})->value, 1);
  const metric_point* const took = find(now, "coracle.loop.iteration.duration", {});
  ASSERT_TRUE(took && took->histogram);
  EXPECT_GE(took->histogram->sum, 0.02);
  EXPECT_LT(took->histogram->sum, 10);
}

TEST_P(telemetry_metrics, ResetsAreCountedByDirectionAndCode) {
  run([](echo_stub s) -> task<> {
    auto chat = s.Chat();
    EXPECT_EQ(co_await chat.write(make_text("hello")), status());
    echo::Text reply;
    EXPECT_TRUE(more(co_await chat.read(reply)));
  }(stub()));  // the stream is dropped
  ASSERT_EQ(sync_wait(stub().Say(text("hello"))).status(), status());
  const metrics_snapshot now = taken();
  for (const char* direction : {"transmit", "receive"}) {
    const metric_point* const p = find(
        now, "coracle.http2.resets", {{"network.io.direction", direction}, {"coracle.http2.code", "CANCEL"}});
    ASSERT_TRUE(p) << direction;
    EXPECT_EQ(p->value, 1) << direction;
  }
}

}  // namespace
}  // namespace coracle::testing_support::telemetry_test
