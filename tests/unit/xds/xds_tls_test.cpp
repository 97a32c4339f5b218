// TLS as a control plane configures it, and TLS to the control plane, in virtual time.
#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/server.hpp"
#include "coracle/xds/credentials.hpp"
#include "coracle/xds/xds.hpp"
#include "support/certificates.hpp"
#include "unit/xds/control_plane.hpp"
#include "unit/xds/resource_builders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace coracle::xds::xds_tls_test {
namespace {

using namespace testing_resources;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::certificate;
using testing_support::served_as;

constexpr std::string_view tls_type = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext";

// Answers with what the connection is: "plaintext", or the name that the client asked for by SNI and that of
// the client's certificate.
class telling final : public generic_service {
 public:
  replies<bytes_message> call(server_context& context, reader<bytes_message>) override {
    std::string text = "plaintext";
    if (const auth_context* const auth = context.auth()) {
      text = "tls";
      text.append(" to ").append(auth->server_name().empty() ? "no name" : auth->server_name());
      if (!auth->identities().empty()) text.append(" by ").append(auth->identities().front().value());
    }
    auto out = co_await replies<bytes_message>::writer();
    const bytes_message reply(text);
    co_await out.write(reply);
    co_return coracle::ok;
  }
};

server_credentials mutual(const std::string& name) {
  tls::server_options options = served_as(name);
  options.client_cas.push_back(tls::pem_source::file(certificate("ca.pem")));
  return options;
}

class XdsTls : public testing::Test {
 public:
  XdsTls() {
    // The certificates are of today.
    testing_support::certificates::made();
    const auto behind = std::chrono::system_clock::now() - runtime_.at(0).wall_now();
    world_.jump_wall_clock("host", std::chrono::duration_cast<duration>(behind));
    plane_.offer(resource_kind::listener, "target", listener_with("target", manager_of_rds("r")));
    plane_.offer(resource_kind::route_configuration, "r", routes_to("r", "a"));
  }

  // --- servers
  void serve_plane(const server_credentials& with = insecure()) {
    plane_server_.emplace(runtime_);
    plane_server_->set_fallback(plane_);
    EXPECT_EQ(plane_server_->listen("127.0.0.1:0", with), status());
  }
  void serve(const server_credentials& with) {
    server_.emplace(runtime_);
    server_->set_fallback(service_);
    EXPECT_EQ(server_->listen("127.0.0.1:0", with), status());
    wire::ClusterLoadAssignment a;
    a.set_cluster_name("a");
    auto* const e = add_endpoint(*add_locality(a, "z", 1), "127.0.0.1", server_->port());
    e->mutable_endpoint()->set_hostname("localhost");
    plane_.offer(resource_kind::endpoints, "a", a);
  }

  // --- resources
  void offer_cluster() { plane_.offer(resource_kind::cluster, "a", eds_cluster("a")); }
  void offer_cluster(const wire::UpstreamTlsContext& t) {
    auto c = eds_cluster("a");
    c.mutable_transport_socket()->set_name("envoy.transport_sockets.tls");
    *c.mutable_transport_socket()->mutable_typed_config() = packed(tls_type, t);
    plane_.offer(resource_kind::cluster, "a", c);
  }
  static wire::UpstreamTlsContext verified_by(const std::string& instance) {
    wire::UpstreamTlsContext t;
    t.mutable_common_tls_context()
        ->mutable_validation_context()
        ->mutable_ca_certificate_provider_instance()
        ->set_instance_name(instance);
    return t;
  }
  static wire::UpstreamTlsContext mutually_verified() {
    wire::UpstreamTlsContext t = verified_by("files");
    t.mutable_common_tls_context()->mutable_tls_certificate_provider_instance()->set_instance_name("files");
    return t;
  }
  static void accept_name(wire::UpstreamTlsContext& t, const std::string& exact) {
    t.mutable_common_tls_context()->mutable_validation_context()->add_match_subject_alt_names()->set_exact(
        exact);
  }

