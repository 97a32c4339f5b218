// Endpoints of clusters: what they become, and what is invalid (gRFC A27, A61, A76, A86).
#include "unit/xds/resource_builders.hpp"
#include "xds/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coracle::xds::endpoints_test {
namespace {

using namespace testing_resources;
using testing::HasSubstr;

cluster_endpoints parsed(const wire::ClusterLoadAssignment& from) {
  const auto e = parse_endpoints(from.SerializeAsString(), {});
  EXPECT_EQ(e.status(), status());
  return e ? **e : cluster_endpoints();
}
std::string refusal(const wire::ClusterLoadAssignment& from) {
  const auto e = parse_endpoints(from.SerializeAsString(), {});
  EXPECT_FALSE(e.ok());
  return std::string(e.status().message());
}
wire::ClusterLoadAssignment empty() {
  wire::ClusterLoadAssignment a;
  a.set_cluster_name("s");
  return a;
}

TEST(XdsEndpoints, AreOrderedByPriorityAndLocality) {
  wire::ClusterLoadAssignment a = empty();
  add_endpoint(*add_locality(a, "far", 1, 1), "10.0.0.3", 80);
  auto& near = *add_locality(a, "near", 5);
  add_endpoint(near, "10.0.0.1", 80);
  auto& second = *add_endpoint(near, "10.0.0.2", 81);
  second.set_health_status(3);
  second.mutable_load_balancing_weight()->set_value(7);
  second.mutable_endpoint()->set_hostname("host");
  set_address(*second.mutable_endpoint()->add_additional_addresses()->mutable_address(), "::1", 82);
  (*(*second.mutable_metadata()->mutable_filter_metadata())["envoy.lb"].mutable_fields())["hash_key"]
      .set_string_value("key");
  const cluster_endpoints e = parsed(a);
  EXPECT_EQ(e.name, "s");
  ASSERT_EQ(e.priorities.size(), 2u);
  ASSERT_EQ(e.priorities[0].size(), 1u);
  EXPECT_EQ(e.priorities[0][0].locality, (locality{"", "near", ""}));
  EXPECT_EQ(e.priorities[0][0].weight, 5u);
  const auto& endpoints = e.priorities[0][0].endpoints;
  EXPECT_EQ(endpoints.at(0), (endpoint{{{"10.0.0.1", 80}}, health::unknown, 1, "", "", {}}));
  EXPECT_EQ(endpoints.at(1),
            (endpoint{{{"10.0.0.2", 81}, {"::1", 82}}, health::draining, 7, "host", "key", {}}));
  EXPECT_TRUE(endpoints[0].usable());
  EXPECT_FALSE(endpoints[1].usable());
  EXPECT_EQ(e.priorities[1][0].endpoints.at(0).addresses.at(0).host, "10.0.0.3");
  EXPECT_TRUE(parsed(empty()).priorities.empty());
}

TEST(XdsEndpoints, WithAStatusThatIsNotKnownAreNotUsable) {
  wire::ClusterLoadAssignment a = empty();
  auto& l = *add_locality(a, "z", 1);
  for (const int s : {1, 2, 4, 5, 6, -1})
    add_endpoint(l, "10.0.0.1", static_cast<std::uint32_t>(100 + s))->set_health_status(s);
  std::vector<bool> usable;
  const cluster_endpoints all = parsed(a);
  for (const endpoint& e : all.priorities[0][0].endpoints) usable.push_back(e.usable());
  EXPECT_EQ(usable, (std::vector<bool>{true, false, false, false, false, false}));
}

TEST(XdsEndpoints, DoNotCountLocalitiesWithoutAWeight) {
  wire::ClusterLoadAssignment a = empty();
  add_locality(a, "a", 0)->add_lb_endpoints();  // which would be invalid
  a.mutable_endpoints(0)->clear_load_balancing_weight();
  add_locality(a, "b", 0, 7);
  EXPECT_TRUE(parsed(a).priorities.empty());
  add_locality(a, "c", 1);
  EXPECT_EQ(parsed(a).priorities.size(), 1u);
}

TEST(XdsEndpoints, OfALocalityThatIsMissingOrOccursTwiceAreInvalid) {
  wire::ClusterLoadAssignment a = empty();
  a.add_endpoints();
  EXPECT_THAT(refusal(a), HasSubstr("ClusterLoadAssignment \"s\": endpoints[0] has no locality"));
  a = empty();
  add_locality(a, "z", 1);
  add_locality(a, "z", 1, 1);
  EXPECT_EQ(parsed(a).priorities.size(), 2u);
  add_locality(a, "z", 1);
  EXPECT_THAT(refusal(a), HasSubstr("endpoints[2].locality occurs twice in priority 0"));
}

TEST(XdsEndpoints, WithAGapBetweenPrioritiesAreInvalid) {
  wire::ClusterLoadAssignment a = empty();
  add_locality(a, "z", 1, 2);
  EXPECT_THAT(refusal(a), HasSubstr("priority 0 missing"));
  add_locality(a, "z", 1, 0);
  EXPECT_THAT(refusal(a), HasSubstr("priority 1 missing"));
  a.mutable_endpoints(0)->set_priority(4294967295);
  EXPECT_THAT(refusal(a), HasSubstr("priority 1 missing"));
}

TEST(XdsEndpoints, WithWeightsBeyondThirtyTwoBitsAreInvalid) {
  wire::ClusterLoadAssignment a = empty();
  auto& first = *add_locality(a, "a", 4294967294);
  add_locality(a, "b", 1);
  EXPECT_EQ(parsed(a).priorities[0].size(), 2u);
  add_locality(a, "c", 1);
  EXPECT_THAT(refusal(a), HasSubstr("endpoints[2] makes the sum of weights of priority 0 exceed 4294967295"));
  a.mutable_endpoints(2)->set_priority(1);
  add_endpoint(first, "10.0.0.1", 80)->mutable_load_balancing_weight()->set_value(4294967295);
  EXPECT_EQ(parsed(a).priorities.size(), 2u);
  add_endpoint(first, "10.0.0.2", 80);
  EXPECT_THAT(refusal(a), HasSubstr("endpoints[0] has endpoints whose sum of weights exceeds 4294967295"));
  first.mutable_lb_endpoints(1)->mutable_load_balancing_weight();
  EXPECT_THAT(refusal(a), HasSubstr("lb_endpoints[1].load_balancing_weight must be more than 0"));
}

TEST(XdsEndpoints, WithAnAddressThatIsMissingOrOccursTwiceAreInvalid) {
  wire::ClusterLoadAssignment a = empty();
  auto& l = *add_locality(a, "a", 1);
  auto& e = *l.add_lb_endpoints();
  EXPECT_THAT(refusal(a), HasSubstr("endpoints[0].lb_endpoints[0].endpoint has no address"));
  e.mutable_endpoint()->mutable_address();
  EXPECT_THAT(refusal(a), HasSubstr("endpoint.address has no socket_address"));
  set_address(*e.mutable_endpoint()->mutable_address(), "10.0.0.1", 80);
  set_address(*add_endpoint(*add_locality(a, "b", 1, 1), "10.0.0.2", 80)
                   ->mutable_endpoint()
                   ->add_additional_addresses()
                   ->mutable_address(),
              "10.0.0.1", 80);
  EXPECT_THAT(
      refusal(a),
      HasSubstr(
          "endpoints[1].lb_endpoints[0].endpoint.additional_addresses[0] occurs twice: 10.0.0.1 port 80"));
}

TEST(XdsEndpoints, WithAHostThatIsNoAddressAreInvalid) {
  for (const char* host :
       {"name.example", "unix:/path", "unix", "10.0.0.1:80", "[::1]", "10.0.0.256", "::1\n"}) {
    wire::ClusterLoadAssignment a = empty();
    add_endpoint(*add_locality(a, "a", 1), host, 80);
    EXPECT_THAT(refusal(a), HasSubstr("endpoint.address.socket_address.address is not an IP address: "))
        << host;
  }
  wire::ClusterLoadAssignment a = empty();
  add_endpoint(*add_locality(a, "a", 1), std::string(254, 'a'), 80);
  EXPECT_THAT(refusal(a), HasSubstr("socket_address.address must have at most 253 bytes"));
}

TEST(XdsEndpoints, WithTwoTextsOfOneAddressAreInvalid) {
  wire::ClusterLoadAssignment a = empty();
  auto& l = *add_locality(a, "a", 1);
  add_endpoint(l, "2001:db8::1", 80);
  add_endpoint(l, "2001:db8::1", 81);
  EXPECT_EQ(parsed(a).priorities[0][0].endpoints.size(), 2u);
  add_endpoint(l, "2001:DB8:0:0::0:1", 80);
  EXPECT_THAT(refusal(a),
              HasSubstr("lb_endpoints[2].endpoint.address occurs twice: 2001:DB8:0:0::0:1 port 80"));
}

TEST(XdsEndpoints, HaveDropsInMillionths) {
  wire::ClusterLoadAssignment a = empty();
  auto& d = *a.mutable_policy()->add_drop_overloads();
  d.set_category("throttle");
  d.mutable_drop_percentage()->set_numerator(5);
  EXPECT_EQ(parsed(a).drops, (std::vector<drop_category>{{"throttle", 50'000}}));
  d.mutable_drop_percentage()->set_numerator(4294967295);
  EXPECT_EQ(parsed(a).drops.at(0).millionths, 1'000'000u);
  d.mutable_drop_percentage()->set_denominator(3);
  EXPECT_THAT(refusal(a),
              HasSubstr("policy.drop_overloads[0].drop_percentage has an unknown denominator: 3"));
}

TEST(XdsEndpoints, HaveTheProxyOfTheEndpointElseOfTheLocality) {
  constexpr const char* key = "envoy.http11_proxy_transport_socket.proxy_address";
  const auto address = [](const std::string& host) {
    wire::Address a;
    set_address(a, host, 1080);
    return packed("envoy.config.core.v3.Address", a);
  };
  wire::ClusterLoadAssignment a = empty();
  auto& l = *add_locality(a, "a", 1);
  (*l.mutable_metadata()->mutable_typed_filter_metadata())[key] = address("10.0.0.8");
  add_endpoint(l, "10.0.0.1", 80);
  auto& own = *(*add_endpoint(l, "10.0.0.2", 80)->mutable_metadata()->mutable_typed_filter_metadata())
                   .insert({key, address("10.0.0.9")})
                   .first;
  const locality_endpoints all = parsed(a).priorities[0][0];
  EXPECT_EQ(all.proxy, (socket_address{"10.0.0.8", 1080}));
  EXPECT_EQ(all.endpoints.at(0).proxy, std::nullopt);  // no copy of it
  EXPECT_EQ(all.proxy_of(all.endpoints.at(0)), &*all.proxy);
  EXPECT_EQ(*all.proxy_of(all.endpoints.at(1)), (socket_address{"10.0.0.9", 1080}));
  EXPECT_EQ(locality_endpoints().proxy_of(endpoint()), nullptr);
  own.second = address("proxy.example");
  EXPECT_THAT(refusal(a), HasSubstr("socket_address.address is not an IP address: proxy.example"));
  own.second = packed("odd.Type", wire::Address());
  EXPECT_THAT(refusal(a), HasSubstr("lb_endpoints[1].metadata.typed_filter_metadata[\"envoy.http11_proxy_"
                                    "transport_socket.proxy_address\"] is "
                                    "no envoy.config.core.v3.Address"));
}

// gRFC A95
TEST(XdsEndpoints, MayBeInAListButNotInAResourceOfTheirOwn) {
  wire::ClusterLoadAssignment a = empty();
  auto& l = *add_locality(a, "z", 1);
  add_endpoint(l, "10.0.0.1", 80);
  set_address(*l.mutable_load_balancer_endpoints()->add_lb_endpoints()->mutable_endpoint()->mutable_address(),
              "10.0.0.2", 80);
  const auto listed = parsed(a).priorities[0][0].endpoints;
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].addresses[0].host, "10.0.0.2");
  l.mutable_load_balancer_endpoints()->add_lb_endpoints();
  EXPECT_THAT(refusal(a),
              HasSubstr("endpoints[0].load_balancer_endpoints.lb_endpoints[1].endpoint has no address"));
  l.mutable_leds_cluster_locality_config();
  EXPECT_THAT(refusal(a), HasSubstr("endpoints[0].leds_cluster_locality_config is not supported"));
}

wire::ClusterLoadAssignment with_addresses(std::size_t n) {
  wire::ClusterLoadAssignment a = empty();
  auto& e = *add_endpoint(*add_locality(a, "z", 1), "10.0.0.1", 1);
  for (std::size_t i = 1; i < n; ++i)
    set_address(*e.mutable_endpoint()->add_additional_addresses()->mutable_address(), "10.0.1.1",
                static_cast<std::uint32_t>(i));
  return a;
}
wire::ClusterLoadAssignment with_key(std::size_t bytes) {
  wire::ClusterLoadAssignment a = empty();
  auto& e = *add_endpoint(*add_locality(a, "z", 1), "10.0.0.1", 1);
  (*(*e.mutable_metadata()->mutable_filter_metadata())["envoy.lb"].mutable_fields())["hash_key"]
      .set_string_value(std::string(bytes, 'k'));
  return a;
}
wire::ClusterLoadAssignment with_category(std::size_t bytes) {
  wire::ClusterLoadAssignment a = empty();
  a.mutable_policy()->add_drop_overloads()->set_category(std::string(bytes, 'c'));
  return a;
}

TEST(XdsEndpoints, HaveLimitedAddressesKeysAndCategories) {
  EXPECT_EQ(parsed(with_addresses(limits::addresses_per_endpoint_max)).priorities.size(), 1u);
  EXPECT_THAT(refusal(with_addresses(limits::addresses_per_endpoint_max + 1)),
              HasSubstr("limit of all is 64"));
  EXPECT_EQ(parsed(with_key(limits::hash_key_bytes_max)).priorities.size(), 1u);
  EXPECT_THAT(refusal(with_key(limits::hash_key_bytes_max + 1)), HasSubstr("hash_key of more than 1024"));
  EXPECT_EQ(parsed(with_category(limits::category_bytes_max)).drops.size(), 1u);
  EXPECT_THAT(refusal(with_category(limits::category_bytes_max + 1)), HasSubstr("more than 256 bytes"));
}

}  // namespace
}  // namespace coracle::xds::endpoints_test
