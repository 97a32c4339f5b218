// What a control plane says of thousands of servers.
#include "xds/balancing/drops.hpp"

#include "support/allocation_counter.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

namespace coracle::xds::facts_by_server_test {
namespace {

net::address at(int n) {
  return net::address::ipv4({10, 0, static_cast<std::uint8_t>(n / 256), static_cast<std::uint8_t>(n % 256)},
                            1);
}

shared_facts named(const char* hostname) {
  server_facts of;
  of.hostname = hostname;
  return {std::make_shared<const server_facts>(std::move(of))};
}

TEST(FactsByServer, AreFoundByAddress) {
  const facts_by_server all({{at(3), named("c")}, {at(1), named("a")}, {at(2), {}}});
  EXPECT_EQ(all.find(at(1))->hostname, "a");
  EXPECT_EQ(all.find(at(3))->hostname, "c");
  EXPECT_EQ(all.find(at(2)), nullptr);
  EXPECT_EQ(all.find(at(4)), nullptr);
  EXPECT_EQ(facts_by_server().find(at(1)), nullptr);
  EXPECT_TRUE(all == facts_by_server({{at(1), named("a")}, {at(2), {}}, {at(3), named("c")}}));
  EXPECT_FALSE(all == facts_by_server({{at(1), named("a")}, {at(2), {}}, {at(3), named("d")}}));
}

TEST(FactsByServer, HaveFewBytesForEach) {
  constexpr int servers = 1000;
  std::map<net::address, shared_facts> listed;
  for (int i = 0; i < servers; ++i) listed.emplace(at(i), named("a"));
  const std::int64_t before = test::allocated_bytes;
  const facts_by_server all(listed);
  EXPECT_NE(all.find(at(servers - 1)), nullptr);
  EXPECT_LE(test::allocated_bytes - before, 64 * servers);
}

}  // namespace
}  // namespace coracle::xds::facts_by_server_test
