// Responses of a control plane: each resource is validated by itself (gRFC A46, A47, A88).
#include "unit/xds/resource_builders.hpp"
#include "xds/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coracle::xds::response_test {
namespace {

using namespace testing_resources;
using testing::HasSubstr;

wire::DiscoveryResponse response_of(resource_kind kind) {
  wire::DiscoveryResponse r;
  r.set_version_info("v");
  r.set_nonce("n");
  r.set_type_url(type_url(kind));
  return r;
}

wire::DiscoveryResponse with(const std::vector<wire::Cluster>& clusters) {
  wire::DiscoveryResponse r = response_of(resource_kind::cluster);
  for (const wire::Cluster& c : clusters) *r.add_resources() = packed(type_name(resource_kind::cluster), c);
  return r;
}

std::string reason(const received_resource& r) { return std::string(r.content.status().message()); }

TEST(XdsResponse, OfAVersionThatIsTooLongIsRefusedAsAWhole) {
  wire::DiscoveryResponse r = with({eds_cluster("good")});
  r.set_version_info(std::string(limits::version_bytes_max, 'v'));
  const std::string longest = r.SerializeAsString();
  EXPECT_EQ(read_response(std::string_view(longest), {}).status(), status());
  r.set_version_info(std::string(limits::version_bytes_max + 1, 'v'));
  const std::string too_long = r.SerializeAsString();
  EXPECT_EQ(read_response(std::string_view(too_long), {}).status().code(), status_code::resource_exhausted);
}

TEST(XdsResponse, HasAValidResourceBesideAnInvalidOne) {
  wire::Cluster bad = eds_cluster("bad");
  bad.set_type(0);
  const received_response r = read_response(with({bad, eds_cluster("good")}), {});
  EXPECT_EQ(r.kind, resource_kind::cluster);
  EXPECT_EQ(r.version, "v");
  EXPECT_EQ(r.nonce, "n");
  ASSERT_EQ(r.resources.size(), 2u);
  EXPECT_EQ(r.resources[0].name, "bad");
  EXPECT_THAT(reason(r.resources[0]), HasSubstr("unsupported cluster type"));
  EXPECT_EQ(r.resources[1].name, "good");
  EXPECT_EQ(std::get<std::shared_ptr<const cluster>>(r.resources[1].content.value())->name, "good");
  EXPECT_EQ(r.resources[1].bytes, eds_cluster("good").SerializeAsString());
}

TEST(XdsResponse, HasNoKindIfItsTypeIsNotKnown) {
  wire::DiscoveryResponse r = with({eds_cluster("c")});
  r.set_type_url("type.googleapis.com/envoy.odd.Type");
  EXPECT_EQ(read_response(r, {}).kind, std::nullopt);
  EXPECT_TRUE(read_response(r, {}).resources.empty());
}

TEST(XdsResponse, HasResourcesOfEachKind) {
  wire::DiscoveryResponse r = response_of(resource_kind::listener);
  *r.add_resources() = packed(type_name(resource_kind::listener), listener_with("l", manager_of_rds("r")));
  EXPECT_TRUE(std::holds_alternative<std::shared_ptr<const listener>>(
      read_response(r, {}).resources[0].content.value()));
  r = response_of(resource_kind::route_configuration);
  *r.add_resources() = packed(type_name(resource_kind::route_configuration), routes_to("r", "c"));
  EXPECT_TRUE(std::holds_alternative<std::shared_ptr<const route_configuration>>(
      read_response(r, {}).resources[0].content.value()));
  r = response_of(resource_kind::endpoints);
  wire::ClusterLoadAssignment a;
  a.set_cluster_name("s");
  *r.add_resources() = packed(type_name(resource_kind::endpoints), a);
  EXPECT_TRUE(std::holds_alternative<std::shared_ptr<const cluster_endpoints>>(
      read_response(r, {}).resources[0].content.value()));
}

TEST(XdsResponse, UnwrapsAResourceAndAttributesErrorsToTheNameOfTheWrapper) {
  wire::DiscoveryResponse r = response_of(resource_kind::cluster);
  wire::WrappedResource w;
  w.set_name("of the wrapper");
  *w.mutable_resource() = packed(type_name(resource_kind::cluster), eds_cluster("c"));
  const auto add = [&] { *r.add_resources() = packed("envoy.service.discovery.v3.Resource", w); };
  add();
  w.mutable_resource()->set_value("\xff");
  add();
  w.mutable_resource()->set_type_url("odd.Type");
  w.set_name("another");
  add();
  r.add_resources()->set_type_url("odd.Type");
  r.add_resources()->set_type_url("x/envoy.service.discovery.v3.Resource");
  r.mutable_resources(4)->set_value("\xff");
  const auto all = read_response(r, {}).resources;
  EXPECT_EQ(all[0].name, "c");
  EXPECT_TRUE(all[0].content.ok());
  EXPECT_EQ(all[1].name, "of the wrapper");
  EXPECT_THAT(reason(all[1]), HasSubstr("is malformed protobuf"));
  EXPECT_EQ(all[2].name, "another");
  EXPECT_THAT(reason(all[2]), HasSubstr("unexpected resource type: odd.Type"));
  EXPECT_EQ(all[3].name, "");
  EXPECT_FALSE(all[3].content.ok());
  EXPECT_EQ(all[4].name, "");
  EXPECT_FALSE(all[4].content.ok());
}

TEST(XdsResponse, RefusesTheSecondOfTwoResourcesWithOneName) {
  const auto all = read_response(with({eds_cluster("c", "1"), eds_cluster("c", "2")}), {}).resources;
  EXPECT_TRUE(all[0].content.ok());
  EXPECT_EQ(all[0].name, "c");
  EXPECT_THAT(reason(all[1]), HasSubstr("Cluster \"c\": occurs twice in a response"));
  EXPECT_EQ(all[1].name, "");
}

TEST(XdsResponse, HasCanonicalNamesAndRefusesThoseOfAnotherType) {
  const std::string prefix = "xdstp://a/envoy.config.cluster.v3.Cluster/";
  auto all = read_response(with({eds_cluster(prefix + "x?b=1&a=2", "s")}), {}).resources;
  EXPECT_EQ(all.at(0).name, prefix + "x?a=2&b=1");
  all =
      read_response(with({eds_cluster("xdstp://a/envoy.config.listener.v3.Listener/x", "s")}), {}).resources;
  EXPECT_EQ(all.at(0).name, "");
  EXPECT_THAT(reason(all.at(0)), HasSubstr("has a name that is not valid for its type"));
}

TEST(XdsResponse, HasErrorsOfResources) {
  wire::DiscoveryResponse r = response_of(resource_kind::cluster);
  const auto add = [&](const char* name, int code) {
    auto& e = *r.add_resource_errors();
    e.mutable_resource_name()->set_name(name);
    e.mutable_error_detail()->set_code(code);
    e.mutable_error_detail()->set_message("why\n");
  };
  add("a", 5);
  add("b", 99);
  add("c", 0);
  add("xdstp:odd", 5);
  const auto errors = read_response(r, {}).errors;
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].name, "a");
  EXPECT_EQ(errors[0].reason, status::not_found("why?"));
  EXPECT_EQ(errors[1].reason.code(), status_code::unknown);
}

