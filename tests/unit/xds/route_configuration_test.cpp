// Route configurations: what they become, and what is invalid (gRFC A28, A31, A42, A44, A63, A81).
#include "unit/xds/resource_builders.hpp"
#include "xds/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace coracle::xds::route_configuration_test {
namespace {

using namespace std::chrono_literals;
using namespace testing_resources;
using testing::HasSubstr;

route_configuration parsed(const wire::RouteConfiguration& r, bool trusted = false) {
  const auto c = parse_route_configuration(r.SerializeAsString(), {trusted, {}, {}});
  EXPECT_EQ(c.status(), status());
  return c ? **c : route_configuration();
}

std::string refusal(const wire::RouteConfiguration& r) {
  const auto c = parse_route_configuration(r.SerializeAsString(), {});
  EXPECT_FALSE(c.ok());
  return std::string(c.status().message());
}

// Those of routes_to() after a change of their only route, or of its action.
wire::RouteConfiguration with(const std::function<void(wire::Route&)>& change) {
  wire::RouteConfiguration r = routes_to("r", "c");
  change(*r.mutable_virtual_hosts(0)->mutable_routes(0));
  return r;
}
wire::RouteConfiguration with_action(const std::function<void(wire::RouteAction&)>& change) {
  return with([&](wire::Route& r) { change(*r.mutable_route()); });
}

const route& only_route(const route_configuration& c) { return c.virtual_hosts.at(0).routes.at(0); }

TEST(XdsRouteConfiguration, HasHostsWithDomainsOfFourKinds) {
  wire::RouteConfiguration r = routes_to("r", "c");
  auto& host = *r.mutable_virtual_hosts(0);
  for (const auto* const each : {"API.example", "*.example", "api.*"}) host.add_domains(each);
  using kind = domain_pattern::kind;
  EXPECT_EQ(parsed(r).virtual_hosts.at(0).domains, (std::vector<domain_pattern>{{kind::any, ""},
                                                                                {kind::exact, "api.example"},
                                                                                {kind::suffix, ".example"},
                                                                                {kind::prefix, "api."}}));
  EXPECT_EQ(parsed(r).name, "r");
}

TEST(XdsRouteConfiguration, WithADomainThatIsNoneIsInvalid) {
  for (const auto* const domain : {"", "a*b", "**", "*a*"}) {
    wire::RouteConfiguration r = routes_to("r", "c");
    r.mutable_virtual_hosts(0)->set_domains(0, domain);
    EXPECT_THAT(refusal(r), HasSubstr("RouteConfiguration \"r\": virtual_hosts[0].domains[0] ")) << domain;
  }
  wire::RouteConfiguration r = routes_to("r", "c");
  r.mutable_virtual_hosts(0)->clear_domains();
  EXPECT_THAT(refusal(r), HasSubstr("virtual_hosts[0] has no domains"));
}

TEST(XdsRouteConfiguration, WithADomainTwiceIsInvalidInWhicheverCase) {
  wire::RouteConfiguration r = routes_to("r", "c");
  r.mutable_virtual_hosts(0)->set_domains(0, "a.b");
  *r.add_virtual_hosts() = r.virtual_hosts(0);
  r.mutable_virtual_hosts(1)->set_domains(0, "A.b");
  EXPECT_THAT(refusal(r), HasSubstr("virtual_hosts[1].domains[0] occurs twice: A.b"));
}

TEST(XdsRouteConfiguration, WithoutAMatchOrAPathIsInvalid) {
  EXPECT_THAT(refusal(with([](wire::Route& r) { r.clear_match(); })),
              HasSubstr("virtual_hosts[0].routes[0] has no match"));
  EXPECT_THAT(refusal(with([](wire::Route& r) { r.mutable_match()->mutable_connect_matcher(); })),
              HasSubstr("routes[0].match has an unrecognized path specifier"));
  EXPECT_THAT(refusal(with([](wire::Route& r) { r.mutable_match()->set_path_separated_prefix("/a"); })),
              HasSubstr("unrecognized path specifier"));
}

TEST(XdsRouteConfiguration, SkipsRoutesWithQueryParametersAndSpecifiersThatAreNotKnown) {
  EXPECT_TRUE(parsed(with([](wire::Route& r) {
                r.mutable_match()->clear_prefix();  // would be invalid
                r.mutable_match()->add_query_parameters();
              }))
                  .virtual_hosts.at(0)
                  .routes.empty());
  EXPECT_TRUE(parsed(with_action([](wire::RouteAction& a) { a.set_cluster_header("h"); }))
                  .virtual_hosts.at(0)
                  .routes.empty());
  EXPECT_TRUE(parsed(with_action([](wire::RouteAction& a) { a.clear_cluster(); }))
                  .virtual_hosts.at(0)
                  .routes.empty());
}

TEST(XdsRouteConfiguration, KeepsRoutesWithOtherActions) {
  EXPECT_EQ(only_route(parsed(with([](wire::Route& r) { r.mutable_redirect(); }))).kind,
            route::action_kind::unsupported);
  EXPECT_EQ(only_route(parsed(with([](wire::Route& r) { r.clear_route(); }))).kind,
            route::action_kind::unsupported);
  EXPECT_EQ(only_route(parsed(with([](wire::Route& r) { r.mutable_non_forwarding_action(); }))).kind,
            route::action_kind::non_forwarding);
  EXPECT_EQ(only_route(parsed(routes_to("r", "c"))).kind, route::action_kind::forward);
}

TEST(XdsRouteConfiguration, RefusesPluginsThatAreNotOptional) {
  wire::RouteConfiguration r = with_action([](wire::RouteAction& a) { a.set_cluster_specifier_plugin("p"); });
  EXPECT_THAT(refusal(r), HasSubstr("route.cluster_specifier_plugin is not declared: p"));
  auto& plugin = *r.add_cluster_specifier_plugins();
  plugin.mutable_extension()->set_name("p");
  EXPECT_THAT(
      refusal(r),
      HasSubstr("cluster_specifier_plugins[0] is of the type , which is not supported and not optional"));
  plugin.set_is_optional(true);
  EXPECT_TRUE(parsed(r).virtual_hosts.at(0).routes.empty());
}

TEST(XdsRouteConfiguration, BoundsRegularExpressions) {
  const auto regex = [](const std::string& pattern) {
    return with([&](wire::Route& r) { r.mutable_match()->mutable_safe_regex()->set_regex(pattern); });
  };
  EXPECT_EQ(only_route(parsed(regex("/a.*"))).match.path.expression->pattern(), "/a.*");
  EXPECT_THAT(refusal(regex("(")), HasSubstr("match.safe_regex is not a regular expression of RE2"));
  EXPECT_THAT(refusal(regex("a(?=b)")), HasSubstr("is not a regular expression"));
  EXPECT_THAT(refusal(regex(std::string(limits::regex_bytes_max + 1, 'a'))), HasSubstr("within 4096 bytes"));
  EXPECT_THAT(refusal(regex("((a{100}){100}){100}")),
              HasSubstr("is not a regular expression"));  // too large an automaton
  wire::RouteConfiguration many = routes_to("r", "c");
  for (std::size_t i = 0; i <= limits::regexes_per_resource_max; ++i) {
    auto* const header = many.mutable_virtual_hosts(0)->mutable_routes(0)->mutable_match()->add_headers();
    header->set_name("h");
    header->mutable_safe_regex_match()->set_regex("a");
  }
  EXPECT_THAT(refusal(many), HasSubstr("exceeds 1024 regular expressions"));
}

TEST(XdsRouteConfiguration, HasMatchersOfHeaders) {
  const auto header = [](const std::function<void(wire::HeaderMatcher&)>& set) {
    return with([&](wire::Route& r) {
      auto& h = *r.mutable_match()->add_headers();
      h.set_name("Name");
      set(h);
    });
  };
  using kind = text_matcher::kind;
  const auto of = [&](const std::function<void(wire::HeaderMatcher&)>& set) {
    return only_route(parsed(header(set))).match.headers.at(0);
  };
  const auto text = [](kind how, const char* t, bool ignore = false) {
    return text_matcher{how, ignore, t, {}};
  };
  EXPECT_EQ(of([](auto& h) { h.set_exact_match("V"); }),
            (header_matcher{"name", text(kind::exact, "V"), false}));
  EXPECT_EQ(of([](auto& h) { h.set_prefix_match("V"); }).condition,
            header_matcher({}, text(kind::prefix, "V")).condition);
  EXPECT_EQ(of([](auto& h) { h.set_suffix_match("V"); }).condition,
            header_matcher({}, text(kind::suffix, "V")).condition);
  EXPECT_EQ(of([](auto& h) { h.set_contains_match("V"); }).condition,
            header_matcher({}, text(kind::contains, "V")).condition);
  EXPECT_EQ(
      std::get<header_matcher::range>(of([](auto& h) { h.mutable_range_match()->set_end(5); }).condition),
      (header_matcher::range{0, 5}));
  EXPECT_FALSE(
      std::get<header_matcher::presence>(of([](auto& h) { h.set_present_match(false); }).condition).expected);
  EXPECT_TRUE(of([](auto& h) { h.set_present_match(true), h.set_invert_match(true); }).invert);
  EXPECT_EQ(of([](auto& h) {
              h.mutable_string_match()->set_suffix("AbC");
              h.mutable_string_match()->set_ignore_case(true);
            }).condition,
            header_matcher({}, text(kind::suffix, "abc", true)).condition);

  EXPECT_THAT(refusal(header([](auto&) {})),
              HasSubstr("match.headers[0] has an unrecognized header matcher"));
  EXPECT_THAT(refusal(header([](auto& h) { h.clear_name(), h.set_exact_match("v"); })),
              HasSubstr("headers[0] has no name"));
  EXPECT_THAT(refusal(header([](auto& h) { h.mutable_range_match()->set_start(1); })),
              HasSubstr("range_match ends before it starts"));
  EXPECT_THAT(refusal(header([](auto& h) { h.mutable_string_match()->mutable_custom(); })),
              HasSubstr("string_match has no string matcher that is supported"));
  for (const auto& set : std::initializer_list<std::function<void(wire::StringMatcher&)>>{
           [](auto& s) { s.set_prefix(""); }, [](auto& s) { s.set_suffix(""); },
           [](auto& s) { s.set_contains(""); }})
    EXPECT_THAT(refusal(header([&](auto& h) { set(*h.mutable_string_match()); })),
                HasSubstr("has an empty prefix, suffix or contains"));
}

TEST(XdsRouteConfiguration, HasFractionsInMillionths) {
  const auto fraction = [](std::uint32_t numerator, int denominator) {
    return with([&](wire::Route& r) {
      auto& p = *r.mutable_match()->mutable_runtime_fraction()->mutable_default_value();
      p.set_numerator(numerator);
      p.set_denominator(denominator);
    });
  };
  EXPECT_EQ(only_route(parsed(fraction(1, 0))).match.millionths, 10'000u);
  EXPECT_EQ(only_route(parsed(fraction(1, 1))).match.millionths, 100u);
  EXPECT_EQ(only_route(parsed(fraction(1, 2))).match.millionths, 1u);
  EXPECT_THAT(refusal(fraction(1, 3)),
              HasSubstr("runtime_fraction.default_value has an unknown denominator: 3"));
  EXPECT_EQ(only_route(parsed(routes_to("r", "c"))).match.millionths, std::nullopt);
}

TEST(XdsRouteConfiguration, HasWeightedClustersWithoutThoseOfNoWeight) {
  const auto weights = [](const std::vector<std::uint32_t>& all) {
    return with_action([&](wire::RouteAction& a) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        auto& c = *a.mutable_weighted_clusters()->add_clusters();
        c.set_name("c" + std::to_string(i));
        c.mutable_weight()->set_value(all[i]);
      }
      a.mutable_weighted_clusters();
    });
  };
  EXPECT_EQ(only_route(parsed(weights({1, 0, 3}))).action.clusters,
            (std::vector<weighted_cluster>{{"c0", 1}, {"c2", 3}}));
  EXPECT_EQ(only_route(parsed(weights({4294967294, 1}))).action.clusters.size(), 2u);
  EXPECT_THAT(refusal(weights({4294967295, 1})),
              HasSubstr("weighted_clusters has weights whose sum exceeds 4294967295"));
  EXPECT_THAT(refusal(weights({0})), HasSubstr("weighted_clusters has no cluster with a weight above 0"));
  EXPECT_THAT(refusal(weights({})), HasSubstr("weighted_clusters has no cluster with a weight above 0"));
}

