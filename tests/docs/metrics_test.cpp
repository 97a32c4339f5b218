// The code of docs/guides/metrics.md.
// --8<-- [start:includes]
#include "movie.coracle.hpp"  // generated from movie.proto

#include <coracle/server.hpp>
#include <coracle/server/server_observer.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
// --8<-- [end:includes]
// --8<-- [start:with_metrics_includes]
#include <coracle/server.hpp>
#include <coracle/telemetry/with_metrics.hpp>
// --8<-- [end:with_metrics_includes]
// --8<-- [start:measure_includes]
#include <coracle/coro/measure.hpp>
// --8<-- [end:measure_includes]
#include "coracle/client.hpp"
#include "support/raw_http.hpp"

#include <gmock/gmock.h>

namespace metrics_page {
namespace {

class shelf final : public movie::rpc::MovieService::service {
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&,
                                                   const movie::Movie& movie) override {
    if (movie.title().empty()) co_return coracle::status::invalid_argument("a title is needed");
    co_return movie::AddMovieResponse();
  }
};

// --8<-- [start:observer]
// Counts calls by method and status, and renders them in Prometheus' text format.
class call_metrics final : public coracle::server_observer {
 public:
  void call_ended(coracle::served_call& call, const coracle::status& outcome,
                  coracle::time_point now) noexcept override {
    // Clients choose the names of methods that do not exist: all of them count as one.
    const bool unknown = outcome.code() == coracle::status_code::unimplemented;
    const std::string method(unknown ? "other" : call.context.method());
    const std::lock_guard lock(mutex_);  // all loops call this
    counted& c = calls_[{method, std::string(coracle::name_of(outcome.code()))}];
    ++c.calls;
    c.seconds += std::chrono::duration<double>(now - call.began).count();
  }

  std::string text() const {
    const std::lock_guard lock(mutex_);
    std::string all = "# TYPE rpc_server_calls_total counter\n";
    for (const auto& [key, c] : calls_)
      all += "rpc_server_calls_total" + labels(key) + std::to_string(c.calls) + "\n";
    all += "# TYPE rpc_server_seconds_total counter\n";
    for (const auto& [key, c] : calls_)
      all += "rpc_server_seconds_total" + labels(key) + std::to_string(c.seconds) + "\n";
    return all;
  }

 private:
  using method_and_status = std::pair<std::string, std::string>;
  struct counted {
    std::uint64_t calls = 0;
    double seconds = 0;
  };
  static std::string labels(const method_and_status& key) {
    return "{method=\"" + key.first + "\",status=\"" + key.second + "\"} ";
  }

  mutable std::mutex mutex_;
  std::map<method_and_status, counted> calls_;
};
// --8<-- [end:observer]

// --8<-- [start:snapshot]
coracle::task<std::string> connections_text(coracle::server& server) {
  const coracle::server_snapshot now = co_await server.snapshot();
  co_return "# TYPE rpc_server_connections gauge\nrpc_server_connections " +
      std::to_string(now.connections.size()) + "\n";
}
// --8<-- [end:snapshot]

TEST(Metrics, CallsAreCountedByMethodAndStatus) {
  shelf service;
  coracle::runtime runtime;
  // --8<-- [start:server]
  const auto metrics = std::make_shared<call_metrics>();
  coracle::server_options options;
  options.observer = metrics;
  coracle::server server(runtime, options);
  // --8<-- [end:server]
  server.add(service);
  const movie::rpc::MovieService::stub movies(coracle::channel(runtime, server.in_process()));
  movie::Movie movie;
  EXPECT_FALSE(coracle::sync_wait(movies.AddMovie(movie)));
  movie.set_title("Alien");
  EXPECT_TRUE(coracle::sync_wait(movies.AddMovie(movie)));
  EXPECT_TRUE(coracle::sync_wait(movies.AddMovie(movie)));
  const std::string text = metrics->text();
  const std::string labels = "{method=\"/movie.MovieService/AddMovie\",status=";
  EXPECT_NE(text.find("rpc_server_calls_total" + labels + "\"OK\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("rpc_server_calls_total" + labels + "\"INVALID_ARGUMENT\"} 1\n"), std::string::npos)
      << text;
  EXPECT_NE(coracle::sync_wait(runtime, connections_text(server)).find("rpc_server_connections 1\n"),
            std::string::npos);
}

// --8<-- [start:instrument]
constexpr coracle::instrument searches{.name = "movies.searches",
                                       .description = "Searches, by whether they found something.",
                                       .unit = "{search}",
                                       .kind = coracle::instrument_kind::counter,
                                       .labels = {"found"},
                                       .optional_labels = {},
                                       .bounds = {}};

void searched(bool found) { coracle::measure(searches, 1, {found ? "yes" : "no"}); }
// --8<-- [end:instrument]

coracle::task<> search() {
  searched(true);
  co_return;
}

TEST(Metrics, AreServedByOneLine) {
  shelf service;
  // --8<-- [start:with_metrics]
  coracle::server server;
  server.add(service);
  coracle::with_metrics(server);  // http://127.0.0.1:50051/metrics
  // --8<-- [end:with_metrics]
  ASSERT_EQ(server.listen("127.0.0.1:0", coracle::insecure()), coracle::status());
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  server.start();
  coracle::sync_wait(server.owner(), server.owner().at(0), search());
  namespace raw_http = coracle::testing_support::raw_http;
  const auto got = raw_http::parse(coracle::sync_wait(
      server.owner(), server.owner().at(0), raw_http::exchange(address, raw_http::request("GET /metrics"))));
  EXPECT_EQ(got.status(), 200);
  EXPECT_THAT(got.body, ::testing::HasSubstr("\nmovies_searches_total{found=\"yes\"} 1\n"));
}

// --8<-- [start:own_port]
void observe(coracle::server& server, const std::string& address) {
  coracle::metrics_options options;
  options.address = address;  // "*:9464"
  options.resource = {{"service.name", "movies"}, {"service.version", "1.4.0"}};
  options.telemetry.enabled = {"grpc.client.call.*", "grpc.subchannel.*"};
  coracle::with_metrics(server, options);
}
// --8<-- [end:own_port]

TEST(Metrics, MayHaveAPortOfTheirOwn) {
  coracle::server server;
  EXPECT_NO_THROW(observe(server, "127.0.0.1:0"));
}

TEST(Metrics, MayHaveAServerOfTheirOwn) {
  coracle::server server;
  // --8<-- [start:own_server]
  coracle::server operators(server.owner());
  coracle::metrics_options options;
  options.authorize = [](const coracle::http_request& request) {
    return request.auth() ? coracle::status() : coracle::status::permission_denied("a certificate is needed");
  };
  coracle::telemetry telemetry = coracle::with_metrics(operators, options);
  telemetry.observe(server);
  // --8<-- [end:own_server]
}

}  // namespace
}  // namespace metrics_page
