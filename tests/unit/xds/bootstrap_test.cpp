// Bootstraps: their contents, the messages for invalid ones, and the names of Listeners (gRFC A27, A47, A65,
// A71, A88, A97).
#include "xds/bootstrap/bootstrap.hpp"

#include "xds/bootstrap/resource_name.hpp"
#include "xds/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace coracle::xds::bootstrap_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::string_view insecure_server =
    R"({"server_uri":"plane:1","channel_creds":[{"type":"insecure"}]})";

std::string with_server(std::string_view more = "") {
  return R"({"xds_servers":[)" + std::string(insecure_server) + "]" + (more.empty() ? "" : ",") +
         std::string(more) + "}";
}

bootstrap parsed(std::string_view json) {
  const auto b = parse_bootstrap(json);
  EXPECT_EQ(b.status(), status()) << json;
  return b ? *b : bootstrap();
}

std::string refusal(std::string_view json) {
  const auto b = parse_bootstrap(json);
  EXPECT_FALSE(b.ok()) << json;
  return std::string(b.status().message());
}

TEST(XdsBootstrap, HasServersInTheOrderOfTheirPriority) {
  const bootstrap b = parsed(R"({"unknown":1,"xds_servers":[
    {"server_uri":"a:1","channel_creds":[{"type":"google_default"},{"type":"tls"},{"type":"insecure"}],
     "server_features":["xds_v3","trusted_xds_server","fail_on_data_errors","resource_timer_is_transient_failure","new",7]},
    {"server_uri":"b:1","channel_creds":[{"type":"insecure"}]}]})");
  ASSERT_EQ(b.servers.size(), 2u);
  EXPECT_EQ(b.servers[0].uri, "a:1");
  EXPECT_TRUE(b.servers[0].security.tls);
  EXPECT_TRUE(b.servers[0].trusted);
  EXPECT_TRUE(b.servers[0].fail_on_data_errors);
  EXPECT_TRUE(b.servers[0].resource_timer_is_transient_error);
  EXPECT_EQ(b.servers[1].uri, "b:1");
  EXPECT_FALSE(b.servers[1].security.tls);
  EXPECT_FALSE(b.servers[1].trusted);
  EXPECT_EQ(b.servers_of(""), &b.servers);
  EXPECT_EQ(b.servers_of("absent"), nullptr);
}

TEST(XdsBootstrap, HasTheFilesOfTlsAndOfCallCredentials) {
  const bootstrap b = parsed(R"({"xds_servers":[{"server_uri":"a:1","channel_creds":[{"type":"tls","config":{
    "certificate_file":"c","private_key_file":"k","ca_certificate_file":"r","refresh_interval":"0.25s"}}],
    "call_creds":[{"type":"other"},{"type":"jwt_token_file","config":{"jwt_token_file":"t"}}]}]})");
  const channel_security& s = b.servers.at(0).security;
  EXPECT_EQ(s.tls, (certificate_files{"c", "k", "r", "", 250ms}));
  EXPECT_EQ(s.jwt_token_files, std::vector<std::string>{"t"});
}