TEST(XdsRouteConfiguration, PrefersTheMaximumOfTheHeaderForTheTimeout) {
  const auto timeout = [](std::optional<int> stream, std::optional<int> header) {
    return only_route(parsed(with_action([&](wire::RouteAction& a) {
             auto& d = *a.mutable_max_stream_duration();
             if (stream) d.mutable_max_stream_duration()->set_seconds(*stream);
             if (header) d.mutable_grpc_timeout_header_max()->set_seconds(*header);
           })))
        .action.timeout_max;
  };
  EXPECT_EQ(timeout(1, 2), 2s);
  EXPECT_EQ(timeout(1, {}), 1s);
  EXPECT_EQ(timeout(1, 0), 0s);
  EXPECT_EQ(timeout({}, {}), std::nullopt);
}

TEST(XdsRouteConfiguration, HasRetriesOfTheRouteElseOfTheHost) {
  wire::RouteConfiguration r = routes_to("r", "c");
  r.mutable_virtual_hosts(0)->mutable_retry_policy()->set_retry_on("unavailable, 5xx,cancelled,unavailable");
  EXPECT_EQ(only_route(parsed(r)).action.retry,
            (route_retry{{status_code::unavailable, status_code::cancelled}, 2, 25ms, 250ms}));
  auto& own = *r.mutable_virtual_hosts(0)->mutable_routes(0)->mutable_route()->mutable_retry_policy();
  own.set_retry_on("internal,deadline-exceeded,resource-exhausted");
  own.mutable_num_retries()->set_value(4294967295);
  own.mutable_retry_back_off()->mutable_base_interval()->set_nanos(1);
  EXPECT_EQ(
      only_route(parsed(r)).action.retry,
      (route_retry{{status_code::internal, status_code::deadline_exceeded, status_code::resource_exhausted},
                   4294967296,
                   1ms,
                   1ms}));
  own.mutable_retry_back_off()->mutable_base_interval()->set_nanos(2'000'000);
  EXPECT_EQ(only_route(parsed(r)).action.retry->backoff_max, 20ms);
  own.mutable_retry_back_off()->mutable_max_interval()->set_seconds(1);
  EXPECT_EQ(only_route(parsed(r)).action.retry->backoff_max, 1s);
  own.set_retry_on("gateway-error");  // which gRPC does not have: no retries at all
  EXPECT_EQ(only_route(parsed(r)).action.retry, std::nullopt);
}