TEST(XdsResponse, NamesItsTypes) {
  for (const resource_kind each : resource_kinds) {
    EXPECT_EQ(kind_of_url(type_url(each)), each);
    EXPECT_EQ(kind_of_url("other.host/" + std::string(type_name(each))), each);
  }
  EXPECT_EQ(kind_of_url("envoy.config.cluster.v3.Odd"), std::nullopt);
}

TEST(XdsResponse, CountsResourcesAndErrorsBeforeItIsParsed) {
  const wire::DiscoveryResponse head = response_of(resource_kind::cluster);
  for (const std::string_view empty : {std::string_view("\x12\0", 2), std::string_view("\x3a\0", 2)}) {
    std::string bytes = head.SerializeAsString();
    for (std::size_t i = 0; i < limits::resources_per_response_max; ++i) bytes += empty;
    auto r = read_response(std::string_view(bytes), {});
    ASSERT_EQ(r.status(), status());
    EXPECT_THAT(r->resources.size(), testing::AnyOf(0u, limits::resources_per_response_max));
    bytes += empty;
    r = read_response(std::string_view(bytes), {});
    ASSERT_EQ(r.status(), status());
    EXPECT_EQ(r->kind, resource_kind::cluster);
    EXPECT_EQ(r->version, "v");
    EXPECT_EQ(r->nonce, "n");
    ASSERT_EQ(r->resources.size(), 1u);
    EXPECT_EQ(r->resources[0].name, "");
    EXPECT_THAT(reason(r->resources[0]), HasSubstr("limit 20000"));
  }
  EXPECT_EQ(read_response(std::string_view("\xff"), {}).status().code(), status_code::internal);
}

TEST(XdsResponse, CountsElementsOfAResourceBeforeItIsParsed) {
  // Appended to a field that a resource has already, they would be merged.
  const auto times = [](std::string_view element) {
    std::string all;
    for (std::size_t i = 0; i <= limits::elements_per_resource_max; ++i) all += element;
    return all;
  };
  const auto refusal_of = [](resource_kind kind, const std::string& bytes) {
    wire::DiscoveryResponse r = response_of(kind);
    auto& any = *r.add_resources();
    any.set_type_url(type_url(kind));
    any.set_value(bytes);
    const auto read = read_response(std::move(r), {});
    EXPECT_EQ(read.resources.at(0).name, "name");
    return reason(read.resources.at(0));
  };
  const auto too_many = HasSubstr("\"name\": has more than 200000 elements in its lists");
  const std::string empty("\x12\0", 2);
  wire::ClusterLoadAssignment a;
  a.set_cluster_name("name");
  EXPECT_THAT(refusal_of(resource_kind::endpoints, a.SerializeAsString() + times(empty)), too_many);
  // A field within it, of any type with a length.
  wire::WrappedResource one;
  one.set_version(times(std::string("\x1a\0", 2)));  // field 3 of a virtual host
  wire::RouteConfiguration routes;
  routes.set_name("name");
  std::string host = one.SerializeAsString();
  host[0] = '\x12';
  EXPECT_THAT(refusal_of(resource_kind::route_configuration, routes.SerializeAsString() + host), too_many);
  std::string filters = times(std::string("\x2a\0", 2));
  wire::Listener l;
  l.set_name("name");
  l.mutable_api_listener()->mutable_api_listener()->set_value(filters);
  EXPECT_THAT(refusal_of(resource_kind::listener, l.SerializeAsString()), too_many);
  wire::Cluster c;
  c.set_name("name");
  c.mutable_cluster_type()->mutable_typed_config()->set_value(times(std::string("\x0a\0", 2)));
  EXPECT_THAT(refusal_of(resource_kind::cluster, c.SerializeAsString()), too_many);
}

}  // namespace
}  // namespace coracle::xds::response_test
