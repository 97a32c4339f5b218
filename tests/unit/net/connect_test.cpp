// connect() also with real sockets: addresses that refuse are easy to create.
#include "coracle/net/connect.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/when_all.hpp"
#include "runtime/backend.hpp"
#include "support/every_backend.hpp"
#include "unit/net/connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>

namespace coracle::net::connect_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class Connect : public testing_support::every_backend {};
INSTANTIATE_TEST_SUITE_P(On, Connect, testing_support::all_kinds, Connect::case_name);

// A port without a listener.
task<std::uint16_t> free_port() {
  listener l = listener::open(address::loopback_v4(0)).value();
  const std::uint16_t port = l.local_address().port();
  co_await l.close();
  co_return port;
}

task<> refused_and_good() {
  const std::uint16_t refusing = co_await free_port();
  listener l = listener::open(address::loopback_v4(0)).value();
  std::vector<address> to{address::loopback_v4(refusing), address::loopback_v6(refusing), l.local_address()};
  task<result<stream>> accepting = l.accept();
  task<result<stream>> connecting = connect(std::move(to));
  auto both = co_await when_all(std::move(accepting), std::move(connecting));
  EXPECT_TRUE(std::get<0>(both).ok());
  EXPECT_TRUE(std::get<1>(both).ok());
  EXPECT_EQ(std::get<1>(both)->peer_address(), l.local_address());
  co_await l.close();
}
TEST_P(Connect, PassesOverAddressesThatRefuse) { run(refused_and_good()); }

task<> all_refuse() {
  const std::uint16_t refusing = co_await free_port();
  std::vector<address> to{address::loopback_v4(refusing), address::loopback_v4(refusing)};
  const result<stream> s = co_await connect(std::move(to));
  EXPECT_EQ(s.status().code(), status_code::unavailable);
  EXPECT_THAT(
      std::string(s.status().message()),
      HasSubstr("none of 2 addresses accepted the connection: connection refused: no process listens on"));
}
TEST_P(Connect, NamesTheErrorsOfAllAddresses) { run(all_refuse()); }

task<> localhost_on_one_family() {
  listener l = listener::open(address::loopback_v4(0)).value();
  const std::uint16_t port = l.local_address().port();
  task<result<stream>> accepting = l.accept();
  task<result<stream>> connecting = connect("LocalHost.", port);
  auto both = co_await when_all(std::move(accepting), std::move(connecting));
  EXPECT_TRUE(std::get<1>(both).ok()) << std::get<1>(both).status();
  co_await l.close();
}
TEST_P(Connect, FindsAServerOfOneFamilyOnLocalhost) { run(localhost_on_one_family()); }

task<> connect_into(std::vector<address> to, std::optional<status>& outcome) {
  const result<stream> s = co_await connect(std::move(to));
  outcome = s.status();
}
// Accepts every connection, so that a cancelled connection does not fill the queue.
task<> accept_all(listener& l) {
  for (;;) {
    const result<stream> s = co_await l.accept();
    if (!s.ok()) co_return;
  }
}
task<> stopped_after(duration d, const listener& good, std::uint16_t refusing, int& connected) {
  scope work;
  std::optional<status> outcome;
  work.spawn(connect_into({address::loopback_v4(refusing), good.local_address()}, outcome));
  if (d > 0s) co_await sleep_for(d);
  work.request_stop();
  co_await work.join();
  if (outcome->ok()) ++connected;
  else EXPECT_EQ(outcome->code(), status_code::cancelled) << *outcome;
}
task<> stopped_at_many_times() {
  const std::uint16_t refusing = co_await free_port();
  listener good = listener::open(address::loopback_v4(0)).value();
  scope accepting;
  accepting.spawn(accept_all(good));
  const std::uint64_t in_flight = loop::current()->io().stats().in_flight;
  int connected = 0;
  for (int i = 0; connected < 3; ++i) {
    co_await stopped_after(i * 2us, good, refusing, connected);
    EXPECT_LE(loop::current()->io().stats().in_flight, in_flight) << "after " << i * 2 << " us";
  }
  co_await good.close();
  co_await accepting.join();
}
TEST_P(Connect, AStopAtAnyTimeLeavesNothingInFlight) {
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_descriptors();
  run(stopped_at_many_times());
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace coracle::net::connect_test