TEST(XdsRouteConfiguration, WithARetryPolicyThatIsNoneIsInvalid) {
  const auto retry = [](const std::function<void(wire::RetryPolicy&)>& set) {
    return with_action([&](wire::RouteAction& a) { set(*a.mutable_retry_policy()); });
  };
  EXPECT_THAT(refusal(retry([](auto& p) { p.mutable_num_retries(); })),
              HasSubstr("route.retry_policy.num_retries must be at least 1"));
  EXPECT_THAT(refusal(retry([](auto& p) { p.mutable_retry_back_off(); })),
              HasSubstr("retry_back_off has no base_interval"));
  EXPECT_THAT(refusal(retry([](auto& p) { p.mutable_retry_back_off()->mutable_base_interval(); })),
              HasSubstr("retry_back_off.base_interval must be more than 0"));
  EXPECT_THAT(refusal(retry([](auto& p) {
                p.mutable_retry_back_off()->mutable_base_interval()->set_seconds(2);
                p.mutable_retry_back_off()->mutable_max_interval();
              })),
              HasSubstr("max_interval must be more than 0"));
  EXPECT_THAT(refusal(retry([](auto& p) {
                p.mutable_retry_back_off()->mutable_base_interval()->set_seconds(2);
                p.mutable_retry_back_off()->mutable_max_interval()->set_seconds(1);
              })),
              HasSubstr("max_interval must not be less than base_interval"));
}