TEST(XdsBootstrap, ThatIsInvalidNamesTheField) {
  EXPECT_THAT(refusal("[]"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(refusal("{"), HasSubstr("is not a JSON object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("requires xds_servers"));
  EXPECT_THAT(refusal(R"({"xds_servers":{}})"), HasSubstr("xds_servers must be an array"));
  EXPECT_THAT(refusal(R"({"xds_servers":[{}]})"), HasSubstr("xds_servers[0] requires server_uri"));
  EXPECT_THAT(refusal(R"({"xds_servers":[{"server_uri":"a","channel_creds":[{"type":"odd"}]}]})"),
              HasSubstr("xds_servers[0] requires channel_creds"));
  EXPECT_THAT(
      refusal(R"({"xds_servers":[{"server_uri":"a","channel_creds":[{"type":"google_default"}]}]})"),
      HasSubstr("xds_servers[0] has channel_creds of the type google_default alone, which is not supported"));
  EXPECT_THAT(
      refusal(
          R"({"xds_servers":[{"server_uri":"a","channel_creds":[{"type":"tls","config":{"certificate_file":"c"}}]}]})"),
      HasSubstr("xds_servers[0].channel_creds[0].config must have certificate_file and private_key_file"));
  EXPECT_THAT(refusal(with_server(R"("node":{"locality":{"zone":1}})")),
              HasSubstr("node.locality.zone must be a string"));
  EXPECT_THAT(
      refusal(
          with_server(R"("authorities":{"a":{"client_listener_resource_name_template":"xdstp://b/%s"}})")),
      HasSubstr("authorities[\"a\"] client_listener_resource_name_template must begin with \"xdstp://a/\""));
  EXPECT_THAT(refusal(R"({"authorities":{"a":{}}})"), HasSubstr("authorities[\"a\"] requires xds_servers"));
  EXPECT_THAT(
      refusal(with_server(
          R"("certificate_providers":{"p":{"plugin_name":"file_watcher","config":{"refresh_interval":"0s"}}})")),
      HasSubstr("certificate_providers[\"p\"].config.refresh_interval must be more than 0s"));
  EXPECT_THAT(
      refusal(with_server(R"("certificate_providers":{"p":{"plugin_name":"file_watcher","config":{}}})")),
      HasSubstr("requires certificate_file"));
  EXPECT_THAT(refusal(with_server(R"("allowed_grpc_services":{"s":{}})")),
              HasSubstr("allowed_grpc_services[\"s\"] requires channel_creds"));
  EXPECT_THAT(refusal(std::string(limits::bootstrap_bytes_max + 1, ' ')), HasSubstr("limit 1048576"));
}

TEST(XdsBootstrap, RefusesDurationsThatAreNone) {
  for (const std::string_view text : {"1", "s", "-1s", "1.s", "1.1234567890s", "1s ", "9999999999s"}) {
    const std::string json = with_server(
        R"("certificate_providers":{"p":{"plugin_name":"file_watcher","config":{"refresh_interval":")" +
        std::string(text) + R"("}}})");
    EXPECT_THAT(refusal(json), HasSubstr("must be a duration")) << text;
  }
}

TEST(XdsBootstrap, HasNodeProvidersAndServices) {
  const bootstrap b = parsed(with_server(R"("node":{"id":"n","cluster":"c","metadata":{"k":[1]},
      "locality":{"region":"r","zone":"z","sub_zone":"s"}},
    "certificate_providers":{"p":{"plugin_name":"file_watcher","config":{"ca_certificate_file":"r"}},"q":{"plugin_name":"odd"}},
    "allowed_grpc_services":{"dns:///s":{"channel_creds":[{"type":"insecure"}]}},
    "server_listener_resource_name_template":"l/%s")"));
  EXPECT_EQ(b.node.id, "n");
  EXPECT_EQ(b.node.cluster, "c");
  EXPECT_EQ(b.node.metadata, R"({"k":[1]})");
  EXPECT_EQ(b.node.locality, (locality{"r", "z", "s"}));
  ASSERT_EQ(b.certificate_providers.size(), 1u);  // the unknown plugin is not an error
  EXPECT_EQ(b.certificate_providers.at("p").authorities, "r");
  EXPECT_EQ(b.certificate_providers.at("p").refresh_interval, 600s);
  EXPECT_TRUE(b.allowed_services.contains("dns:///s"));
  EXPECT_EQ(server_listener_name(b, "[::1]:8080").value(), "l/[::1]:8080");
}

TEST(XdsBootstrap, GivesAnAuthorityTheServersOfTheTopUnlessItHasItsOwn) {
  const bootstrap b = parsed(with_server(R"("authorities":{"a":{},"b":{"fallback_on_reachability_only":true,
    "xds_servers":[{"server_uri":"own:1","channel_creds":[{"type":"insecure"}]}]}})"));
  EXPECT_EQ(b.authorities.at("a").servers, b.servers);
  EXPECT_FALSE(b.authorities.at("a").fallback_on_reachability_only);
  EXPECT_EQ(b.servers_of("b")->at(0).uri, "own:1");
  EXPECT_TRUE(b.authorities.at("b").fallback_on_reachability_only);
}

TEST(XdsBootstrap, NamesTheListenerOfATarget) {
  bootstrap b = parsed(with_server(R"("authorities":{"a.b":{}})"));
  EXPECT_EQ(client_listener_name(b, "", "server.example:8080").value(), "server.example:8080");
  EXPECT_EQ(client_listener_name(b, "a.b", "x y/z").value(),
            "xdstp://a.b/envoy.config.listener.v3.Listener/x%20y/z");
  EXPECT_EQ(client_listener_name(b, "c", "x").status().code(), status_code::unavailable);
  EXPECT_EQ(server_listener_name(b, "[::]:1").status().code(), status_code::failed_precondition);
  b = parsed(with_server(R"("client_default_listener_resource_name_template":)"
                         R"("xdstp://d/envoy.config.listener.v3.Listener/%s?k=v")"));
  EXPECT_EQ(client_listener_name(b, "", "a%b").value(),
            "xdstp://d/envoy.config.listener.v3.Listener/a%25b?k=v");
}

// gRFC A47.
TEST(XdsBootstrap, NamesTheListenerOfAServerInAnAuthority) {
  const bootstrap b = parsed(with_server(R"("server_listener_resource_name_template":)"
                                         R"("xdstp://a/envoy.config.listener.v3.Listener/in/%s?k=v")"));
  EXPECT_EQ(server_listener_name(b, "[::1]:8080").value(),
            "xdstp://a/envoy.config.listener.v3.Listener/in/%5B::1%5D:8080?k=v");
}

TEST(XdsBootstrap, IsReadFromTheFileThatTheEnvironmentNamesElseFromTheEnvironment) {
  const std::string path = testing::TempDir() + "xds_bootstrap_test.json";
  std::ofstream(path) << with_server(R"("node":{"id":"of the file"})");
  ::setenv("GRPC_XDS_BOOTSTRAP_CONFIG", with_server(R"("node":{"id":"of the text"})").c_str(), 1);
  EXPECT_EQ(load_bootstrap().value().node.id, "of the text");
  ::setenv("GRPC_XDS_BOOTSTRAP", path.c_str(), 1);
  EXPECT_EQ(load_bootstrap().value().node.id, "of the file");
  ::setenv("GRPC_XDS_BOOTSTRAP", (path + ".absent").c_str(), 1);
  EXPECT_THAT(std::string(load_bootstrap().status().message()), HasSubstr("cannot read the file"));
  std::ofstream(path) << "{}";
  EXPECT_THAT(std::string(read_bootstrap(path).status().message()),
              HasSubstr("requires xds_servers, the list of control planes (in the file"));
  ::unsetenv("GRPC_XDS_BOOTSTRAP");
  ::unsetenv("GRPC_XDS_BOOTSTRAP_CONFIG");
  EXPECT_EQ(load_bootstrap().status().code(), status_code::failed_precondition);
  std::remove(path.c_str());
}

TEST(XdsResourceName, HasAnAuthorityAndSortedParameters) {
  constexpr std::string_view type = "t.T";
  EXPECT_EQ(parse_resource_name("old/name?x", type)->canonical, "old/name?x");
  EXPECT_EQ(parse_resource_name("old", type)->authority, "");
  const auto n = parse_resource_name("xdstp://auth/t.T/id/1?b=2&a=1", type);
  ASSERT_TRUE(n);
  EXPECT_EQ(n->authority, "auth");
  EXPECT_EQ(n->canonical, "xdstp://auth/t.T/id/1?a=1&b=2");
  EXPECT_EQ(parse_resource_name("xdstp:///t.T/id", type)->authority, "");
}

TEST(XdsResourceName, ThatIsMalformedOrOfAnotherTypeIsNone) {
  for (const std::string_view name :
       {"xdstp:auth/t.T/id", "xdstp://auth", "xdstp://auth/t.T", "xdstp://auth/t.U/id",
        "xdstp://auth/t.T/id?x", "xdstp://auth/t.T/id?=1", "xdstp://auth/t.T/id?a=1&a=2",
        "xdstp://auth/t.T/id?", "xdstp://auth/t.T/id#d"})
    EXPECT_FALSE(parse_resource_name(name, "t.T")) << name;
}

}  // namespace
}  // namespace coracle::xds::bootstrap_test