  // A SPIFFE bundle map of one trust domain, with the CA of that name.
  void write_bundles(const std::string& domain, const std::string& ca) const {
    std::string der;
    std::ifstream pem(certificate(ca + ".pem"));
    for (std::string line; std::getline(pem, line);)
      if (!line.starts_with("-----")) der += line;
    std::ofstream file(bundles_, std::ios::binary);
    file << R"({"trust_domains":{")" << domain << R"(":{"keys":[{"kty":"EC","use":"x509-svid","x5c":[")"
         << der << R"("]}]}}})";
  }

  // --- calls
  [[nodiscard]] std::string bootstrap_json(const std::string& creds = R"({"type":"insecure"})") const {
    const auto files = [](const std::string& own, const std::string& ca) {
      std::string text = R"({"plugin_name":"file_watcher","config":{)";
      if (!own.empty()) {
        text.append(R"("certificate_file":")").append(certificate(own + ".pem"));
        text.append(R"(","private_key_file":")").append(certificate(own + ".key")).append(R"(",)");
      }
      return text.append(R"("ca_certificate_file":")").append(certificate(ca + ".pem")).append("\"}}");
    };
    std::string text = R"({"xds_servers":[{"server_uri":"127.0.0.1:)";
    text.append(std::to_string(plane_server_->port())).append(R"(","channel_creds":[)").append(creds);
    text.append(R"(]}],"certificate_providers":{"files":)").append(files("client", "ca"));
    text.append(R"(,"others":)").append(files("", "other_ca"));
    text.append(R"(,"late":)").append(files("", "late_ca"));
    text.append(R"(,"spiffe":{"plugin_name":"file_watcher","config":{"spiffe_trust_bundle_map_file":")");
    text.append(bundles_).append(R"(","ca_certificate_file":"/nowhere/ca.pem"}})");
    return text.append(R"(},"node":{"id":"n"}})");
  }
  generic_stub stub(const channel_credentials& with, const std::string& bootstrap) {
    xds_options mesh;
    mesh.bootstrap = bootstrap;
    channel_options options;
    options.add_resolver("xds", xds_resolver(mesh));
    return generic_stub(channel(runtime_, "xds:///target", with, options));
  }
  generic_stub stub(const channel_credentials& with = xds_credentials(insecure())) {
    return stub(with, bootstrap_json());
  }
  static task<std::string> ask(const generic_stub& by, call_options options = {}) {
    const bytes_message nothing;
    auto call = by.unary("/where.Where/Ask", nothing, options);
    const auto reply = co_await call;
    if (reply) co_return std::string(reply->bytes());
    co_return std::string(name_of(reply.status().code())) + ": " + std::string(reply.status().message());
  }
  std::string answer(const generic_stub& by, const call_options& options = {}) {
    return sync_wait(runtime_, runtime_.at(0), ask(by, options));
  }
  static task<> pause(duration d) { co_await sleep_for(d); }
  void wait(duration d) { sync_wait(runtime_, runtime_.at(0), pause(d)); }

  sim::world world_{1};
  runtime& runtime_ = world_.host("host");
  const std::string bundles_ = certificate("bundles.json");
  control_plane plane_;
  telling service_;
  std::optional<server> plane_server_;
  std::optional<server> server_;
};

TEST_F(XdsTls, AClusterHasTheCertificatesOfTheBootstrapsProviders) {
  serve_plane();
  serve(mutual("server"));
  offer_cluster(mutually_verified());
  EXPECT_EQ(answer(stub()), "tls to no name by ada.example");
  EXPECT_THAT(plane_.rejections, IsEmpty());
}

// Quoted by docs/guides/xds.md.
TEST_F(XdsTls, CredentialsAreMadeWithTheirFallback) {
  serve_plane();
  serve(mutual("server"));
  offer_cluster(mutually_verified());
  runtime& runtime = runtime_;
  xds_options mesh;
  mesh.bootstrap = bootstrap_json();
  // --8<-- [start:credentials]
  coracle::channel_options options;
  options.add_resolver("xds", coracle::xds_resolver(mesh));
  coracle::channel movies(runtime, "xds:///target", coracle::xds_credentials(coracle::insecure()), options);
  // --8<-- [end:credentials]
  EXPECT_EQ(answer(generic_stub(movies)), "tls to no name by ada.example");
}

