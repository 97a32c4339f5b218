// What the headers of telemetry claim about threads: several threads make handles, read metrics, add gauges
// and observers of channels while calls run on two loops. ThreadSanitizer runs these tests, too.
//
//   client/observe_channels.hpp    factories of observers
//   telemetry/telemetry.hpp        handles and metrics
//   telemetry/metrics_snapshot.hpp its values
#include "support/echo_service.hpp"
#include "support/echo_world.hpp"

#include "coracle/client/client_observer.hpp"
#include "coracle/client/observe_channels.hpp"
#include "coracle/client/sync_wait.hpp"
#include "coracle/telemetry/telemetry.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

namespace coracle::testing_support::telemetry_thread_claims_test {
namespace {

constexpr instrument cache{.name = "test.cache.entries",
                           .description = "Entries of the cache.",
                           .unit = "{entry}",
                           .kind = instrument_kind::gauge,
                           .labels = {},
                           .optional_labels = {},
                           .bounds = {}};

struct counting_observer final : client_observer {
  explicit counting_observer(std::atomic<int>& n) noexcept : calls(n) {}
  void call_ended(observed_call&, const status&, time_point) noexcept override { ++calls; }
  std::atomic<int>& calls;
};

TEST(telemetry_thread_claims, MetricsAreReadWhileThreadsMakeCalls) {
  constexpr int threads = 3;
  constexpr int calls = 20;
  std::atomic<int> observed{0};
  echo_service service;
  runtime rt(2);
  telemetry of_all(rt);
  server s(rt);
  s.add(service);
  of_all.observe(s);
  ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
  s.start();
  const std::string address = "127.0.0.1:" + std::to_string(s.port());
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&] {
      observe_channels(rt, [&](std::string_view) { return std::make_shared<counting_observer>(observed); });
      channel c(rt, address, insecure());
      echo_stub stub(c);
      telemetry mine(rt);
      for (int n = 0; n < calls; ++n) {
        EXPECT_EQ(sync_wait(stub.Say(make_text("hello"))).status(), status());
        const metrics_snapshot now = sync_wait(rt, rt.at(static_cast<std::size_t>(n) % 2), mine.metrics());
        EXPECT_TRUE(now.find("grpc.server.call.started"));
      }
      mine.add_gauge(cache, [] { return 1.0; });
    });
  for (std::thread& t : all) t.join();
  const metrics_snapshot now = sync_wait(rt, rt.at(0), of_all.metrics());
  const metric_family* const started = now.find("grpc.server.call.started");
  ASSERT_TRUE(started);
  double sum = 0;
  for (const metric_point& p : started->points) sum += p.value;
  EXPECT_EQ(sum, threads * calls);
  EXPECT_GE(observed, threads * calls);
}

}  // namespace
}  // namespace coracle::testing_support::telemetry_thread_claims_test
