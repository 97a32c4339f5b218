// Responses with damaged bytes: whatever they are, each resource is valid or has an error, and the client
// goes on.
#include "unit/xds/inbound_builders.hpp"
#include "unit/xds/resource_builders.hpp"
#include "xds/ads/ads_client.hpp"
#include "xds/limits.hpp"
#include "xds/wire/rbac.pb.h"

#include <gtest/gtest.h>

#include <random>

namespace coracle::xds::hostile_test {
namespace {

using namespace testing_resources;

// A resource of each kind with many fields.
std::vector<std::pair<resource_kind, std::string>> samples() {
  wire::RouteConfiguration routes = routes_to("name", "c");
  auto& route = *routes.mutable_virtual_hosts(0)->add_routes();
  route.mutable_match()->mutable_safe_regex()->set_regex("/a(b|c)*[d-z]{1,3}");
  auto& header = *route.mutable_match()->add_headers();
  header.set_name("h");
  header.mutable_string_match()->set_prefix("p");
  auto& action = *route.mutable_route();
  auto& weight = *action.mutable_weighted_clusters()->add_clusters();
  weight.set_name("c");
  weight.mutable_weight()->set_value(3);
  action.mutable_retry_policy()->set_retry_on("unavailable");
  action.mutable_retry_policy()->mutable_retry_back_off()->mutable_base_interval()->set_nanos(5);
  action.add_hash_policy()->mutable_header()->set_header_name("k");
  action.mutable_max_stream_duration()->mutable_max_stream_duration()->set_seconds(1);

  wire::HttpConnectionManager manager = manager_of_rds("r");
  *manager.mutable_route_config() = routes;

  wire::Cluster c = eds_cluster("name");
  wire::WrrLocality locality;
  wire::TypedStruct custom;
  custom.set_type_url("x/my.Policy");
  (*custom.mutable_value()->mutable_fields())["f"].mutable_list_value()->add_values()->set_number_value(1);
  for (const auto& any :
       {packed("xds.type.v3.TypedStruct", custom),
        packed("envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash", wire::RingHash())})
    *locality.mutable_endpoint_picking_policy()
         ->add_policies()
         ->mutable_typed_extension_config()
         ->mutable_typed_config() = any;
  *c.mutable_load_balancing_policy()
       ->add_policies()
       ->mutable_typed_extension_config()
       ->mutable_typed_config() =
      packed("envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality", locality);
  c.mutable_outlier_detection()->mutable_interval()->set_seconds(1);
  c.mutable_circuit_breakers()->add_thresholds()->mutable_max_requests()->set_value(4);

  wire::ClusterLoadAssignment a;
  a.set_cluster_name("name");
  for (std::uint32_t i = 0; i < 4; ++i)
    add_endpoint(*add_locality(a, "z" + std::to_string(i), 1 + i, i / 2), "10.0.0.1", 80 + i)
        ->mutable_load_balancing_weight()
        ->set_value(2);
  a.mutable_policy()->add_drop_overloads()->mutable_drop_percentage()->set_numerator(1);

  return {{resource_kind::listener, listener_with("name", manager).SerializeAsString()},
          {resource_kind::route_configuration, routes.SerializeAsString()},
          {resource_kind::cluster, c.SerializeAsString()},
          {resource_kind::endpoints, a.SerializeAsString()}};
}

// One or two changes: a byte becomes another one, is repeated, or a piece goes.
std::string damaged(std::string bytes, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return random() % n; };
  for (std::size_t changes = 1 + below(2); changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = below(bytes.size());
    switch (below(4)) {
      case 0: bytes[at] = static_cast<char>(random()); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
      case 2: bytes.insert(at, 1 + below(8), bytes[at]); break;
      default: bytes.erase(at, 1 + below(8));
    }
  }
  return bytes;
}

TEST(XdsHostile, ResponsesAreValidOrHaveAnErrorInEachResource) {
  auto parsed =
      parse_bootstrap(R"({"xds_servers":[{"server_uri":"p:1","channel_creds":[{"type":"insecure"}]}]})");
  ASSERT_TRUE(parsed.ok());
  const custom_policies has_policy = [](std::string_view name, std::string_view) {
    return name == "my.Policy" ? std::optional<status>(status()) : std::nullopt;
  };
  ads_client client(std::make_shared<const bootstrap>(*std::move(parsed)), {"agent", "1", {}, has_policy});
  for (const resource_kind kind : resource_kinds) (void)client.watch(kind, "name");
  constexpr server_id plane{0};
  time_point now{};
  ASSERT_TRUE(client.next_command(now));
  client.stream_opened(plane, now);

  resource_rules rules = client.rules_of(plane);
  rules.is_watched = {};  // those whose name is damaged are read, too

  testing::internal::CaptureStderr();  // protobuf writes a line for each text that is not UTF-8
  std::mt19937 random(20260601);
  std::size_t valid = 0;
  std::size_t rejected = 0;
  std::size_t changed = 0;
  for (const auto& [kind, bytes] : samples()) {
    for (int i = 0; i < 300; ++i) {
      wire::DiscoveryResponse response;
      response.set_type_url(type_url(kind));
      auto& any = *response.add_resources();
      any.set_type_url(type_url(kind));
      any.set_value(i == 0 ? bytes : damaged(bytes, random));
      received_response read = read_response(std::move(response), rules);
      ASSERT_EQ(read.resources.size(), 1u);
      if (read.resources[0].content.ok()) ++valid;
      else ASSERT_FALSE(read.resources[0].content.status().message().empty());
      client.received(plane, std::move(read), now);
      now += std::chrono::seconds(2);
      client.advance(now);
      while (const auto request = client.next_request(plane, now)) {
        rejected += request->has_error_detail();
        ASSERT_LE(request->error_detail().message().size(), limits::nack_text_bytes_max);
      }
      while (const auto e = client.next_event()) changed += e->what == watch_event::kind::changed;
    }
  }
  (void)testing::internal::GetCapturedStderr();
  // Damage is of both kinds, or this would not test much.
  EXPECT_GT(valid, 100u);
  EXPECT_GT(rejected, 300u);
  EXPECT_GT(changed, 100u);
}

TEST(XdsHostile, ListenersOfServersAreValidOrHaveAnError) {
  resource_rules rules;
  rules.has_provider = [](std::string_view name) { return name == "known"; };
  rules.serves = true;
  wire::Listener l = inbound_listener_at("127.0.0.1", 80);
  auto& match = *l.mutable_filter_chains(0)->mutable_filter_chain_match();
  add_range(*match.mutable_prefix_ranges(), "10.0.0.0", 8);
  add_range(*match.mutable_source_prefix_ranges(), "2001::", 16);
  match.add_source_ports(1);
  match.set_source_type(2);
  wire::DownstreamTlsContext t = served_by("known");
  verify_clients(t, "known");
  set_tls(*l.mutable_filter_chains(0), t);
  *l.mutable_default_filter_chain() = inbound_chain("default");
  wire::RbacFilter by;
  wire::RbacPolicy& policy = (*by.mutable_rules()->mutable_policies())["policy"];
  auto& both = *policy.add_permissions()->mutable_not_rule()->mutable_and_rules();
  both.add_rules()->mutable_url_path()->mutable_path()->mutable_safe_regex()->set_regex("/a.*");
  both.add_rules()->mutable_header()->set_name("x");
  both.mutable_rules(1)->mutable_header()->mutable_range_match()->set_end(3);
  policy.add_principals()->mutable_authenticated()->mutable_principal_name()->set_prefix("spiffe://");
  policy.add_principals()->mutable_remote_ip()->set_address_prefix("10.0.0.0");
  by.mutable_rules()->mutable_audit_logging_options()->add_logger_configs()->set_is_optional(true);
  *by.mutable_rules()
       ->mutable_audit_logging_options()
       ->mutable_logger_configs(0)
       ->mutable_audit_logger()
       ->mutable_typed_config() =
      packed("envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog", wire::Unread());
  wire::HttpConnectionManager filtered = manager_of_rds("r");
  add_filter(filtered, "rbac", packed("envoy.extensions.filters.http.rbac.v3.RBAC", by));
  *l.add_filter_chains() = inbound_chain("filtered");
  l.mutable_filter_chains(1)->mutable_filter_chain_match()->add_source_ports(2);
  set_manager(*l.mutable_filter_chains(1), filtered);
  const std::string bytes = l.SerializeAsString();
  const net::address local = net::address::parse("10.0.0.1:80").value();
  const net::address peer = net::address::parse("[2001::1]:1").value();

  testing::internal::CaptureStderr();  // as above
  std::mt19937 random(20261129);
  int valid = 0;
  int invalid = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto read = parse_listener(i == 0 ? bytes : damaged(bytes, random), rules);
    if (!read) {
      ASSERT_FALSE(read.status().message().empty());
      ++invalid;
      continue;
    }
    (void)(*read)->inbound->find(local, peer);
    ++valid;
  }
  (void)testing::internal::GetCapturedStderr();
  EXPECT_GT(valid, 100);
  EXPECT_GT(invalid, 100);
}

}  // namespace
}  // namespace coracle::xds::hostile_test