TEST_F(XdsTls, TheFallbackIsForClustersWithoutTls) {
  serve_plane();
  serve(insecure());
  offer_cluster();
  EXPECT_EQ(answer(stub()), "plaintext");
  serve(served_as("server"));
  tls::client_options trusting = testing_support::trusting("ca");
  trusting.target_name = "localhost";
  EXPECT_EQ(answer(stub(xds_credentials(trusting))), "tls to localhost");
}

TEST_F(XdsTls, OtherCredentialsAreForAllClusters) {
  serve_plane();
  serve(insecure());
  offer_cluster(mutually_verified());
  EXPECT_EQ(answer(stub(insecure())), "plaintext");
}

TEST_F(XdsTls, TheServerMustHaveOneOfTheNames) {
  serve_plane();
  serve(mutual("server"));
  wire::UpstreamTlsContext t = mutually_verified();
  accept_name(t, "nothing.example");
  accept_name(t, "movies.example");
  offer_cluster(t);
  EXPECT_EQ(answer(stub()), "tls to no name by ada.example");
  wire::UpstreamTlsContext other = mutually_verified();
  accept_name(other, "nothing.example");
  offer_cluster(other);
  EXPECT_THAT(answer(stub()),
              AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("none of its subjectAltNames matches"),
                    HasSubstr("localhost, movies.example")));
}

TEST_F(XdsTls, TheServersCertificateMustBeOfTheProvidersAuthority) {
  serve_plane();
  serve(served_as("server"));
  offer_cluster(verified_by("others"));
  EXPECT_THAT(answer(stub()), AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("not issued by a trusted CA")));
}

TEST_F(XdsTls, AnUnknownProviderIsRejectedAtOnce) {
  serve_plane();
  serve(served_as("server"));
  offer_cluster(verified_by("nowhere"));
  const generic_stub by = stub();
  EXPECT_THAT(answer(by),
              AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("names a certificate provider that the bootstrap")));
  wait(1s);
  EXPECT_THAT(plane_.rejections, Contains(HasSubstr("\"nowhere\"")));
}

TEST_F(XdsTls, AProviderWithoutACertificateFailsTheConnection) {
  serve_plane();
  serve(mutual("server"));
  wire::UpstreamTlsContext t = verified_by("files");
  t.mutable_common_tls_context()->mutable_tls_certificate_provider_instance()->set_instance_name("others");
  offer_cluster(t);
  EXPECT_THAT(answer(stub()),
              AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("\"others\""), HasSubstr("has no certificate_file")));
}

TEST_F(XdsTls, FilesThatAppearLaterAreUsed) {
  serve_plane();
  serve(served_as("server"));
  offer_cluster(verified_by("late"));
  const generic_stub by = stub();
  EXPECT_THAT(answer(by), AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("late_ca.pem")));
  std::filesystem::copy_file(certificate("ca.pem"), certificate("late_ca.pem"));
  wait(5s);
  EXPECT_EQ(answer(by), "tls to no name");
  std::filesystem::remove(certificate("late_ca.pem"));
}

TEST_F(XdsTls, SniIsThatOfTheCluster) {
  serve_plane();
  serve(served_as("server"));
  wire::UpstreamTlsContext t = verified_by("files");
  t.set_sni("movies.example");
  offer_cluster(t);
  EXPECT_EQ(answer(stub()), "tls to movies.example");
  t.set_auto_host_sni(true);
  offer_cluster(t);
  EXPECT_EQ(answer(stub()), "tls to localhost");
}

TEST_F(XdsTls, TheNameOfSniMayBeTheOneToVerify) {
  serve_plane();
  serve(served_as("server"));
  wire::UpstreamTlsContext t = verified_by("files");
  accept_name(t, "nothing.example");  // not looked at
  t.set_auto_sni_san_validation(true);
  t.set_sni("movies.example");
  offer_cluster(t);
  EXPECT_EQ(answer(stub()), "tls to movies.example");
  t.set_sni("nothing.example");
  offer_cluster(t);
  EXPECT_THAT(answer(stub()), AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("not for nothing.example")));
}