TEST(XdsRouteConfiguration, HasHashPoliciesThatGrpcKnows) {
  const route_configuration c = parsed(with_action([](wire::RouteAction& a) {
    auto* h = a.add_hash_policy();
    h->mutable_header()->set_header_name("Key");
    h->mutable_header()->mutable_regex_rewrite()->mutable_pattern()->set_regex("x");
    h->mutable_header()->mutable_regex_rewrite()->set_substitution("y");
    h->set_terminal(true);
    a.add_hash_policy()->mutable_header()->set_header_name("key-bin");
    a.add_hash_policy();
    a.add_hash_policy()->mutable_filter_state()->set_key("other");
    a.add_hash_policy()->mutable_filter_state()->set_key("io.grpc.channel_id");
  }));
  const auto& policies = only_route(c).action.hash_policies;
  ASSERT_EQ(policies.size(), 2u);
  EXPECT_EQ(std::get<hash_policy::header>(policies[0].of).name, "key");
  EXPECT_EQ(std::get<hash_policy::header>(policies[0].of).substitution, "y");
  EXPECT_TRUE(policies[0].terminal);
  EXPECT_TRUE(std::holds_alternative<hash_policy::channel_id>(policies[1].of));
  EXPECT_FALSE(policies[1].terminal);
  EXPECT_THAT(
      refusal(with_action([](wire::RouteAction& a) {
        a.add_hash_policy()->mutable_header()->mutable_regex_rewrite()->mutable_pattern()->set_regex("[");
      })),
      HasSubstr("hash_policy[0].header.regex_rewrite.pattern is not a regular expression"));
}

