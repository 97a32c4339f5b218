// Every allocation of a name lookup may fail, on a kernel's loop with c-ares: only the lookup fails, and the
// same resolver finds the name as soon as there is memory again.
#include "out_of_memory/failing_host.hpp"
#include "unit/net/name_server.hpp"

#include "coracle/coro/task.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "net/dns/dns_source.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace coracle::every_dns_allocation_test {
namespace {

using namespace std::chrono_literals;
using namespace test;
using answer = result<std::vector<net::address>>;

struct lookups {
  static task<answer> late(net::dns_source& names) {
    task<answer> asking = names.resolve_name("silent.example", 80);
    co_return co_await with_timeout(20ms, std::move(asking));
  }

  static task<> failing(net::dns_source& names) {
    std::vector<task<answer>> all;
    all.push_back(names.resolve_name("there.example", 80));
    all.push_back(names.resolve_name("missing.example", 80));
    all.push_back(late(names));
    co_await when_all(std::move(all));
  }

  static task<std::string> play(net::dns_settings settings) {
    net::dns_source names(*loop::current(), std::move(settings));
    count_allocations(true);
    try {
      co_await failing(names);
    } catch (const std::bad_alloc&) {
      // for a caller
    }
    count_allocations(false);
    const answer found = co_await names.resolve_name("there.example", 80);
    co_return found.ok() ? "" : "a lookup after all this ended with " + found.status().to_string();
  }
};

TEST(EveryAllocationOfANameLookup, MayFail) {
  const net::name_server server({{"there.example", net::zone_entry().a("10.0.0.1").aaaa("fd00::1")},
                                 {"silent.example", net::zone_entry().silence()}});
  const auto play = [&] {
    net::dns_settings settings;
    settings.servers = server.where();
    settings.timeout_ms = 50;
    settings.tries = 2;
    runtime rt(1);
    failing_host = &rt;
    return sync_wait(rt, lookups::play(settings));
  };
  ASSERT_EQ(play(), "");
  const auto result = fail_each_allocation_anew(play, options_for(1, 1));
  EXPECT_TRUE(result.broken.empty()) << result.report();
  EXPECT_GT(result.failed, 80U);
}

}  // namespace
}  // namespace coracle::every_dns_allocation_test
