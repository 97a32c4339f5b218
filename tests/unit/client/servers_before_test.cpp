// Which server of the last list an endpoint of the next one is (gRFC A61).
#include "client/balancing/servers_before.hpp"

#include "unit/client/scripted_servers.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace coracle::client::test::servers_before_test {
namespace {

endpoint with(int first, std::initializer_list<int> others = {}) {
  endpoint e(at(first));
  for (const int n : others) e.add_address(at(n));
  return e;
}

constexpr std::size_t none = 99;

// For each endpoint of `next`, its place in `before`.
std::vector<std::size_t> places(const std::vector<endpoint>& before, const std::vector<endpoint>& next) {
  servers_before known(next);
  for (const endpoint& e : before) known.add(e);
  std::vector<std::size_t> found;
  for (const endpoint& e : next) found.push_back(known.take(e).value_or(none));
  return found;
}

using list = std::vector<std::size_t>;

TEST(ServersBefore, AreThoseWithTheSameFirstAddress) {
  EXPECT_EQ(places({with(1), with(2)}, {with(2), with(3), with(1)}), (list{1, none, 0}));
}

TEST(ServersBefore, MayHaveTheirAddressesInAnotherOrder) {
  EXPECT_EQ(places({with(1, {2}), with(3, {4})}, {with(4, {3}), with(2, {1})}), (list{1, 0}));
}

TEST(ServersBefore, MayExchangeTheirAddresses) {
  EXPECT_EQ(places({with(1, {2}), with(3, {4})}, {with(3, {2}), with(1, {4})}), (list{1, 0}));
  EXPECT_EQ(places({with(1, {2}), with(3, {4})}, {with(4, {1}), with(2, {3})}), (list{1, 0}));
}

// Else the endpoint that still has the first address would be a new server.
TEST(ServersBefore, AnAddressThatAnotherEndpointTakesOverIsANewServer) {
  EXPECT_EQ(places({with(1, {2})}, {with(2), with(1)}), (list{none, 0}));
  EXPECT_EQ(places({with(1, {2})}, {with(1), with(2)}), (list{0, none}));
}

TEST(ServersBefore, AreTakenOnce) {
  EXPECT_EQ(places({with(1, {2, 3})}, {with(2), with(3)}), (list{0, none}));
}

}  // namespace
}  // namespace coracle::client::test::servers_before_test
