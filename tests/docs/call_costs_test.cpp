// The code of docs/guides/call_costs.md.
#include "movie.coracle.hpp"  // generated from movie.proto

#include <coracle/server.hpp>
#include <coracle/server/server_observer.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "coracle/client.hpp"

#include <gtest/gtest.h>

namespace call_costs_page {
namespace {

class shelf final : public movie::rpc::MovieService::service {
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context&, const movie::Movie&) override {
    co_return movie::AddMovieResponse();
  }
};

// --8<-- [start:observer]
// Sums up what measured calls cost, by method.
class cost_by_method final : public coracle::server_observer {
 public:
  void call_ended(coracle::served_call& call, const coracle::status&, coracle::time_point) noexcept override {
    const auto cost = call.context.cost();
    if (!cost) return;  // not one of the measured calls
    const std::lock_guard lock(mutex_);  // all loops call this
    auto& [calls, running] = sums_[std::string(call.context.method())];
    ++calls;
    running += cost->running;
  }

  coracle::duration mean_of(const std::string& method) const {
    const std::lock_guard lock(mutex_);
    const auto found = sums_.find(method);
    return found == sums_.end() ? coracle::duration() : found->second.second / found->second.first;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::pair<int, coracle::duration>> sums_;
};
// --8<-- [end:observer]

TEST(CallCosts, AnObserverSumsThemUpByMethod) {
  shelf service;
  coracle::runtime runtime;
  const auto costs = std::make_shared<cost_by_method>();
  coracle::server_options options;
  options.observer = costs;
  coracle::server server(runtime, options);
  server.add(service);
  const movie::rpc::MovieService::stub movies(coracle::channel(runtime, server.in_process()));
  EXPECT_TRUE(coracle::sync_wait(movies.AddMovie(movie::Movie())));
  EXPECT_GT(costs->mean_of("/movie.MovieService/AddMovie"), coracle::duration());
}

TEST(CallCosts, TrailersTellTheClient) {
  shelf service;
  coracle::runtime runtime;
  // --8<-- [start:trailers]
  coracle::server_options options;
  options.cost_trailers = true;
  coracle::server server(runtime, options);
  // --8<-- [end:trailers]
  server.add(service);
  const movie::rpc::MovieService::stub movies(coracle::channel(runtime, server.in_process()));
  const movie::Movie movie;
  auto call = movies.AddMovie(movie);
  EXPECT_TRUE(coracle::sync_wait(call));
  EXPECT_TRUE(call.trailing_metadata().find("server-timing"));
}

}  // namespace
}  // namespace call_costs_page