TEST_F(XdsTls, AClusterThatGetsTlsHasNewConnections) {
  serve_plane();
  serve(insecure());
  offer_cluster();
  const generic_stub by = stub();
  EXPECT_EQ(answer(by), "plaintext");
  offer_cluster(mutually_verified());
  serve(mutual("server"));
  wait(1s);
  EXPECT_EQ(answer(by), "tls to no name by ada.example");
}

// The server of the name "movies.example" loses its first address to another one, and is connected to by the
// next one: with its own name, and not with that of the server that has the first address now.
TEST_F(XdsTls, AServerKeepsItsNameWhenItsFirstAddressBecomesThatOfAnother) {
  serve_plane();
  std::vector<std::unique_ptr<server>> servers;
  for (int i = 0; i < 3; ++i) {
    servers.push_back(std::make_unique<server>(runtime_));
    servers.back()->set_fallback(service_);
    ASSERT_EQ(servers.back()->listen("127.0.0.1:0", served_as("server")), status());
  }
  const auto port = [&](std::size_t i) { return servers[i]->port(); };
  const auto add = [](wire::LocalityEndpoints& to, const std::string& host, std::uint16_t first,
                      std::optional<std::uint16_t> second) {
    auto& e = *add_endpoint(to, "127.0.0.1", first)->mutable_endpoint();
    e.set_hostname(host);
    if (second) set_address(*e.add_additional_addresses()->mutable_address(), "127.0.0.1", *second);
  };
  wire::ClusterLoadAssignment a;
  a.set_cluster_name("a");
  add(*add_locality(a, "z", 1), "movies.example", port(0), port(1));
  plane_.offer(resource_kind::endpoints, "a", a);
  wire::UpstreamTlsContext t = verified_by("files");
  t.set_auto_host_sni(true);
  offer_cluster(t);
  const generic_stub by = stub();
  EXPECT_EQ(answer(by), "tls to movies.example");
  a.clear_endpoints();
  auto& both = *add_locality(a, "z", 1);
  add(both, "movies.example", port(1), std::nullopt);
  add(both, "localhost", port(2), port(0));
  plane_.offer(resource_kind::endpoints, "a", a);
  wait(1s);
  std::set<std::string> names;
  for (int i = 0; i < 10; ++i) names.insert(answer(by));
  EXPECT_THAT(names, testing::ElementsAre("tls to localhost", "tls to movies.example"));
}

TEST_F(XdsTls, CallCredentialsNeedAFallbackWithTls) {
  serve_plane();
  serve(mutual("server"));
  offer_cluster(mutually_verified());
  call_options token;
  token.credentials = call_credentials::bearer("secret");
  EXPECT_THAT(answer(stub(), token), HasSubstr("UNAUTHENTICATED"));
  EXPECT_EQ(answer(stub(xds_credentials(testing_support::trusting("ca"))), token),
            "tls to no name by ada.example");
}

TEST_F(XdsTls, TheControlPlaneIsReachedOverTls) {
  serve_plane(mutual("server"));
  serve(insecure());
  offer_cluster();
  const auto creds = [](const std::string& ca) {
    std::string text = R"({"type":"tls","config":{"certificate_file":")";
    text.append(certificate("client.pem")).append(R"(","private_key_file":")");
    text.append(certificate("client.key")).append(R"(","ca_certificate_file":")");
    return text.append(certificate(ca + ".pem")).append("\"}}");
  };
  EXPECT_EQ(answer(stub(insecure(), bootstrap_json(creds("ca")))), "plaintext");
  EXPECT_THAT(answer(stub(insecure(), bootstrap_json(creds("other_ca")))),
              AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("not issued by a trusted CA")));
}

std::string tls_credentials(const std::string& ca) {
  std::string text = R"({"type":"tls","config":{"ca_certificate_file":")";
  return text.append(certificate(ca + ".pem")).append("\"}}");
}