TEST(XdsRouteConfiguration, HashesWhatARewriteMakesOfAHeader) {
  const auto rewriting = [](const std::string& pattern, const std::string& substitution) {
    return with_action([&](wire::RouteAction& a) {
      auto* const h = a.add_hash_policy()->mutable_header();
      h->set_header_name("k");
      h->mutable_regex_rewrite()->mutable_pattern()->set_regex(pattern);
      h->mutable_regex_rewrite()->set_substitution(substitution);
    });
  };
  const auto rewritten = [&](const std::string& pattern, const std::string& substitution) {
    const route_configuration c = parsed(rewriting(pattern, substitution));
    return std::get<hash_policy::header>(only_route(c).action.hash_policies.at(0).of)
        .rewritten("user-12-x-34");
  };
  EXPECT_EQ(rewritten("^([a-z]+)-([0-9]+).*$", "\\2/\\1"), "12/user");
  EXPECT_EQ(rewritten("[0-9]+", "<\\0>"), "user-<12>-x-<34>");
  EXPECT_EQ(rewritten("none", "x"), "user-12-x-34");
  EXPECT_EQ(hash_policy::header().rewritten("as it is"), "as it is");
  constexpr const char* field = "hash_policy[0].header.regex_rewrite.substitution ";
  EXPECT_THAT(refusal(rewriting("(a)", "\\2")),
              HasSubstr(std::string(field) + "is not valid for its pattern"));
  EXPECT_THAT(refusal(rewriting("(a)", "\\x")), HasSubstr(field));
  EXPECT_THAT(refusal(rewriting("a", std::string(257, 'x'))),
              HasSubstr(std::string(field) + "must have at most 256"));
}

TEST(XdsRouteConfiguration, RewritesTheAuthorityIfTheServerIsTrusted) {
  const auto r = with_action([](wire::RouteAction& a) { a.mutable_auto_host_rewrite()->set_value(true); });
  EXPECT_FALSE(only_route(parsed(r)).action.rewrites_authority);
  EXPECT_TRUE(only_route(parsed(r, true)).action.rewrites_authority);
  EXPECT_FALSE(only_route(parsed(routes_to("r", "c"), true)).action.rewrites_authority);
}

TEST(XdsRouteConfiguration, RefusesOverridesOfFiltersUnlessTheyAreOptional) {
  const auto overrides = [](const google::protobuf::Any& any) {
    return with([&](wire::Route& r) { (*r.mutable_typed_per_filter_config())["f"] = any; });
  };
  wire::FilterConfig inner;
  *inner.mutable_config() = packed("odd.Filter", wire::Router());
  constexpr std::string_view outer = "envoy.config.route.v3.FilterConfig";
  EXPECT_THAT(refusal(overrides(packed("odd.Filter", wire::Router()))),
              HasSubstr("routes[0].typed_per_filter_config[\"f\"] has the filter odd.Filter, which is not "
                        "supported and not optional"));
  EXPECT_THAT(refusal(overrides(packed(outer, inner))), HasSubstr("odd.Filter"));
  inner.set_is_optional(true);
  EXPECT_EQ(parsed(overrides(packed(outer, inner))).virtual_hosts.at(0).routes.size(), 1u);
  EXPECT_THAT(refusal(overrides(packed(router_type, wire::Router()))), HasSubstr("overrides the router"));
  wire::RouteConfiguration of_host = routes_to("r", "c");
  (*of_host.mutable_virtual_hosts(0)->mutable_typed_per_filter_config())["g"] =
      packed("odd.Filter", wire::Router());
  EXPECT_THAT(refusal(of_host), HasSubstr("virtual_hosts[0].typed_per_filter_config[\"g\"]"));
  EXPECT_THAT(refusal(with_action([](wire::RouteAction& a) {
                auto& c = *a.mutable_weighted_clusters()->add_clusters();
                c.set_name("c");
                c.mutable_weight()->set_value(1);
                (*c.mutable_typed_per_filter_config())["f"] = packed("odd.Filter", wire::Router());
              })),
              HasSubstr("weighted_clusters.clusters[0].typed_per_filter_config[\"f\"]"));
}

}  // namespace
}  // namespace coracle::xds::route_configuration_test
