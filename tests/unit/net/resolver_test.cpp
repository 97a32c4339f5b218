#include "coracle/net/resolver.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/sim.hpp"
#include "support/every_backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>

namespace coracle::net::resolver_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

using answer = result<std::vector<address>>;

address at(std::string_view text) { return address::parse(text).value(); }

task<answer> ask(std::string host) {
  resolver names;
  co_return co_await names.resolve(std::move(host), 80);
}

class Resolver : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, Resolver, testing_support::all_kinds, Resolver::case_name);

TEST_P(Resolver, LiteralsAreAnsweredAtOnce) {
  EXPECT_THAT(run(ask("127.0.0.1")).value(), ElementsAre(at("127.0.0.1:80")));
  EXPECT_THAT(run(ask("::1")).value(), ElementsAre(at("[::1]:80")));
  EXPECT_THAT(run(ask("[::1]")).value(), ElementsAre(at("[::1]:80")));
  EXPECT_THAT(run(ask("fe80::1%2")).value(), ElementsAre(at("[fe80::1%2]:80")));
  EXPECT_THAT(run(ask("::ffff:10.0.0.1")).value(), ElementsAre(at("[::ffff:10.0.0.1]:80")));
}

TEST_P(Resolver, LocalhostIsThisMachineInEverySpelling) {
  for (const char* name : {"localhost", "LOCALHOST", "localhost.", "db.localhost", "a.b.LocalHost."}) {
    EXPECT_THAT(run(ask(name)).value(), ElementsAre(at("127.0.0.1:80"), at("[::1]:80"))) << name;
  }
}

struct bad_name {
  std::string text;
  std::string fix;
};
TEST_P(Resolver, WhatIsNoNameIsToldWithTheMend) {
  const std::vector<bad_name> all{
      {"", "write example.org"},
      {".", "write example.org"},
      {"a..b", "two dots"},
      {".example.org", "begins with a dot"},
      {"exam ple.org", "a character that host names do not permit"},
      {std::string("a\0b", 3), "a character that host names do not permit"},
      {"b\xc3\xbc"
       "cher.example",
       "\"b??cher.example\" is not a valid host name: it has non-ASCII characters"},
      {"example.org:80", "the port separately"},
      {"fe80::1%nowhere", "the name or the index of an interface"},
      {"[::1", "not a valid IPv6 address"},
      {"127.1", "all four numbers"},
      {"1.2.3.256", "all four numbers"},
      {"4294967295", "all four numbers"},
      {std::string(64, 'a') + ".example", "63"},
      {std::string(125, 'a').replace(60, 1, ".").replace(120, 1, ".") + "." + std::string(60, 'b') + "." +
           std::string(60, 'c') + "." + std::string(9, 'd'),
       "253"},
  };
  for (const bad_name& bad : all) {
    const answer a = run(ask(bad.text));
    EXPECT_EQ(a.status().code(), status_code::invalid_argument) << bad.text;
    EXPECT_THAT(std::string(a.status().message()), HasSubstr(bad.fix));
  }
}

// The real resolver: for every name in the hosts file of this machine, c-ares and this library agree.
class HostsFile : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, HostsFile, testing_support::kernel_kinds, HostsFile::case_name);

TEST_P(HostsFile, OfThisMachineIsHonoured) {
  std::ifstream file("/etc/hosts");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string ip;
    std::string name;
    if (!(words >> ip >> name) || ip.starts_with('#') || ip.find(':') != std::string::npos) continue;
    if (name.ends_with("localhost") || name.find_first_of("#%") != std::string::npos) continue;
    const answer a = run(ask(name));
    ASSERT_TRUE(a.ok()) << a.status();
    EXPECT_THAT(*a, testing::Contains(at(ip + ":80")));
    return;
  }
  GTEST_SKIP() << "the hosts file of this machine names nothing but localhost";
}

// Names of a simulated world.
TEST(SimNames, HostsHaveTheirNames) {
  sim::world w(1);
  w.host("server");
  const time_point start = w.now();
  EXPECT_THAT(sync_wait(w.host("client"), ask("server")).value(),
              ElementsAre(at(w.address_of("server") + ":80")));
  EXPECT_EQ(w.now() - start, 1ms);
  EXPECT_TRUE(sync_wait(w.host("client"), ask("server.")).ok());
  EXPECT_EQ(sync_wait(w.host("client"), ask("nobody")).status(),
            status::not_found("nobody: the host name does not exist"));
}

TEST(SimNames, RecordsGoBeforeHostsAndMayChange) {
  sim::world w(1);
  w.host("server");
  w.set_name("server", sim::name_record().address("10.0.0.9").address("fd00::9").latency(5ms));
  w.set_name("Down.Example", sim::name_record().failing().latency(15s));
  const time_point start = w.now();
  EXPECT_THAT(sync_wait(w.host("client"), ask("SERVER.")).value(),
              ElementsAre(at("10.0.0.9:80"), at("[fd00::9]:80")));
  EXPECT_EQ(w.now() - start, 5ms);
  EXPECT_EQ(sync_wait(w.host("client"), ask("down.example")).status().code(), status_code::unavailable);
  EXPECT_EQ(w.now() - start, 15s + 5ms);
  w.set_name("down.example", sim::name_record());
  EXPECT_EQ(sync_wait(w.host("client"), ask("down.example")).status().code(), status_code::not_found);
}

task<> ask_into(std::string host, std::optional<status>& outcome) {
  const answer a = co_await ask(std::move(host));
  outcome = a.status();
}
task<> stopped_after(duration d, std::optional<status>& outcome) {
  scope work;
  work.spawn(ask_into("slow.example", outcome));
  co_await sleep_for(d);  // sleeps on purpose: virtual time
  work.request_stop();
  co_await work.join();
}
task<status> limited(duration limit) {
  task<answer> asking = ask("slow.example");
  const answer a = co_await with_timeout(limit, std::move(asking));
  co_return a.status();
}

TEST(SimNames, WaitsEndByStopsAndDeadlines) {
  sim::world w(1);
  w.set_name("slow.example", sim::name_record().address("10.0.0.1").latency(1h));
  const time_point start = w.now();
  std::optional<status> outcome;
  sync_wait(w.host("client"), stopped_after(1s, outcome));
  EXPECT_EQ(outcome->code(), status_code::cancelled);
  EXPECT_EQ(sync_wait(w.host("client"), limited(1s)).code(), status_code::deadline_exceeded);
  EXPECT_LT(w.now() - start, 3s);
  EXPECT_EQ(sync_wait(w.host("client"), limited(2h)), status());
}

}  // namespace
}  // namespace coracle::net::resolver_test