// A JWT that expires in the year 2255.
constexpr std::string_view token = "eyJhbGciOiJub25lIn0.eyJleHAiOjkwMDAwMDAwMDB9.c2ln";

std::string call_credentials_of(const std::string& path) {
  return R"(],"call_creds":[{"type":"unknown"},{"type":"jwt_token_file","config":{"jwt_token_file":")" +
         path + "\"}}";
}

// gRFC A97
TEST_F(XdsTls, TheControlPlaneGetsATokenOverTls) {
  const std::string path = certificate("plane.jwt");
  std::ofstream(path) << token << "\n";
  serve_plane(served_as("server"));
  serve(insecure());
  offer_cluster();
  const std::string creds = tls_credentials("ca") + call_credentials_of(path);
  EXPECT_EQ(answer(stub(insecure(), bootstrap_json(creds))), "plaintext");
  EXPECT_THAT(plane_.tokens, Contains("Bearer " + std::string(token)));
  std::filesystem::remove(path);
  wait(1s);  // until the client of that channel has ended, which another channel would share
  EXPECT_THAT(answer(stub(insecure(), bootstrap_json(creds))),
              AllOf(HasSubstr("UNAVAILABLE"), HasSubstr(path)));
}

TEST_F(XdsTls, TheControlPlaneGetsNoTokenInPlaintext) {
  const std::string path = certificate("plane.jwt");
  std::ofstream(path) << token;
  serve_plane();
  serve(insecure());
  offer_cluster();
  const std::string creds = R"({"type":"insecure"})" + call_credentials_of(path);
  EXPECT_THAT(answer(stub(insecure(), bootstrap_json(creds))),
              AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("credentials")));
  EXPECT_THAT(plane_.tokens, IsEmpty());
  std::filesystem::remove(path);
}

// gRFC A82
TEST_F(XdsTls, TheAuthoritiesMayBeThoseOfTheSystem) {
  serve_plane();
  serve(served_as("server"));
  wire::UpstreamTlsContext t;
  t.mutable_common_tls_context()->mutable_validation_context()->mutable_system_root_certs();
  accept_name(t, "movies.example");
  offer_cluster(t);
  ::setenv("SSL_CERT_FILE", certificate("ca.pem").c_str(), 1);
  EXPECT_EQ(answer(stub()), "tls to no name");
  ::setenv("SSL_CERT_FILE", certificate("other_ca.pem").c_str(), 1);
  wait(1s);
  EXPECT_THAT(answer(stub()), HasSubstr("not issued by a trusted CA"));
  // Without a name to check, every certificate of a public CA would do.
  t.mutable_common_tls_context()->mutable_validation_context()->clear_match_subject_alt_names();
  offer_cluster(t);
  EXPECT_THAT(answer(stub()), HasSubstr("set match_subject_alt_names"));
  ::unsetenv("SSL_CERT_FILE");
}

// gRFC A81
TEST_F(XdsTls, ARewrittenAuthorityMustBeInTheCertificateForCredentialsOfTheProgram) {
  serve_plane();
  auto routes = routes_to("r", "a");
  routes.mutable_virtual_hosts(0)->mutable_routes(0)->mutable_route()->mutable_auto_host_rewrite()->set_value(
      true);
  plane_.offer(resource_kind::route_configuration, "r", routes);
  std::string trusted = bootstrap_json();
  trusted.insert(trusted.find(R"("channel_creds")"), R"("server_features":["trusted_xds_server"],)");
  const auto offer_hostname = [this](const std::string& name) {
    wire::ClusterLoadAssignment a;
    a.set_cluster_name("a");
    auto* const e = add_endpoint(*add_locality(a, "z", 1), "127.0.0.1", server_->port());
    e->mutable_endpoint()->set_hostname(name);
    plane_.offer(resource_kind::endpoints, "a", a);
  };
  offer_cluster();
  tls::client_options own = testing_support::trusting("ca");
  own.target_name = "localhost";
  for (const bool is_fallback : {false, true}) {
    serve(served_as("server"));
    offer_hostname("movies.example");
    const generic_stub by = stub(is_fallback ? xds_credentials(own) : channel_credentials(own), trusted);
    EXPECT_EQ(answer(by), "tls to localhost");
    offer_hostname("other.example");
    wait(1s);
    EXPECT_THAT(answer(by), AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("is not valid for \"other.example\"")));
    offer_hostname("movies.example");
    wait(1s);
    EXPECT_EQ(answer(by), "tls to localhost");
  }
  // The control plane says which names it accepts.
  serve(mutual("server"));
  offer_hostname("other.example");
  offer_cluster(mutually_verified());
  EXPECT_EQ(answer(stub(xds_credentials(insecure()), trusted)), "tls to no name by ada.example");
}

