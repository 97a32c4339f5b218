// Clusters: what they become, and what is invalid (gRFC A27, A32, A37, A48, A50, A52, A55, A58, A68, A85,
// A86, A105).
#include "unit/xds/resource_builders.hpp"
#include "xds/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace coracle::xds::cluster_test {
namespace {

using namespace std::chrono_literals;
using namespace testing_resources;
using testing::HasSubstr;

const resource_rules rules = {false, [](std::string_view name) { return name == "known"; },
                              [](std::string_view name, std::string_view) -> std::optional<status> {
                                if (name == "my.BadPolicy") return status::invalid_argument("is bad");
                                return name == "my.Policy" ? std::optional(status()) : std::nullopt;
                              }};

cluster parsed(const wire::Cluster& from) {
  const auto c = parse_cluster(from.SerializeAsString(), rules);
  EXPECT_EQ(c.status(), status());
  return c ? **c : cluster();
}
std::string refusal(const wire::Cluster& from) {
  const auto c = parse_cluster(from.SerializeAsString(), rules);
  EXPECT_FALSE(c.ok());
  return std::string(c.status().message());
}
wire::Cluster with(const std::function<void(wire::Cluster&)>& change) {
  wire::Cluster c = eds_cluster("c");
  change(c);
  return c;
}

TEST(XdsCluster, OfEdsHasTheNameOfItsService) {
  EXPECT_EQ(std::get<cluster::eds>(parsed(eds_cluster("c")).discovery).service_name, "c");
  EXPECT_EQ(std::get<cluster::eds>(parsed(eds_cluster("c", "s")).discovery).service_name, "s");
  EXPECT_THAT(refusal(eds_cluster("xdstp:///envoy.config.cluster.v3.Cluster/c")),
              HasSubstr("service_name must be set"));
  EXPECT_THAT(refusal(with([](auto& c) { c.mutable_eds_cluster_config()->clear_eds_config(); })),
              HasSubstr("Cluster \"c\": eds_cluster_config.eds_config must be ads or self"));
  EXPECT_THAT(refusal(with([](auto& c) { c.set_type(0); })),
              HasSubstr("type is an unsupported cluster type: 0"));
  EXPECT_THAT(refusal(with([](auto& c) { c.set_type(4); })),
              HasSubstr("type is an unsupported cluster type: 4"));
  EXPECT_THAT(refusal(with([](auto& c) { c.clear_name(); })), HasSubstr("Cluster: has no name"));
}

TEST(XdsCluster, OfDnsHasOneAddress) {
  wire::Cluster c;
  c.set_name("c");
  c.set_type(2);
  EXPECT_THAT(refusal(c), HasSubstr("has no load_assignment"));
  c.mutable_load_assignment();
  EXPECT_THAT(refusal(c), HasSubstr("load_assignment must have exactly one locality"));
  auto& locality = *c.mutable_load_assignment()->add_endpoints();
  EXPECT_THAT(refusal(c), HasSubstr("load_assignment.endpoints[0] must have exactly one endpoint"));
  auto& address = *locality.add_lb_endpoints()->mutable_endpoint()->mutable_address();
  EXPECT_THAT(refusal(c), HasSubstr("lb_endpoints[0].endpoint.address has no socket_address"));
  address.mutable_socket_address();
  EXPECT_THAT(refusal(c), HasSubstr("socket_address.address must not be empty"));
  address.mutable_socket_address()->set_address("dns.example");
  address.mutable_socket_address()->set_named_port("http");
  EXPECT_THAT(refusal(c), HasSubstr("socket_address has no port_value"));
  address.mutable_socket_address()->set_port_value(65536);
  EXPECT_THAT(refusal(c), HasSubstr("port_value must be at most 65535"));
  address.mutable_socket_address()->set_port_value(80);
  EXPECT_EQ(std::get<socket_address>(parsed(c).discovery), (socket_address{"dns.example", 80}));
  address.mutable_socket_address()->set_resolver_name("r");
  EXPECT_THAT(refusal(c), HasSubstr("resolver_name is not supported"));
}

TEST(XdsCluster, ThatIsAggregateNamesOthers) {
  const auto aggregate = [](const std::vector<std::string>& names) {
    return with([&](auto& c) {
      wire::AggregateCluster a;
      for (const auto& each : names) a.add_clusters(each);
      c.mutable_cluster_type()->set_name("envoy.clusters.aggregate");
      *c.mutable_cluster_type()->mutable_typed_config() =
          packed("envoy.extensions.clusters.aggregate.v3.ClusterConfig", a);
    });
  };
  EXPECT_EQ(std::get<cluster::aggregate>(parsed(aggregate({"a", "b"})).discovery).clusters,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_THAT(refusal(aggregate({})), HasSubstr("cluster_type.typed_config.clusters must not be empty"));
  EXPECT_THAT(refusal(with([](auto& c) { c.mutable_cluster_type()->set_name("odd"); })),
              HasSubstr("cluster_type is an unsupported cluster type: odd"));
}

TEST(XdsCluster, HasThePolicyThatLbPolicyStandsFor) {
  EXPECT_EQ(parsed(eds_cluster("c")).balancing,
            R"([{"xds_wrr_locality_experimental":{"childPolicy":[{"round_robin":{}}]}}])");
  const wire::Cluster least = with([](auto& c) {
    c.set_lb_policy(1);
    c.mutable_least_request_lb_config()->mutable_choice_count()->set_value(3);
  });
  EXPECT_EQ(
      parsed(least).balancing,
      R"([{"xds_wrr_locality_experimental":{"childPolicy":[{"least_request_experimental":{"choiceCount":3}}]}}])");
  EXPECT_THAT(refusal(with([](auto& c) {
                c.set_lb_policy(1);
                c.mutable_least_request_lb_config()->mutable_choice_count()->set_value(1);
              })),
              HasSubstr("least_request_lb_config.choice_count must be at least 2"));
  EXPECT_THAT(refusal(with([](auto& c) { c.set_lb_policy(5); })),
              HasSubstr("lb_policy is an unexpected lb policy: 5"));
}

TEST(XdsCluster, BoundsTheSizesOfARing) {
  const auto ring = [](std::optional<std::uint64_t> min, std::optional<std::uint64_t> max) {
    return with([&](auto& c) {
      c.set_lb_policy(2);
      if (min) c.mutable_ring_hash_lb_config()->mutable_minimum_ring_size()->set_value(*min);
      if (max) c.mutable_ring_hash_lb_config()->mutable_maximum_ring_size()->set_value(*max);
    });
  };
  EXPECT_EQ(parsed(ring({}, {})).balancing,
            R"([{"ring_hash_experimental":{"minRingSize":1024,"maxRingSize":8388608}}])");
  EXPECT_EQ(parsed(ring(8, 8)).balancing,
            R"([{"ring_hash_experimental":{"minRingSize":8,"maxRingSize":8}}])");
  EXPECT_THAT(refusal(ring({}, 8)),
              HasSubstr("ring_hash_lb_config.minimum_ring_size must not exceed the maximum, 8"));
  EXPECT_THAT(refusal(ring({}, 8388609)),
              HasSubstr("ring_hash_lb_config.maximum_ring_size must be at most 8388608"));
  EXPECT_THAT(refusal(with([](auto& c) {
                c.set_lb_policy(2);
                c.mutable_ring_hash_lb_config()->set_hash_function(1);
              })),
              HasSubstr("hash_function must be XX_HASH"));
}

constexpr const char* policies = "envoy.extensions.load_balancing_policies.";

void add_policy(wire::LoadBalancingPolicy& to, const google::protobuf::Any& config) {
  *to.add_policies()->mutable_typed_extension_config()->mutable_typed_config() = config;
}
template <class Message>
google::protobuf::Any policy(const std::string& type, const Message& m) {
  return packed(policies + type, m);
}
wire::Cluster with_policy(const google::protobuf::Any& any) {
  return with([&](auto& c) { add_policy(*c.mutable_load_balancing_policy(), any); });
}

TEST(XdsCluster, HasTheFirstPolicyThatIsSupported) {
  wire::Cluster c = with_policy(packed("odd.Policy", wire::PickFirst()));
  EXPECT_THAT(refusal(c), HasSubstr("load_balancing_policy has no policy that is supported"));
  add_policy(*c.mutable_load_balancing_policy(), policy("round_robin.v3.RoundRobin", wire::PickFirst()));
  add_policy(*c.mutable_load_balancing_policy(), policy("pick_first.v3.PickFirst", wire::PickFirst()));
  c.set_lb_policy(7);  // not read then
  EXPECT_EQ(parsed(c).balancing, R"([{"round_robin":{}}])");
  EXPECT_THAT(refusal(with([](auto& empty) { empty.mutable_load_balancing_policy(); })),
              HasSubstr("has no policy that is supported"));
  google::protobuf::Any broken = policy("pick_first.v3.PickFirst", wire::PickFirst());
  broken.set_value("\xff");
  EXPECT_THAT(refusal(with_policy(broken)),
              HasSubstr("policies[0].typed_extension_config.typed_config is not a valid"));
}

TEST(XdsCluster, ConvertsEachPolicyToItsServiceConfig) {
  wire::PickFirst first;
  first.set_shuffle_address_list(true);
  EXPECT_EQ(parsed(with_policy(policy("pick_first.v3.PickFirst", first))).balancing,
            R"([{"pick_first":{"shuffleAddressList":true}}])");

  wire::LeastRequest least;
  EXPECT_EQ(parsed(with_policy(policy("least_request.v3.LeastRequest", least))).balancing,
            R"([{"least_request_experimental":{"choiceCount":2}}])");
  least.mutable_choice_count()->set_value(99);
  EXPECT_EQ(parsed(with_policy(policy("least_request.v3.LeastRequest", least))).balancing,
            R"([{"least_request_experimental":{"choiceCount":10}}])");

  wire::RingHash ring;
  ring.set_hash_function(1);
  EXPECT_EQ(parsed(with_policy(policy("ring_hash.v3.RingHash", ring))).balancing,
            R"([{"ring_hash_experimental":{"minRingSize":1024,"maxRingSize":8388608}}])");
  ring.set_hash_function(2);
  EXPECT_THAT(refusal(with_policy(policy("ring_hash.v3.RingHash", ring))),
              HasSubstr("hash_function must be XX_HASH"));

  wire::WeightedRoundRobin weighted;
  EXPECT_EQ(parsed(with_policy(
                       policy("client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", weighted)))
                .balancing,
            R"([{"weighted_round_robin":{}}])");
  weighted.mutable_enable_oob_load_report()->set_value(true);
  weighted.mutable_oob_reporting_period()->set_seconds(1);
  weighted.mutable_blackout_period();
  weighted.mutable_weight_expiration_period()->set_seconds(2);
  weighted.mutable_weight_update_period()->set_nanos(250'000'000);
  weighted.mutable_error_utilization_penalty()->set_value(0.5F);
  weighted.add_metric_names_for_computing_utilization("named_metrics.k");
  EXPECT_EQ(
      parsed(
          with_policy(policy("client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", weighted)))
          .balancing,
      R"([{"weighted_round_robin":{"enableOobLoadReport":true,"oobReportingPeriod":"1s","blackoutPeriod":"0s",)"
      R"("weightExpirationPeriod":"2s","weightUpdatePeriod":"0.25s","errorUtilizationPenalty":0.5,)"
      R"("metricNamesForComputingUtilization":["named_metrics.k"]}}])");
  weighted.mutable_error_utilization_penalty()->set_value(-1);
  EXPECT_THAT(refusal(with_policy(
                  policy("client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", weighted))),
              HasSubstr("error_utilization_penalty must be a number that is not negative"));
}

TEST(XdsCluster, ConvertsSlowStart) {
  wire::RoundRobin round;
  EXPECT_EQ(parsed(with_policy(policy("round_robin.v3.RoundRobin", round))).balancing,
            R"([{"round_robin":{}}])");
  wire::SlowStart& slow = *round.mutable_slow_start_config();
  EXPECT_EQ(parsed(with_policy(policy("round_robin.v3.RoundRobin", round))).balancing,
            R"([{"round_robin":{}}])");
  slow.mutable_slow_start_window()->set_seconds(60);
  EXPECT_EQ(parsed(with_policy(policy("round_robin.v3.RoundRobin", round))).balancing,
            R"([{"round_robin":{"slowStartConfig":{"slowStartWindow":"60s"}}}])");
  slow.mutable_aggression()->set_default_value(2);
  slow.mutable_min_weight_percent()->set_value(5);
  wire::WeightedRoundRobin weighted;
  *weighted.mutable_slow_start_config() = slow;
  EXPECT_EQ(parsed(with_policy(
                       policy("client_side_weighted_round_robin.v3.ClientSideWeightedRoundRobin", weighted)))
                .balancing,
            R"([{"weighted_round_robin":{"slowStartConfig":{"slowStartWindow":"60s","aggression":2,)"
            R"("minWeightPercent":5}}}])");
  slow.mutable_aggression()->set_default_value(0);
  EXPECT_THAT(refusal(with_policy(policy("round_robin.v3.RoundRobin", round))),
              HasSubstr("slow_start_config.aggression must be more than 0"));
  slow.mutable_aggression()->set_default_value(1);
  slow.mutable_min_weight_percent()->set_value(101);
  EXPECT_THAT(refusal(with_policy(policy("round_robin.v3.RoundRobin", round))),
              HasSubstr("min_weight_percent must be from 0 to 100"));
}

TEST(XdsCluster, ConvertsPoliciesWithChildrenToABoundedDepth) {
  wire::LoadBalancingPolicy chain;
  add_policy(chain, policy("round_robin.v3.RoundRobin", wire::PickFirst()));
  wire::RandomSubsetting subset;
  *subset.mutable_child_policy() = chain;
  EXPECT_THAT(refusal(with_policy(policy("random_subsetting.v3.RandomSubsetting", subset))),
              HasSubstr("subset_size must be more than 0"));
  subset.mutable_subset_size()->set_value(3);
  EXPECT_EQ(parsed(with_policy(policy("random_subsetting.v3.RandomSubsetting", subset))).balancing,
            R"([{"random_subsetting_experimental":{"subsetSize":3,"childPolicy":[{"round_robin":{}}]}}])");

  const auto nest = [&](std::size_t levels) {
    wire::LoadBalancingPolicy top = chain;
    for (std::size_t i = 1; i < levels; ++i) {
      wire::WrrLocality w;
      *w.mutable_endpoint_picking_policy() = top;
      top.Clear();
      add_policy(top, policy("wrr_locality.v3.WrrLocality", w));
    }
    return with([&](auto& c) { *c.mutable_load_balancing_policy() = top; });
  };
  EXPECT_EQ(parsed(nest(2)).balancing,
            R"([{"xds_wrr_locality_experimental":{"childPolicy":[{"round_robin":{}}]}}])");
  EXPECT_THAT(parsed(nest(limits::policy_depth_max)).balancing, HasSubstr("round_robin"));
  EXPECT_THAT(refusal(nest(limits::policy_depth_max + 1)), HasSubstr("is nested deeper than 16 policies"));
}

TEST(XdsCluster, HandsTheConfigOfAPolicyOfTheProgramOn) {
  wire::TypedStruct s;
  auto& fields = *s.mutable_value()->mutable_fields();
  fields["n"].set_number_value(1.5);
  fields["l"].mutable_list_value()->add_values()->set_bool_value(true);
  fields["o"].mutable_struct_value();
  fields["z"].set_null_value(google::protobuf::NULL_VALUE);
  s.set_type_url("x/my.Policy");
  for (const std::string_view type : {"xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct"})
    EXPECT_EQ(parsed(with_policy(packed(type, s))).balancing,
              R"([{"my.Policy":{"l":[true],"n":1.5,"o":{},"z":null}}])");
  s.set_type_url("x/your.Policy");
  EXPECT_THAT(refusal(with_policy(packed("xds.type.v3.TypedStruct", s))),
              HasSubstr("has no policy that is supported"));
  s.set_type_url("x/my.BadPolicy");
  EXPECT_THAT(refusal(with_policy(packed("xds.type.v3.TypedStruct", s))),
              HasSubstr("policies[0].typed_extension_config.typed_config is bad"));
}

TEST(XdsCluster, HasLimitsOfRequestsAndConnections) {
  EXPECT_EQ(parsed(eds_cluster("c")).max_requests, 1024u);
  wire::Cluster c = eds_cluster("c");
  auto& other = *c.mutable_circuit_breakers()->add_thresholds();
  other.set_priority(1);
  other.mutable_max_requests()->set_value(1);
  auto& first = *c.mutable_circuit_breakers()->add_thresholds();
  c.mutable_circuit_breakers()->add_thresholds()->mutable_max_requests()->set_value(7);
  EXPECT_EQ(parsed(c).max_requests, 1024u);
  first.mutable_max_requests()->set_value(5);
  auto& per_host = *c.mutable_circuit_breakers()->add_per_host_thresholds();
  EXPECT_EQ(parsed(c).max_requests, 5u);
  EXPECT_EQ(parsed(c).max_connections_per_endpoint, std::nullopt);
  per_host.mutable_max_connections()->set_value(2);
  EXPECT_EQ(parsed(c).max_connections_per_endpoint, 2u);
  per_host.mutable_max_connections()->set_value(0);
  EXPECT_THAT(refusal(c),
              HasSubstr("circuit_breakers.per_host_thresholds.max_connections must be more than 0"));
}

TEST(XdsCluster, ReportsLoadToItsOwnControlPlaneAlone) {
  EXPECT_FALSE(parsed(eds_cluster("c")).reports_load);
  wire::Cluster c = eds_cluster("c");
  c.mutable_lrs_server()->mutable_self();
  c.add_lrs_report_endpoint_metrics("named_metrics.*");
  EXPECT_TRUE(parsed(c).reports_load);
  EXPECT_EQ(parsed(c).reported_metrics, std::vector<std::string>{"named_metrics.*"});
  c.mutable_lrs_server()->mutable_ads();
  EXPECT_THAT(refusal(c), HasSubstr("lrs_server must be self"));
}

TEST(XdsCluster, HasOutlierDetectionWithTheDefaultsOfTheMessage) {
  EXPECT_EQ(parsed(eds_cluster("c")).outlier_detection, std::nullopt);
  wire::Cluster c = eds_cluster("c");
  auto& o = *c.mutable_outlier_detection();
  outlier_detection expected;
  expected.success_rate = {1900, 100, 5, 100};
  EXPECT_EQ(parsed(c).outlier_detection, expected);
  o.mutable_enforcing_success_rate();  // zero
  EXPECT_EQ(parsed(c).outlier_detection->success_rate, std::nullopt);
  o.mutable_enforcing_failure_percentage()->set_value(20);
  o.mutable_failure_percentage_threshold()->set_value(30);
  o.mutable_failure_percentage_minimum_hosts()->set_value(4);
  o.mutable_base_ejection_time()->set_seconds(400);
  o.mutable_interval()->set_seconds(1);
  o.mutable_max_ejection_percent()->set_value(50);
  EXPECT_EQ(parsed(c).outlier_detection->failure_percentage, (outlier_detection::rule{30, 20, 4, 50}));
  EXPECT_EQ(parsed(c).outlier_detection->base_ejection_time, 400s);
  EXPECT_EQ(parsed(c).outlier_detection->max_ejection_time, 400s);
  EXPECT_EQ(parsed(c).outlier_detection->interval, 1s);
  EXPECT_EQ(parsed(c).outlier_detection->max_ejection_percent, 50u);
}

TEST(XdsCluster, WithOutlierDetectionOutsideOfItsRangesIsInvalid) {
  const auto outliers = [](const std::function<void(wire::OutlierDetection&)>& set) {
    return with([&](auto& c) { set(*c.mutable_outlier_detection()); });
  };
  EXPECT_THAT(refusal(outliers([](auto& o) { o.mutable_interval()->set_seconds(-1); })),
              HasSubstr("outlier_detection.interval must not be negative"));
  EXPECT_THAT(refusal(outliers([](auto& o) { o.mutable_base_ejection_time()->set_nanos(-1); })),
              HasSubstr("base_ejection_time"));
  EXPECT_THAT(refusal(outliers([](auto& o) { o.mutable_max_ejection_time()->set_nanos(-1); })),
              HasSubstr("max_ejection_time"));
  EXPECT_THAT(refusal(outliers([](auto& o) { o.mutable_max_ejection_percent()->set_value(101); })),
              HasSubstr("max_ejection_percent must be at most 100"));
  EXPECT_THAT(refusal(outliers([](auto& o) { o.mutable_enforcing_success_rate()->set_value(101); })),
              HasSubstr("enforcing_success_rate"));
  EXPECT_THAT(refusal(outliers([](auto& o) { o.mutable_failure_percentage_threshold()->set_value(101); })),
              HasSubstr("failure_percentage_threshold"));
  EXPECT_THAT(refusal(outliers([](auto& o) { o.mutable_enforcing_failure_percentage()->set_value(101); })),
              HasSubstr("enforcing_failure_percentage"));
}

constexpr std::string_view tls_type = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext";

wire::Cluster with_tls(const wire::UpstreamTlsContext& t) {
  return with([&](auto& c) {
    c.mutable_transport_socket()->set_name("envoy.transport_sockets.tls");
    *c.mutable_transport_socket()->mutable_typed_config() = packed(tls_type, t);
  });
}
wire::UpstreamTlsContext known_authorities() {
  wire::UpstreamTlsContext t;
  t.mutable_common_tls_context()
      ->mutable_validation_context()
      ->mutable_ca_certificate_provider_instance()
      ->set_instance_name("known");
  return t;
}

TEST(XdsCluster, HasTlsOfTheProvidersInTheBootstrap) {
  wire::UpstreamTlsContext t = known_authorities();
  t.set_sni("name");
  t.set_auto_host_sni(true);
  t.set_auto_sni_san_validation(true);
  auto& common = *t.mutable_common_tls_context();
  common.mutable_validation_context()->add_match_subject_alt_names()->set_exact("san");
  common.mutable_tls_certificate_provider_instance()->set_instance_name("known");
  common.mutable_tls_certificate_provider_instance()->set_certificate_name("own");
  common.add_tls_certificate_sds_secret_configs();  // not read beside an instance
  const upstream_tls tls = *parsed(with_tls(t)).tls;
  EXPECT_EQ(tls.authorities, (provider_instance{"known", ""}));
  EXPECT_EQ(tls.certificate, (provider_instance{"known", "own"}));
  EXPECT_EQ(tls.subject_names, (std::vector<text_matcher>{{text_matcher::kind::exact, false, "san", {}}}));
  EXPECT_EQ(tls.server_name, "name");
  EXPECT_TRUE(tls.sends_hostname);
  EXPECT_TRUE(tls.checks_server_name);
}

TEST(XdsCluster, HasTheAuthoritiesOfTheSystemOrOfOlderFields) {
  wire::UpstreamTlsContext t;
  t.mutable_common_tls_context()->mutable_validation_context()->mutable_system_root_certs();
  EXPECT_EQ(parsed(with_tls(t)).tls->authorities, std::nullopt);
  t = known_authorities();
  t.mutable_common_tls_context()->mutable_validation_context()->mutable_system_root_certs();
  EXPECT_TRUE(parsed(with_tls(t)).tls->authorities);
  t.Clear();
  auto& common = *t.mutable_common_tls_context();
  common.mutable_validation_context_certificate_provider_instance()->set_instance_name("known");
  common.mutable_tls_certificate_certificate_provider_instance()->set_instance_name("known");
  EXPECT_TRUE(parsed(with_tls(t)).tls->authorities);
  EXPECT_TRUE(parsed(with_tls(t)).tls->certificate);
  auto& combined = *common.mutable_combined_validation_context();
  combined.mutable_validation_context_certificate_provider_instance()->set_instance_name("known");
  combined.mutable_default_validation_context()->add_match_subject_alt_names()->set_exact("san");
  EXPECT_TRUE(parsed(with_tls(t)).tls->authorities);
  EXPECT_EQ(parsed(with_tls(t)).tls->subject_names.size(), 1u);
}

TEST(XdsCluster, WithTlsThatIsNotSupportedIsInvalid) {
  const auto tls = [](const std::function<void(wire::UpstreamTlsContext&)>& set) {
    wire::UpstreamTlsContext t = known_authorities();
    set(t);
    return refusal(with_tls(t));
  };
  const auto common = [&](const std::function<void(wire::CommonTlsContext&)>& set) {
    return tls([&](auto& t) { set(*t.mutable_common_tls_context()); });
  };
  const auto validation = [&](const std::function<void(wire::ValidationContext&)>& set) {
    return common([&](auto& c) { set(*c.mutable_validation_context()); });
  };
  EXPECT_THAT(tls([](auto& t) { t.clear_common_tls_context(); }),
              HasSubstr("transport_socket.typed_config has no common_tls_context"));
  EXPECT_THAT(tls([](auto& t) { t.set_sni(std::string(256, 'a')); }),
              HasSubstr("sni must have at most 255 bytes"));
  EXPECT_THAT(common([](auto& c) { c.mutable_tls_params(); }), HasSubstr("tls_params is not supported"));
  EXPECT_THAT(common([](auto& c) { c.mutable_custom_handshaker(); }),
              HasSubstr("custom_handshaker is not supported"));
  EXPECT_THAT(common([](auto& c) { c.add_tls_certificates(); }),
              HasSubstr("while unsupported field tls_certificates"));
  EXPECT_THAT(common([](auto& c) { c.add_tls_certificate_sds_secret_configs(); }),
              HasSubstr("while unsupported field tls_certificates"));
  EXPECT_THAT(common([](auto& c) { c.mutable_validation_context_sds_secret_config(); }),
              HasSubstr("validation_context_sds_secret_config is not supported"));
  EXPECT_THAT(common([](auto& c) { c.clear_validation_context(); }),
              HasSubstr("names neither a certificate provider of authorities nor system_root_certs"));
  EXPECT_THAT(
      common([](auto& c) { c.mutable_tls_certificate_provider_instance()->set_instance_name("absent"); }),
      HasSubstr("tls_certificate_provider_instance names a certificate provider that the bootstrap does not "
                "have: \"absent\""));
  EXPECT_THAT(
      validation([](auto& v) { v.mutable_ca_certificate_provider_instance()->set_instance_name("absent"); }),
      HasSubstr("ca_certificate_provider_instance names a certificate provider"));
  EXPECT_THAT(validation([](auto& v) { v.add_verify_certificate_hash("h"); }),
              HasSubstr("verify_certificate_hash is not supported"));
  EXPECT_THAT(validation([](auto& v) { v.add_verify_certificate_spki("h"); }),
              HasSubstr("verify_certificate_spki is not supported"));
  EXPECT_THAT(validation([](auto& v) { v.mutable_require_signed_certificate_timestamp()->set_value(true); }),
              HasSubstr("require_signed_certificate_timestamp is not supported"));
  EXPECT_THAT(validation([](auto& v) { v.mutable_crl(); }), HasSubstr("crl is not supported"));
  EXPECT_THAT(validation([](auto& v) { v.mutable_custom_validator_config(); }),
              HasSubstr("custom_validator_config is not supported"));
  EXPECT_THAT(validation([](auto& v) { v.add_match_subject_alt_names()->set_prefix(""); }),
              HasSubstr("match_subject_alt_names[0] has an empty prefix"));
}

TEST(XdsCluster, WithAnotherTransportSocketIsInvalid) {
  EXPECT_THAT(refusal(with([](auto& c) { c.mutable_transport_socket()->set_name("raw"); })),
              HasSubstr("transport_socket has an unsupported name: raw"));
  EXPECT_THAT(
      refusal(with([](auto& c) { c.mutable_transport_socket()->set_name("envoy.transport_sockets.tls"); })),
      HasSubstr("transport_socket.typed_config is of an unexpected type"));
  EXPECT_THAT(refusal(with([](auto& c) { c.add_transport_socket_matches(); })),
              HasSubstr("transport_socket_matches must be empty"));
}

TEST(XdsCluster, MayBeReachedThroughAProxy) {
  wire::HttpProxyTransport p;
  wire::Cluster c = eds_cluster("c");
  const auto set = [&] {
    *c.mutable_transport_socket()->mutable_typed_config() =
        packed("envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport", p);
  };
  set();
  EXPECT_TRUE(parsed(c).through_proxy);
  EXPECT_EQ(parsed(c).tls, std::nullopt);
  *p.mutable_transport_socket() = with_tls(known_authorities()).transport_socket();
  set();
  EXPECT_TRUE(parsed(c).through_proxy);
  EXPECT_TRUE(parsed(c).tls);
  EXPECT_FALSE(parsed(eds_cluster("c")).through_proxy);
}

TEST(XdsCluster, HasLabelsAndStatusesForSessions) {
  wire::Cluster c = eds_cluster("c");
  EXPECT_EQ(parsed(c).override_statuses, (std::vector<health>{health::unknown, health::healthy}));
  auto& labels =
      *(*c.mutable_metadata()->mutable_filter_metadata())["com.google.csm.telemetry_labels"].mutable_fields();
  labels["service_name"].set_string_value("s");
  labels["number"].set_number_value(1);
  // gRFC A55: no session keeps a server that is unhealthy.
  for (const int s : {2, 3, 4, 5, 9})
    c.mutable_common_lb_config()->mutable_override_host_status()->add_statuses(s);
  EXPECT_EQ(parsed(c).telemetry_labels, (std::map<std::string, std::string>{{"service_name", "s"}}));
  EXPECT_EQ(parsed(c).override_statuses, std::vector<health>{health::draining});
}

// gRFC A75
TEST(XdsCluster, HasATimeForUnusedConnectionsOfSessions) {
  wire::Cluster c = eds_cluster("c");
  EXPECT_EQ(parsed(c).idle_timeout, 1h);
  wire::UpstreamHttpOptions options;
  const auto set = [&] {
    *c.mutable_upstream_config()->mutable_typed_config() =
        packed("envoy.extensions.upstreams.http.v3.HttpProtocolOptions", options);
  };
  set();
  EXPECT_EQ(parsed(c).idle_timeout, 1h);
  auto& time = *options.mutable_common_http_protocol_options();
  set();
  EXPECT_EQ(parsed(c).idle_timeout, 1h);
  time.mutable_idle_timeout()->set_seconds(7);
  set();
  EXPECT_EQ(parsed(c).idle_timeout, 7s);
  time.mutable_idle_timeout()->set_seconds(-1);
  set();
  EXPECT_THAT(refusal(c),
              HasSubstr("upstream_config.typed_config.common_http_protocol_options.idle_timeout"));
  *c.mutable_upstream_config()->mutable_typed_config() = packed("some.other.Options", options);
  EXPECT_THAT(refusal(c), HasSubstr("upstream_config.typed_config is of an unexpected type"));
}

}  // namespace
}  // namespace coracle::xds::cluster_test
