// The code of docs/guides/load_reports.md.
#include "movie.coracle.hpp"  // generated from movie.proto

#include <coracle/client.hpp>
#include <coracle/server.hpp>
#include <coracle/server/load_reporter.hpp>
#include <coracle/services/orca_service.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace load_reports_page {
namespace {

// --8<-- [start:handler]
class shelf final : public movie::rpc::MovieService::service {
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie&) override {
    context.load().set_cost("rows_written", 1);
    co_return movie::AddMovieResponse();
  }
};
// --8<-- [end:handler]

// --8<-- [start:policy]
// Calls the server that has reported the lowest utilization.
class least_loaded final : public coracle::client::pick_policy {
 public:
  std::optional<coracle::duration> load_interval() const override { return std::chrono::seconds(30); }
  bool wants_load_of_calls() const override { return true; }
  void load_reported(const coracle::client::pick_candidate& server,
                     const coracle::load_report& load) override {
    if (const auto cpu = load.cpu_utilization()) load_[server.where().address().to_string()] = *cpu;
  }
  std::size_t pick(std::span<const coracle::client::pick_candidate> ready,
                   const coracle::client::pick_info&) override {
    std::size_t best = 0;
    for (std::size_t i = 1; i < ready.size(); ++i)
      if (load_of(ready[i]) < load_of(ready[best])) best = i;
    return best;
  }

 private:
  double load_of(const coracle::client::pick_candidate& server) {
    return load_[server.where().address().to_string()];  // 0 before the first report
  }
  std::map<std::string, double> load_;
};
// --8<-- [end:policy]

TEST(LoadReports, AServerReportsAndAClientReads) {
  coracle::runtime runtime;
  shelf movies_service;
  // --8<-- [start:server]
  const auto load = std::make_shared<coracle::load_reporter>();
  load->measure_cpu();
  load->measure_memory();
  load->measure_calls();
  load->update([](coracle::load_report& r) { r.set_metric("queue", 12); });

  coracle::server_options options;
  options.load = load;  // with each call
  coracle::server server(runtime, options);
  coracle::orca_service orca(load);  // and in a stream, for balancers
  server.add(orca);
  // --8<-- [end:server]
  server.add(movies_service);
  const movie::rpc::MovieService::stub movies(coracle::channel(runtime, server.in_process()));
  const movie::Movie movie;
  // --8<-- [start:client]
  auto call = movies.AddMovie(movie);
  const auto reply = coracle::sync_wait(call);
  const auto report = coracle::load_report::of_call(call.trailing_metadata());
  if (report && report->costs().contains("rows_written")) std::puts("the server tells what the call cost");
  // --8<-- [end:client]
  EXPECT_TRUE(reply);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->costs().at("rows_written"), 1);
  EXPECT_EQ(report->metrics().at("queue"), 12);
}

TEST(LoadReports, APolicyPrefersTheServerWithTheLowestLoad) {
  coracle::runtime runtime;
  shelf movies_service;
  coracle::server server(runtime);
  server.add(movies_service);
  ASSERT_EQ(server.listen("127.0.0.1:0", coracle::insecure()), coracle::status());
  // --8<-- [start:channel]
  coracle::channel_options options;
  options.balance = coracle::balancing::by([](std::uint64_t) { return std::make_unique<least_loaded>(); });
  // --8<-- [end:channel]
  const movie::rpc::MovieService::stub movies(
      coracle::channel(runtime, "127.0.0.1:" + std::to_string(server.port()), coracle::insecure(), options));
  EXPECT_TRUE(coracle::sync_wait(movies.AddMovie(movie::Movie())));
}

}  // namespace
}  // namespace load_reports_page