// gRFC A87
TEST_F(XdsTls, TheAuthoritiesAreThoseOfTheTrustDomainOfTheServer) {
  serve_plane();
  serve(served_as("web"));
  wire::UpstreamTlsContext t = verified_by("spiffe");
  accept_name(t, "spiffe://example/web");
  offer_cluster(t);
  const generic_stub by = stub();
  EXPECT_THAT(answer(by), HasSubstr("bundles.json cannot be read"));
  write_bundles("example", "ca");
  wait(5s);
  EXPECT_EQ(answer(by), "tls to no name");
  // Connections that are made after a change have the new bundles.
  write_bundles("another", "ca");
  wait(2s);
  serve(served_as("web"));
  wait(1s);
  EXPECT_THAT(answer(by), HasSubstr("the SPIFFE bundle map does not have its trust domain, example"));
  write_bundles("example", "other_ca");
  wait(2s);
  EXPECT_THAT(answer(stub()), HasSubstr("not issued by a trusted CA"));
  std::ofstream(bundles_, std::ios::binary) << R"({"trust_domains":{}})";
  wait(2s);
  EXPECT_THAT(answer(stub()), HasSubstr("the SPIFFE bundle map does not have its trust domain, example"));
  std::filesystem::remove(bundles_);
}

TEST_F(XdsTls, AServerOfATrustDomainHasOneSpiffeId) {
  write_bundles("example", "ca");
  serve_plane();
  offer_cluster(verified_by("spiffe"));
  serve(served_as("two_ids"));
  EXPECT_THAT(answer(stub()), HasSubstr("it has 2 URIs among its subjectAltNames"));
  serve(served_as("server"));
  EXPECT_THAT(answer(stub()), HasSubstr("it has 0 URIs among its subjectAltNames"));
  serve(served_as("talkative"));
  EXPECT_THAT(answer(stub()), HasSubstr("URIs among its subjectAltNames"));
  std::filesystem::remove(bundles_);
}

// SNI has no addresses (RFC 6066 3).
TEST_F(XdsTls, AnAddressIsNoNameOfSniAndTheOtherNamesAreVerified) {
  serve_plane();
  serve(served_as("server"));
  wire::UpstreamTlsContext t = verified_by("files");
  accept_name(t, "movies.example");
  t.set_auto_sni_san_validation(true);
  for (const char* const address : {"127.0.0.1", "::1"}) {
    t.set_sni(address);
    offer_cluster(t);
    EXPECT_EQ(answer(stub()), "tls to no name") << address;
  }
  wire::UpstreamTlsContext other = verified_by("files");
  accept_name(other, "nothing.example");
  other.set_auto_sni_san_validation(true);
  other.set_sni("127.0.0.1");
  offer_cluster(other);
  EXPECT_THAT(answer(stub()), HasSubstr("none of its subjectAltNames matches"));
}

TEST_F(XdsTls, AFallbackThatIsInvalidFailsEveryCall) {
  serve_plane();
  tls::client_options nowhere;
  nowhere.cas = {tls::pem_source::file("/nowhere/ca.pem")};
  EXPECT_THAT(answer(stub(xds_credentials(nowhere))), HasSubstr("/nowhere/ca.pem"));
}

}  // namespace
}  // namespace coracle::xds::xds_tls_test
