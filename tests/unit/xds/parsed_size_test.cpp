// What the resources of a control plane take in memory, counted by the allocator: parsed, as received, and
// while they are parsed. Bytes on the wire say little about it: an element of two bytes becomes a struct.
#include "support/allocation_counter.hpp"
#include "unit/xds/inbound_builders.hpp"
#include "unit/xds/resource_builders.hpp"
#include "xds/ads/ads_client.hpp"
#include "xds/limits.hpp"
#include "xds/resource/element_count.hpp"
#include "xds/wire/balancing.pb.h"
#include "xds/wire/http_filters.pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace coracle::xds::parsed_size_test {
namespace {

using namespace testing_resources;
using test::allocated_bytes;
using test::allocation_count;
using testing::HasSubstr;

// limits::cached_elements_max is chosen by this: what an element has at most, beside what its bytes on the
// wire become, which are texts.
constexpr std::int64_t bytes_per_element_max = 512;
constexpr std::int64_t bytes_per_byte_max = 3;

struct measured {
  std::int64_t parsed = 0;  // bytes that are kept
  std::int64_t elements = 0;
  std::int64_t wire = 0;
};

template <class Plain>
using parser = result<std::shared_ptr<const Plain>> (*)(std::string_view, const resource_rules&);

template <class Plain>
measured measure(resource_kind kind, const std::string& bytes, parser<Plain> parse,
                 const resource_rules& rules = {}) {
  const std::int64_t before = allocated_bytes;
  const auto kept = parse(bytes, rules);
  const std::int64_t after = allocated_bytes;
  EXPECT_EQ(kept.status(), status());
  return {after - before, static_cast<std::int64_t>(element_count(kind, bytes)),
          static_cast<std::int64_t>(bytes.size())};
}

void expect_bound(const measured& m, const char* what) {
  EXPECT_GE(m.elements, 1'000) << what;
  EXPECT_LE(m.parsed, bytes_per_element_max * m.elements + bytes_per_byte_max * m.wire + 4096)
      << what << ": " << m.elements << " elements of " << m.wire << " bytes";
  testing::Test::RecordProperty(std::string(what) + ", bytes of an element",
                                static_cast<int>(m.parsed / m.elements));
}

constexpr std::uint32_t many = 2'000;

wire::ClusterLoadAssignment assignment(std::uint32_t endpoints, std::uint32_t more_addresses = 0) {
  wire::ClusterLoadAssignment a;
  a.set_cluster_name("c");
  auto& l = *add_locality(a, "z", 1);
  for (std::uint32_t i = 0; i < endpoints; ++i) {
    auto& e = *add_endpoint(l, "10." + std::to_string(i / 60'000) + ".0.1", 1 + i % 60'000);
    for (std::uint32_t j = 0; j < more_addresses; ++j)
      set_address(*e.mutable_endpoint()->add_additional_addresses()->mutable_address(),
                  "fd00::" + std::to_string(j), 1 + i);
  }
  return a;
}

measured endpoints_with(const wire::ClusterLoadAssignment& a) {
  return measure(resource_kind::endpoints, a.SerializeAsString(), &parse_endpoints);
}
measured routes_with(const wire::RouteConfiguration& r) {
  return measure(resource_kind::route_configuration, r.SerializeAsString(), &parse_route_configuration);
}
measured cluster_with(const wire::Cluster& c) {
  return measure(resource_kind::cluster, c.SerializeAsString(), &parse_cluster);
}

TEST(XdsParsedSize, TenThousandEndpointsHaveThreeMegabytes) {
  const measured m = endpoints_with(assignment(10'000));
  EXPECT_EQ(m.elements, 10'001);
  EXPECT_LT(m.parsed, 3'000'000);
  RecordProperty("endpoint, bytes parsed", static_cast<int>(m.parsed / 10'000));
  RecordProperty("endpoint, bytes as received", static_cast<int>(m.wire / 10'000));
}

TEST(XdsParsedSize, AThousandRoutesHaveAMegabyte) {
  wire::RouteConfiguration r = routes_to("r", "c");
  auto& host = *r.mutable_virtual_hosts(0);
  for (int i = 0; i < 1'000; ++i) {
    auto& route = *host.add_routes();
    route.mutable_match()->set_path("/package.Service" + std::to_string(i) + "/Method");
    route.mutable_route()->set_cluster("cluster" + std::to_string(i % 50));
    auto& h = *route.mutable_match()->add_headers();
    h.set_name("x-version");
    h.mutable_string_match()->set_exact("v" + std::to_string(i));
    route.mutable_route()->mutable_retry_policy()->set_retry_on("unavailable");
  }
  const measured m = routes_with(r);
  EXPECT_LT(m.parsed, 1'000'000);
  RecordProperty("route, bytes parsed", static_cast<int>(m.parsed / 1'000));
  RecordProperty("route, bytes as received", static_cast<int>(m.wire / 1'000));
}

// --- The smallest elements of each list: what becomes of them is bounded by their number.

TEST(XdsParsedSize, IsBoundedByTheNumberOfElementsOfEndpoints) {
  expect_bound(endpoints_with(assignment(many)), "endpoint");
  expect_bound(endpoints_with(assignment(many / 20, 63)), "address");
  wire::ClusterLoadAssignment drops;
  drops.set_cluster_name("c");
  for (std::uint32_t i = 0; i < many; ++i) drops.mutable_policy()->add_drop_overloads();
  expect_bound(endpoints_with(drops), "drop");
  wire::ClusterLoadAssignment places;
  places.set_cluster_name("c");
  for (std::uint32_t i = 0; i < many; ++i) add_locality(places, std::to_string(i), 1);
  expect_bound(endpoints_with(places), "locality");
  wire::ClusterLoadAssignment levels;
  levels.set_cluster_name("c");
  for (std::uint32_t i = 0; i < many; ++i) add_locality(levels, "", 1, i);
  expect_bound(endpoints_with(levels), "priority");
}

TEST(XdsParsedSize, IsBoundedByTheNumberOfElementsOfRoutes) {
  const auto each = [](const char* what, const std::function<void(wire::VirtualHost&, std::uint32_t)>& add) {
    wire::RouteConfiguration r = routes_to("r", "c");
    for (std::uint32_t i = 0; i < many; ++i) add(*r.mutable_virtual_hosts(0), i);
    expect_bound(routes_with(r), what);
  };
  each("route", [](wire::VirtualHost& h, std::uint32_t) { h.add_routes()->mutable_match()->set_prefix(""); });
  each("route with an action", [](wire::VirtualHost& h, std::uint32_t) {
    h.mutable_retry_policy()->set_retry_on(
        "cancelled,internal,unavailable,deadline-exceeded,resource-exhausted");
    auto& route = *h.add_routes();
    route.mutable_match()->set_prefix("");
    route.mutable_route()->set_cluster("c");
  });
  each("domain", [](wire::VirtualHost& h, std::uint32_t i) { h.add_domains(std::to_string(i)); });
  each("header", [](wire::VirtualHost& h, std::uint32_t) {
    auto& header = *h.mutable_routes(0)->mutable_match()->add_headers();
    header.set_name("h");
    header.set_present_match(true);
  });
  each("weighted cluster", [](wire::VirtualHost& h, std::uint32_t) {
    auto& c = *h.mutable_routes(0)->mutable_route()->mutable_weighted_clusters()->add_clusters();
    c.set_name("c");
    c.mutable_weight()->set_value(1);
  });
  each("hash policy", [](wire::VirtualHost& h, std::uint32_t) {
    h.mutable_routes(0)->mutable_route()->add_hash_policy()->mutable_header();
  });
  each("override", [](wire::VirtualHost& h, std::uint32_t i) {
    if (i % limits::filters_max == 0) h.add_routes()->mutable_match()->set_prefix("");
    auto& route = *h.mutable_routes(h.routes_size() - 1);
    wire::HttpFault fault;
    fault.mutable_delay()->mutable_header_delay();
    fault.mutable_abort()->mutable_header_abort();
    (*route.mutable_typed_per_filter_config())[std::to_string(i)] =
        packed("envoy.extensions.filters.http.fault.v3.HTTPFault", fault);
  });
  wire::RouteConfiguration hosts;
  hosts.set_name("r");
  for (std::uint32_t i = 0; i < many; ++i) hosts.add_virtual_hosts()->add_domains(std::to_string(i));
  expect_bound(routes_with(hosts), "virtual host");
}

TEST(XdsParsedSize, IsBoundedByTheNumberOfElementsOfClusters) {
  wire::Cluster metrics = eds_cluster("c");
  for (std::uint32_t i = 0; i < many; ++i) metrics.add_lrs_report_endpoint_metrics("");
  expect_bound(cluster_with(metrics), "metric");
  wire::AggregateCluster several;
  for (std::uint32_t i = 0; i < many; ++i) several.add_clusters("");
  wire::Cluster aggregate;
  aggregate.set_name("c");
  aggregate.mutable_cluster_type()->set_name("envoy.clusters.aggregate");
  *aggregate.mutable_cluster_type()->mutable_typed_config() =
      packed("envoy.extensions.clusters.aggregate.v3.ClusterConfig", several);
  expect_bound(cluster_with(aggregate), "cluster of an aggregate");
  wire::Cluster labels = eds_cluster("c");
  auto& all = *(*labels.mutable_metadata()->mutable_filter_metadata())["com.google.csm.telemetry_labels"]
                   .mutable_fields();
  for (std::uint32_t i = 0; i < many; ++i) all[std::to_string(i)].set_string_value("");
  expect_bound(cluster_with(labels), "label");
}

TEST(XdsParsedSize, IsBoundedByTheNumberOfElementsOfFilterChains) {
  resource_rules rules;
  rules.serves = true;
  wire::Listener l = inbound_listener_at("127.0.0.1", 80);
  for (std::uint32_t i = 0; i < many; ++i) {
    *l.add_filter_chains() = inbound_chain("");
    l.mutable_filter_chains(static_cast<int>(i) + 1)->mutable_filter_chain_match()->add_source_ports(i);
  }
  expect_bound(measure(resource_kind::listener, l.SerializeAsString(), &parse_listener, rules),
               "filter chain");
  wire::Listener ports = inbound_listener_at("127.0.0.1", 80);
  for (std::uint32_t i = 0; i < many; ++i)
    ports.mutable_filter_chains(0)->mutable_filter_chain_match()->add_source_ports(i);
  expect_bound(measure(resource_kind::listener, ports.SerializeAsString(), &parse_listener, rules),
               "source port");
}

// --- What is counted before it is parsed.

wire::LoadBalancingPolicy nested_policies(const wire::LoadBalancingPolicy& inner) {
  wire::WrrLocality around;
  *around.mutable_endpoint_picking_policy() = inner;
  wire::LoadBalancingPolicy outer;
  *outer.add_policies()->mutable_typed_extension_config()->mutable_typed_config() =
      packed("envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality", around);
  return outer;
}

// Rejected, for its elements, with a few allocations for the text.
void expect_not_parsed(const wire::Cluster& c, const char* what) {
  const std::string bytes = c.SerializeAsString();
  ASSERT_GT(element_count(resource_kind::cluster, bytes), limits::elements_per_resource_max) << what;
  const std::size_t before = allocation_count;
  const auto parsed = parse_cluster(bytes, {});
  EXPECT_LE(allocation_count - before, 20u) << what;
  EXPECT_THAT(parsed.status().message(), HasSubstr("has more than 200000 elements in its lists")) << what;
}

TEST(XdsParsedSize, PoliciesBelowOthersAreCountedBeforeTheyAreParsed) {
  wire::LoadBalancingPolicy inner;
  for (std::size_t i = 0; i <= limits::elements_per_resource_max; ++i) inner.add_policies();
  for (int depth = 0; depth < 3; ++depth) {
    wire::Cluster c = eds_cluster("c");
    *c.mutable_load_balancing_policy() = inner;
    expect_not_parsed(c, "policies");
    inner = nested_policies(inner);
  }
  wire::WeightedRoundRobin metrics;
  for (std::size_t i = 0; i <= limits::elements_per_resource_max; ++i)
    metrics.add_metric_names_for_computing_utilization("");
  wire::Cluster c = eds_cluster("c");
  *c.mutable_load_balancing_policy()
       ->add_policies()
       ->mutable_typed_extension_config()
       ->mutable_typed_config() = packed(
      "envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3."
      "ClientSideWeightedRoundRobin",
      metrics);
  expect_not_parsed(c, "metrics");
}

TEST(XdsParsedSize, ValuesWithinValuesAreCountedBeforeTheyAreParsed) {
  google::protobuf::Value many_values;
  for (std::size_t i = 0; i <= limits::elements_per_resource_max; ++i)
    many_values.mutable_list_value()->add_values();
  google::protobuf::Struct around;
  (*(*around.mutable_fields())["a"].mutable_struct_value()->mutable_fields())["b"] = many_values;
  wire::Cluster in_metadata = eds_cluster("c");
  (*in_metadata.mutable_metadata()->mutable_filter_metadata())["m"] = around;
  expect_not_parsed(in_metadata, "metadata");
  wire::TypedStruct custom;
  custom.set_type_url("x/my.Policy");
  *custom.mutable_value() = around;
  wire::Cluster in_policy = eds_cluster("c");
  wire::LoadBalancingPolicy inner;
  *inner.add_policies()->mutable_typed_extension_config()->mutable_typed_config() =
      packed("xds.type.v3.TypedStruct", custom);
  *in_policy.mutable_load_balancing_policy() = nested_policies(inner);
  expect_not_parsed(in_policy, "policy");
}

// As deep as the bytes allow: protobuf's parser rejects it, and the count does not follow it down.
TEST(XdsParsedSize, ValuesAreNotCountedDeeperThanTheyAreParsed) {
  std::string value;
  const auto wrapped = [](char tag, const std::string& content) {
    std::string to(1, tag);
    for (std::size_t n = content.size();; n >>= 7U) {
      to.push_back(static_cast<char>(n < 0x80 ? n : (n & 0x7F) | 0x80));
      if (n < 0x80) break;
    }
    return to + content;
  };
  constexpr int levels = 20'000;
  for (int i = 0; i < levels; ++i) value = wrapped('\x32', wrapped('\x0A', value));  // list_value{values}
  wire::Cluster c = eds_cluster("c");
  c.mutable_metadata();
  std::string bytes = c.SerializeAsString();
  const std::string of_struct = wrapped('\x0A', wrapped('\x12', value));
  const std::string metadata = wrapped('\x0A', wrapped('\x12', of_struct));
  std::string field(1, '\xCA');  // 25, with a length
  bytes += field + wrapped('\x01', metadata);
  EXPECT_LT(element_count(resource_kind::cluster, bytes), 300u);
  EXPECT_THAT(parse_cluster(bytes, {}).status().message(), HasSubstr("is malformed protobuf"));
}

// The resources of a response are parsed before the client decides which of them it keeps.
TEST(XdsParsedSize, AResponseHasAsManyElementsAsTheLimitSays) {
  constexpr std::size_t full = limits::cached_elements_max / limits::elements_per_resource_max;
  wire::ClusterLoadAssignment drops;
  for (std::size_t i = 0; i < limits::elements_per_resource_max; ++i)
    drops.mutable_policy()->add_drop_overloads();
  wire::DiscoveryResponse r;
  r.set_type_url(type_url(resource_kind::endpoints));
  for (std::size_t i = 0; i < full + 2; ++i) {
    drops.set_cluster_name("c" + std::to_string(i));
    *r.add_resources() = packed(type_name(resource_kind::endpoints), drops);
  }
  const received_response read = read_response(std::move(r), resource_rules());
  ASSERT_EQ(read.resources.size(), full + 2);
  for (std::size_t i = 0; i < full; ++i) EXPECT_TRUE(read.resources[i].content.ok()) << i;
  for (std::size_t i = full; i < full + 2; ++i) {
    EXPECT_EQ(read.resources[i].name, "c" + std::to_string(i));
    EXPECT_THAT(
        std::string(read.resources[i].content.status().message()),
        HasSubstr("has 200000 elements in its lists, which exceed those of a response, limit 2000000"));
  }
}

// --- What a client keeps.

TEST(XdsParsedSize, AClientKeepsAsManyElementsOfAllResourcesAsTheLimitSays) {
  auto parsed =
      parse_bootstrap(R"({"xds_servers":[{"server_uri":"p:1","channel_creds":[{"type":"insecure"}]}]})");
  ASSERT_TRUE(parsed.ok());
  ads_client client(std::make_shared<const bootstrap>(*std::move(parsed)), {"agent", "1", {}, {}});
  constexpr std::size_t full = limits::cached_elements_max / limits::elements_per_resource_max;
  std::vector<watch_id> watches;
  for (std::size_t i = 0; i <= full; ++i)
    watches.push_back(client.watch(resource_kind::endpoints, "c" + std::to_string(i)));
  constexpr server_id plane{0};
  time_point now{};
  ASSERT_TRUE(client.next_command(now));
  client.stream_opened(plane, now);
  while (client.next_request(plane, now)) {
  }

  const auto kept = [&] {
    std::size_t n = 0;
    client.visit([&](const resource_dump& d) { n += d.state == cache_state::acked ? 1u : 0u; });
    return n;
  };
  wire::ClusterLoadAssignment drops;
  for (std::size_t i = 0; i < limits::elements_per_resource_max; ++i)
    drops.mutable_policy()->add_drop_overloads();
  std::string rejected;
  const auto send = [&](std::size_t i) {
    drops.set_cluster_name("c" + std::to_string(i));
    wire::DiscoveryResponse r;
    r.set_type_url(type_url(resource_kind::endpoints));
    *r.add_resources() = packed(type_name(resource_kind::endpoints), drops);
    client.received(plane, read_response(std::move(r), client.rules_of(plane)), now);
    now += std::chrono::seconds(2);
    rejected.clear();
    while (const auto request = client.next_request(plane, now)) rejected = request->error_detail().message();
    while (client.next_event()) {
    }
    while (client.next_note()) {
    }
    while (client.next_client_event()) {
    }
  };
  const std::int64_t before = allocated_bytes;
  for (std::size_t i = 0; i < full; ++i) {
    send(i);
    EXPECT_EQ(rejected, "");
  }
  const std::int64_t at_the_limit = allocated_bytes;
  EXPECT_LE(at_the_limit - before, static_cast<std::int64_t>(limits::cached_elements_max) *
                                       (bytes_per_element_max + 2 * bytes_per_byte_max));
  RecordProperty("megabytes at the limit", static_cast<int>((at_the_limit - before) / 1'000'000));
  send(full);
  EXPECT_THAT(rejected, HasSubstr("200000 elements exceed what this client keeps of all resources, 2000000"));
  EXPECT_EQ(kept(), full);
  EXPECT_LE(allocated_bytes, at_the_limit + 100'000);
  // Others in place of what it has are fine, and what is given up makes room.
  send(0);
  EXPECT_EQ(rejected, "");
  client.cancel(watches[1]);
  while (client.next_request(plane, now)) {
  }
  send(full);
  EXPECT_EQ(rejected, "");
  EXPECT_LE(allocated_bytes, at_the_limit + 100'000);
  for (const watch_id w : watches) client.cancel(w);
  EXPECT_LE(allocated_bytes, before + 100'000) << "nothing is left of them";
}

}  // namespace
}  // namespace coracle::xds::parsed_size_test
