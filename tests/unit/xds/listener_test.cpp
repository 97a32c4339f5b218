// Listeners and their HTTP filters: what they become, and what is invalid (gRFC A27, A31, A39).
#include "unit/xds/resource_builders.hpp"
#include "xds/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coracle::xds::listener_test {
namespace {

using namespace std::chrono_literals;
using namespace testing_resources;
using testing::HasSubstr;

listener parsed(const wire::HttpConnectionManager& m) {
  const auto l = parse_listener(listener_with("l", m).SerializeAsString(), {});
  EXPECT_EQ(l.status(), status());
  return l ? **l : listener();
}

std::string refusal(const wire::Listener& l) {
  const auto parsed = parse_listener(l.SerializeAsString(), {});
  EXPECT_FALSE(parsed.ok());
  return std::string(parsed.status().message());
}
std::string refusal(const wire::HttpConnectionManager& m) { return refusal(listener_with("l", m)); }

wire::HttpFilter* add_filter(wire::HttpConnectionManager& to, const std::string& name,
                             std::string_view type) {
  auto* const f = to.add_http_filters();
  f->set_name(name);
  *f->mutable_typed_config() = packed(type, wire::Router());
  return f;
}

TEST(XdsListener, NamesItsRoutesAndTheTimeoutOfCalls) {
  wire::HttpConnectionManager m = manager_of_rds("r");
  m.mutable_common_http_protocol_options()->mutable_max_stream_duration()->set_seconds(3);
  const listener l = parsed(m);
  EXPECT_EQ(l.name, "l");
  EXPECT_EQ(std::get<std::string>(l.routes), "r");
  EXPECT_EQ(l.timeout_max, 3s);
  EXPECT_TRUE(l.filters.empty());
  EXPECT_EQ(parsed(manager_of_rds("r")).timeout_max, std::nullopt);
}

TEST(XdsListener, MayContainItsRoutes) {
  wire::HttpConnectionManager m = manager_of_rds("");
  *m.mutable_route_config() = routes_to("inline", "c");
  EXPECT_EQ(std::get<route_configuration>(parsed(m).routes)
                .virtual_hosts.at(0)
                .routes.at(0)
                .action.clusters.at(0)
                .name,
            "c");
  m.mutable_route_config()->mutable_virtual_hosts(0)->mutable_routes(0)->mutable_match()->clear_prefix();
  EXPECT_EQ(refusal(m),
            "Listener \"l\": api_listener.api_listener.route_config.virtual_hosts[0].routes[0].match has an "
            "unrecognized path specifier");
}

TEST(XdsListener, MayHaveRoutesFromItself) {
  wire::HttpConnectionManager m = manager_of_rds("r");
  m.mutable_rds()->mutable_config_source()->mutable_self();
  EXPECT_EQ(std::get<std::string>(parsed(m).routes), "r");
}

TEST(XdsListener, WithoutANameOrAnApiListenerIsInvalid) {
  wire::Listener l;
  EXPECT_EQ(refusal(l), "Listener: has no name");
  l.set_name("l");
  EXPECT_THAT(refusal(l), HasSubstr("has no api_listener"));
  *l.mutable_api_listener()->mutable_api_listener() = packed("odd.Type", wire::Router());
  EXPECT_THAT(refusal(l), HasSubstr("unexpected http connection manager resource type: odd.Type"));
  l.mutable_api_listener()->mutable_api_listener()->set_type_url("x/" + std::string(manager_type));
  l.mutable_api_listener()->mutable_api_listener()->set_value("\xff");
  EXPECT_THAT(refusal(l), HasSubstr("api_listener.api_listener is not a valid"));
}

TEST(XdsListener, WithoutUsableRoutesIsInvalid) {
  wire::HttpConnectionManager m = manager_of_rds("r");
  m.mutable_rds()->clear_config_source();
  EXPECT_THAT(refusal(m), HasSubstr("rds.config_source must be ads or self"));
  EXPECT_THAT(refusal(manager_of_rds("")), HasSubstr("rds.route_config_name must not be empty"));
  m.clear_rds();
  EXPECT_THAT(refusal(m), HasSubstr("has neither rds nor route_config"));
  m.mutable_scoped_routes();
  EXPECT_THAT(refusal(m), HasSubstr("has neither rds nor route_config"));
}

TEST(XdsListener, ThatDependsOnFurtherHopsIsInvalid) {
  wire::HttpConnectionManager m = manager_of_rds("r");
  m.set_xff_num_trusted_hops(1);
  EXPECT_THAT(refusal(m), HasSubstr("xff_num_trusted_hops must be 0"));
  m = manager_of_rds("r");
  m.add_original_ip_detection_extensions();
  EXPECT_THAT(refusal(m), HasSubstr("original_ip_detection_extensions must be empty"));
}

TEST(XdsListener, WithADurationThatIsNoneIsInvalid) {
  wire::HttpConnectionManager m = manager_of_rds("r");
  auto& d = *m.mutable_common_http_protocol_options()->mutable_max_stream_duration();
  d.set_seconds(-1);
  EXPECT_THAT(refusal(m), HasSubstr("max_stream_duration must not be negative"));
  d.set_seconds(1);
  d.set_nanos(1'000'000'000);
  EXPECT_THAT(refusal(m), HasSubstr("max_stream_duration is not a valid duration"));
  d.set_nanos(0);
  d.set_seconds(315'576'000'000);
  EXPECT_EQ(parsed(m).timeout_max, duration::max());
}

TEST(XdsListener, IgnoresFiltersThatAreOptionalAndNotKnown) {
  wire::HttpConnectionManager m = manager_of_rds("r");
  m.clear_http_filters();
  add_filter(m, "odd", "odd.Filter")->set_is_optional(true);
  add_filter(m, "router", router_type);
  EXPECT_TRUE(parsed(m).filters.empty());
  m.mutable_http_filters(0)->set_is_optional(false);
  EXPECT_THAT(
      refusal(m),
      HasSubstr("http_filters[0] has the filter odd.Filter, which is not supported and not optional"));
  // Those that gRPC has and this library refuses (gRFC A83, A103).
  for (const std::string type : {"envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig",
                                 "envoy.extensions.common.matching.v3.ExtensionWithMatcher"}) {
    m.clear_http_filters();
    add_filter(m, "refused", type);
    add_filter(m, "router", router_type);
    EXPECT_THAT(refusal(m), HasSubstr("has the filter " + type + ", which is not supported"));
  }
}

TEST(XdsListener, RequiresTheRouterAtTheEndOfItsFilters) {
  wire::HttpConnectionManager m = manager_of_rds("r");
  add_filter(m, "second", router_type);
  EXPECT_THAT(refusal(m), HasSubstr("http_filters[1] follows the terminal filter router"));
  m.clear_http_filters();
  EXPECT_THAT(refusal(m), HasSubstr("http_filters is empty"));
  add_filter(m, "odd", "odd.Filter")->set_is_optional(true);
  EXPECT_THAT(refusal(m), HasSubstr("http_filters is empty"));
}

TEST(XdsListener, RequiresNamesOfFiltersThatDiffer) {
  wire::HttpConnectionManager m = manager_of_rds("r");
  m.mutable_http_filters(0)->set_name("");
  EXPECT_THAT(refusal(m), HasSubstr("http_filters[0] has no name"));
  m = manager_of_rds("r");
  add_filter(m, "router", "odd.Filter")->set_is_optional(true);
  EXPECT_THAT(refusal(m), HasSubstr("http_filters[1] has the name of another filter: router"));
  m = manager_of_rds("r");
  m.mutable_http_filters(0)->clear_typed_config();
  EXPECT_THAT(refusal(m), HasSubstr("http_filters[0] has no typed_config"));
}

TEST(XdsListener, MayNameAFilterByATypedStruct) {
  for (const std::string_view type : {"xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct"}) {
    wire::HttpConnectionManager m = manager_of_rds("r");
    wire::TypedStruct inner;
    inner.set_type_url("type.googleapis.com/" + std::string(router_type));
    *m.mutable_http_filters(0)->mutable_typed_config() = packed(type, inner);
    EXPECT_TRUE(parsed(m).filters.empty());
  }
}

TEST(XdsListener, ThatIsTooLargeIsInvalid) {
  wire::Listener l = listener_with("l", manager_of_rds("r"));
  std::string bytes = l.SerializeAsString();
  bytes.resize(limits::resource_bytes_max + 1);
  EXPECT_THAT(std::string(parse_listener(bytes, {}).status().message()),
              HasSubstr("has 16777217 bytes, limit 16777216"));
}

}  // namespace
}  // namespace coracle::xds::listener_test
