// Every allocation of a resolver that follows a source of names may fail: it then runs again, as a channel
// lets it, and finds the servers.
#include "out_of_memory/failing_host.hpp"

#include "coracle/coro/sleep.hpp"
#include "naming/watched_names.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace coracle::every_naming_allocation_test {
namespace {

using namespace std::chrono_literals;
using namespace test;

class one_server final : public naming::name_source {
 public:
  task<status> follow(naming::list_sink& to) override {
    naming::server_list list;
    list.servers.emplace_back(net::address::parse("10.0.0.1:50051").value());
    to.found(std::move(list));
    co_await sleep_for(1h);
    co_return status::unavailable("an hour has passed");
  }
};

class counting_sink final : public client::resolution_sink {
 public:
  void publish(client::resolution found) override { servers = found.endpoints().size(); }
  void fail(const status&) override {}
  task<> wait_until_requested() override { co_await sleep_for(1h); }
  std::size_t servers = 0;
};

task<> resolve(naming::watched_names& names, const client::target& of, counting_sink& to) {
  for (;;) {
    try {
      co_await names.run(of, to);
    } catch (const std::bad_alloc&) {
      // as below
    }
    co_await sleep_for(1s);
  }
}

std::string play() {
  two_hosts hosts(two_hosts::failing::client);
  const client::target of = client::target::parse("test:///movies", {"test"}).value();
  naming::watched_names names("movies",
                              [](const client::target&) -> result<std::unique_ptr<naming::name_source>> {
                                return std::make_unique<one_server>();
                              });
  counting_sink sink;
  hosts.client.spawn(resolve(names, of, sink));
  with_failing_allocations([&] { hosts.world.run_for(500ms); });
  hosts.world.run_for(1min);
  return sink.servers == 1 ? "" : "the server was not found";
}

TEST(EveryAllocationOfWatchedNames, MayFail) { expect_each_may_fail(play, 5); }

}  // namespace
}  // namespace coracle::every_naming_allocation_test
