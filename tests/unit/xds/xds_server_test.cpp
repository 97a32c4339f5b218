// Servers that a control plane configures: in virtual time, and over real sockets.
#include "coracle/xds/xds_server.hpp"

#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/server.hpp"
#include "coracle/xds/credentials.hpp"
#include "coracle/xds/csds_service.hpp"
#include "coracle/xds/xds.hpp"
#include "support/certificates.hpp"
#include "support/kept_log.hpp"
#include "unit/xds/control_plane.hpp"
#include "unit/xds/inbound_builders.hpp"
#include "xds/serving/inbound.hpp"
#include "xds/serving/server_client.hpp"
#include "xds/wire/rbac.pb.h"
#include "xds/wire/status.pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace coracle::xds::xds_server_test {
namespace {

using namespace testing_resources;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_support::certificate;

// Answers with what the connection is, after a while.
class answering final : public generic_service {
 public:
  replies<bytes_message> call(server_context& context, reader<bytes_message>) override {
    connections.insert(context.peer().port());
    std::string text = context.auth() ? "tls" : "plaintext";
    if (context.auth() && !context.auth()->identities().empty())
      text.append(" by ").append(context.auth()->identities().front().value());
    if (context.method() == "/a.A/Slow") co_await sleep_for(5s);
    auto out = co_await replies<bytes_message>::writer();
    const bytes_message reply(text);
    co_await out.write(reply);
    co_return coracle::ok;
  }

  std::set<std::uint16_t> connections;
};

std::string provider_json(const std::string& own) {
  std::string text = R"({"plugin_name":"file_watcher","config":{"certificate_file":")";
  text.append(certificate(own + ".pem"))
      .append(R"(","private_key_file":")")
      .append(certificate(own + ".key"));
  return text.append(R"(","ca_certificate_file":")").append(certificate("ca.pem")).append("\"}}");
}

std::string bootstrap_for(std::uint16_t port) {
  std::string text = R"({"xds_servers":[{"server_uri":"127.0.0.1:)";
  text.append(std::to_string(port)).append(R"(","channel_creds":[{"type":"insecure"}]}],)");
  text.append(R"("server_listener_resource_name_template":"inbound/%s","certificate_providers":{"server":)");
  text.append(provider_json("server")).append(R"(,"client":)").append(provider_json("client"));
  text.append(R"(,"spiffe":{"plugin_name":"file_watcher","config":{"spiffe_trust_bundle_map_file":")");
  text.append(certificate("client_bundles.json")).append("\"}}");
  return text.append(R"(},"node":{"id":"n"}})");
}

task<std::string> ask(const generic_stub& by, const char* path = "/a.A/Fast") {
  const bytes_message nothing;
  auto call = by.unary(path, nothing);
  const auto reply = co_await call;
  if (reply) co_return std::string(reply->bytes());
  co_return std::string(name_of(reply.status().code())) + ": " + std::string(reply.status().message());
}
task<> pause(duration d) { co_await sleep_for(d); }

class XdsServer : public testing::Test {
 public:
  XdsServer() {
    // The certificates are of today.
    testing_support::certificates::made();
    const auto behind = std::chrono::system_clock::now() - runtime_.at(0).wall_now();
    world_.jump_wall_clock("host", std::chrono::duration_cast<duration>(behind));
    plane_server_.emplace(runtime_);
    plane_server_->set_fallback(plane_);
    EXPECT_EQ(plane_server_->listen("127.0.0.1:0", insecure()), status());
  }

  void serve(const server_credentials& with = insecure(), duration grace = 1min,
             const server_options& of_server = {}) {
    xds_server_options options;
    options.mesh.bootstrap = bootstrap_for(plane_server_->port());
    options.drain_grace = grace;
    options.on_serving_change = [this](const net::address& at, const status& mode) {
      EXPECT_EQ(at.port(), server_->port());
      modes_.push_back(mode);
    };
    server_.emplace(runtime_, of_server);
    server_->set_fallback(service_);
    xds_server mesh(*server_, options);
    EXPECT_EQ(mesh.listen("127.0.0.1:0", with), status());
  }
  [[nodiscard]] wire::Listener listener_of_server() const {
    return inbound_listener_at("127.0.0.1", server_->port());
  }
  void offer(const wire::Listener& l) { plane_.offer(resource_kind::listener, l.name(), l); }
  // A chain whose routes are those of the name "r".
  [[nodiscard]] wire::Listener listener_with_named_routes() const {
    wire::Listener l = listener_of_server();
    set_manager(*l.mutable_filter_chains(0), manager_of_rds("r"));
    return l;
  }

  generic_stub stub(const channel_credentials& with = insecure()) {
    return generic_stub(channel(runtime_, "127.0.0.1:" + std::to_string(server_->port()), with));
  }
  std::string answer(const generic_stub& by, const char* path = "/a.A/Fast") {
    return sync_wait(runtime_, runtime_.at(0), ask(by, path));
  }
  void wait(duration d) { sync_wait(runtime_, runtime_.at(0), pause(d)); }

  testing_support::kept_log log_;
  sim::world world_{1, sim::world_options{.log = &log_}};
  runtime& runtime_ = world_.host("host");
  control_plane plane_;
  answering service_;
  std::vector<status> modes_;
  std::optional<server> plane_server_;
  std::optional<server> server_;
};

TEST_F(XdsServer, ServesWhatItsListenerAccepts) {
  serve();
  offer(listener_of_server());
  wait(1s);
  EXPECT_EQ(answer(stub()), "plaintext");
  EXPECT_THAT(modes_, ElementsAre(status()));
  EXPECT_THAT(plane_.rejections, IsEmpty());
}

// gRFC A47. The control plane of the other names is not asked.
TEST_F(XdsServer, FollowsAListenerOfAnAuthority) {
  server others(runtime_);
  control_plane plane_of_others;
  others.set_fallback(plane_of_others);
  ASSERT_EQ(others.listen("127.0.0.1:0", insecure()), status());
  const auto server_json = [](std::uint16_t port) {
    return R"("xds_servers":[{"server_uri":"127.0.0.1:)" + std::to_string(port) +
           R"(","channel_creds":[{"type":"insecure"}]}])";
  };
  const std::string prefix = "xdstp://a/envoy.config.listener.v3.Listener/inbound/";
  xds_server_options options;
  options.mesh.bootstrap =
      "{" + server_json(others.port()) + R"(,"authorities":{"a":{)" + server_json(plane_server_->port()) +
      R"(}},"server_listener_resource_name_template":")" + prefix + R"(%s?env=test","node":{"id":"n"}})";
  server_.emplace(runtime_);
  server_->set_fallback(service_);
  xds_server mesh(*server_, options);
  ASSERT_EQ(mesh.listen("[::1]:0", insecure()), status());
  wire::Listener l = inbound_listener_at("::1", server_->port());
  l.set_name(prefix + "%5B::1%5D:" + std::to_string(server_->port()) + "?env=test");
  offer(l);
  wait(1s);
  const generic_stub by(channel(runtime_, "[::1]:" + std::to_string(server_->port()), insecure()));
  EXPECT_EQ(answer(by), "plaintext");
  EXPECT_THAT(plane_.rejections, IsEmpty());
  EXPECT_EQ(plane_of_others.streams(), 0u);
}

// Quoted by docs/guides/xds.md.
TEST_F(XdsServer, IsMadeOfAServer) {
  runtime& runtime = runtime_;
  answering& service = service_;
  xds_server_options options;
  options.mesh.bootstrap = bootstrap_for(plane_server_->port());
  // --8<-- [start:server]
  coracle::server server(runtime);
  server.set_fallback(service);
  coracle::xds_server mesh(server, options);
  mesh.listen("127.0.0.1:50051", coracle::xds_server_credentials(coracle::insecure())).throw_if_error();
  // --8<-- [end:server]
  offer(inbound_listener_at("127.0.0.1", 50051));
  wait(1s);
  EXPECT_EQ(answer(generic_stub(channel(runtime_, "127.0.0.1:50051", insecure()))), "plaintext");
}

// An RBAC filter that admits calls of one path to one port.
void add_rbac(wire::HttpConnectionManager& to, const std::string& path, std::uint32_t port) {
  wire::RbacFilter by;
  wire::RbacPolicy& policy = (*by.mutable_rules()->mutable_policies())["one-path"];
  wire::Permissions& both = *policy.add_permissions()->mutable_and_rules();
  both.add_rules()->mutable_url_path()->mutable_path()->set_exact(path);
  both.add_rules()->set_destination_port(port);
  policy.add_principals()->set_any(true);
  add_filter(to, "rbac", packed("envoy.extensions.filters.http.rbac.v3.RBAC", by));
}

// The listeners of all servers of a runtime (gRFC A71).
TEST_F(XdsServer, ListenersHaveOneClientOfControlPlanes) {
  serve();
  answering beside;
  server another(runtime_);
  another.set_fallback(beside);
  xds_server_options options;
  options.mesh.bootstrap = bootstrap_for(plane_server_->port());
  xds_server mesh(another, options);
  ASSERT_EQ(mesh.listen("127.0.0.1:50051", insecure()), status());
  ASSERT_EQ(mesh.listen("127.0.0.1:50052", insecure()), status());
  offer(listener_of_server());
  offer(inbound_listener_at("127.0.0.1", 50051));
  offer(inbound_listener_at("127.0.0.1", 50052));
  wait(1s);
  EXPECT_EQ(plane_.streams(), 1u);
  const generic_stub first(channel(runtime_, "127.0.0.1:50051", insecure()));
  const generic_stub second(channel(runtime_, "127.0.0.1:50052", insecure()));
  EXPECT_EQ(answer(first), "plaintext");
  EXPECT_EQ(answer(second), "plaintext");
  // One that drains leaves the others what they have.
  sync_wait(runtime_, runtime_.at(0), server_->drain(duration::zero()));
  wait(1s);
  EXPECT_EQ(plane_.streams(), 1u);
  EXPECT_EQ(answer(second), "plaintext");
  sync_wait(runtime_, runtime_.at(0), another.drain(duration::zero()));
  wait(1s);
  EXPECT_EQ(plane_.streams(), 0u);
}

// Without memory, it may fail. What is in use stays until the next one knows more.
TEST_F(XdsServer, AClientOfControlPlanesThatHasFailedIsReplaced) {
  serve();
  offer(listener_of_server());
  wait(1s);
  EXPECT_EQ(answer(stub()), "plaintext");
  struct steps {
    static task<> fail(std::string bootstrap_text) {
      const auto client =
          server_client::join(std::make_shared<const bootstrap>(parse_bootstrap(bootstrap_text).value()),
                              std::make_shared<const xds_options>());
      client->driver().watch(resource_kind::listener, "beside",
                             [](const watch_event&) { throw std::bad_alloc(); });
      co_await client->failed();
    }
  };
  sync_wait(runtime_, runtime_.at(0), steps::fail(bootstrap_for(plane_server_->port())));
  EXPECT_THAT(log_.text(), HasSubstr("the client of control planes for #server begins again"));
  EXPECT_EQ(answer(stub()), "plaintext");
  wait(5s);
  EXPECT_EQ(plane_.streams(), 1u);
  EXPECT_EQ(answer(stub()), "plaintext");
  EXPECT_THAT(modes_, ElementsAre(status()));
  wire::Listener l = listener_of_server();
  wire::HttpConnectionManager m = manager_of_rds("r");
  add_rbac(m, "/a.A/Other", server_->port());
  set_manager(*l.mutable_filter_chains(0), m);
  plane_.offer(resource_kind::route_configuration, "r", accepting_routes("r"));
  offer(l);
  wait(1s);
  EXPECT_THAT(answer(stub()), HasSubstr("PERMISSION_DENIED"));
}

TEST_F(XdsServer, AdmitsTheCallsThatItsRbacFilterAdmits) {
  serve();
  wire::Listener l = listener_of_server();
  wire::HttpConnectionManager m = manager_of_rds("r");
  add_rbac(m, "/a.A/Fast", server_->port());
  set_manager(*l.mutable_filter_chains(0), m);
  wire::RouteConfiguration r = accepting_routes("r");
  plane_.offer(resource_kind::route_configuration, "r", r);
  offer(l);
  wait(1s);
  EXPECT_EQ(answer(stub()), "plaintext");
  EXPECT_EQ(answer(stub(), "/a.A/Other"), "PERMISSION_DENIED: incoming RPC did not match an allow policy");
  // A route without the rules of the filter, and one that denies.
  auto& host = *r.mutable_virtual_hosts(0);
  auto& open = *host.add_routes();
  open = host.routes(0);
  open.mutable_match()->set_path("/a.A/Other");
  wire::RbacPerRoute instead;
  (*open.mutable_typed_per_filter_config())["rbac"] =
      packed("envoy.extensions.filters.http.rbac.v3.RBACPerRoute", instead);
  host.mutable_routes()->SwapElements(0, 1);
  instead.mutable_rbac()->mutable_rules()->set_action(1);
  wire::RbacPolicy& everyone = (*instead.mutable_rbac()->mutable_rules()->mutable_policies())["everyone"];
  everyone.add_permissions()->set_any(true);
  everyone.add_principals()->set_any(true);
  (*host.mutable_typed_per_filter_config())["rbac"] =
      packed("envoy.extensions.filters.http.rbac.v3.RBACPerRoute", instead);
  plane_.offer(resource_kind::route_configuration, "r", r);
  wait(1s);
  EXPECT_EQ(answer(stub(), "/a.A/Other"), "plaintext");
  EXPECT_EQ(answer(stub()), "PERMISSION_DENIED: incoming RPC matched a deny policy \"everyone\"");
  EXPECT_THAT(plane_.rejections, IsEmpty());
}

TEST_F(XdsServer, DoesNotServeWhileItsListenerIsMissing) {
  serve();
  wait(16s);
  ASSERT_THAT(modes_, SizeIs(1));
  EXPECT_THAT(std::string(modes_[0].message()), HasSubstr("does not exist"));
  const generic_stub by = stub();
  EXPECT_THAT(answer(by), HasSubstr("UNAVAILABLE"));
  offer(listener_of_server());
  wait(10s);
  EXPECT_EQ(answer(by), "plaintext");
  plane_.take_back(resource_kind::listener, listener_of_server().name());
  wait(1s);
  ASSERT_THAT(modes_, SizeIs(2));  // a deletion leaves what is in use (gRFC A88)
  EXPECT_EQ(modes_[1], status());
  EXPECT_EQ(answer(by), "plaintext");
}

TEST_F(XdsServer, DoesNotServeWithTheAddressOfAnotherServer) {
  serve();
  wire::Listener l = listener_of_server();
  set_address(*l.mutable_address(), "127.0.0.2", server_->port());
  offer(l);
  wait(1s);
  ASSERT_THAT(modes_, SizeIs(1));
  EXPECT_THAT(std::string(modes_[0].message()), HasSubstr("which is not that of the server"));
  EXPECT_THAT(answer(stub()), HasSubstr("UNAVAILABLE"));
}

// Without on_serving_change: a line for each change, and none without one.
TEST_F(XdsServer, ItsLogSaysWhenItServes) {
  xds_server_options options;
  options.mesh.bootstrap = bootstrap_for(plane_server_->port());
  server_.emplace(runtime_);
  server_->set_fallback(service_);
  xds_server mesh(*server_, options);
  ASSERT_EQ(mesh.listen("127.0.0.1:0", insecure()), status());
  const std::string at = "xDS: 127.0.0.1:" + std::to_string(server_->port());
  const auto lines = [&] {
    std::vector<std::string> all;
    std::istringstream text(log_.text());
    for (std::string line; std::getline(text, line);)
      if (const auto begin = line.find(at); begin != line.npos) all.push_back(line.substr(begin + at.size()));
    return all;
  };
  wait(1s);
  EXPECT_THAT(lines(), IsEmpty()) << "nothing is known yet";
  wire::Listener right = listener_of_server();
  wire::Listener wrong = right;
  set_address(*wrong.mutable_address(), "127.0.0.2", 1);
  const std::string why =
      " does not serve: the Listener of the control plane has the address 127.0.0.2:1, which is not that of "
      "the "
      "server";
  std::vector<std::string> expected;
  for (int i = 0; i < 3; ++i) {
    offer(right);
    wait(1s);
    expected.emplace_back(" serves");
    EXPECT_EQ(lines(), expected);
    // Other chains, and the same again.
    right.mutable_filter_chains(0)->set_name("chain " + std::to_string(i));
    offer(right);
    wait(1s);
    offer(right);
    wait(1s);
    EXPECT_EQ(lines(), expected);
    EXPECT_EQ(answer(stub()), "plaintext");
    wrong.mutable_filter_chains(0)->set_name("wrong " + std::to_string(i));
    offer(wrong);
    wait(1s);
    expected.push_back(why);
    EXPECT_EQ(lines(), expected);
    // Another Listener that is wrong for the same reason.
    wrong.mutable_filter_chains(0)->set_name("another " + std::to_string(i));
    offer(wrong);
    wait(1s);
    EXPECT_EQ(lines(), expected);
  }
  // Another reason is a change.
  set_address(*wrong.mutable_address(), "127.0.0.3", 1);
  offer(wrong);
  wait(1s);
  EXPECT_THAT(lines(), SizeIs(expected.size() + 1));
}

TEST_F(XdsServer, AnInvalidListenerIsRejected) {
  serve();
  wire::Listener l = listener_of_server();
  l.add_listener_filters();
  offer(l);
  wait(1s);
  EXPECT_THAT(plane_.rejections, testing::Contains(HasSubstr("listener_filters")));
  ASSERT_THAT(modes_, SizeIs(1));
  EXPECT_FALSE(modes_[0].ok());
}

TEST_F(XdsServer, IsShownToOperators) {
  struct steps {
    static task<> all(generic_stub asks, std::string name) {
      const bytes_message nothing;
      auto call =
          asks.unary("/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus", nothing);
      const auto reply = co_await call;
      wire::ClientStatusResponse found;
      EXPECT_TRUE(reply.ok() && found.ParseFromString(std::string(reply->bytes())));
      EXPECT_EQ(found.config_size(), 1);
      if (found.config_size() != 1) co_return;
      EXPECT_EQ(found.config(0).client_scope(), "#server");
      EXPECT_EQ(found.config(0).generic_xds_configs_size(), 1);
      EXPECT_EQ(found.config(0).generic_xds_configs(0).name(), name);
      EXPECT_EQ(found.config(0).generic_xds_configs(0).client_status(), 3);
    }
  };
  serve();
  offer(listener_of_server());
  wait(1s);
  csds_service csds;
  server operators(runtime_);
  operators.add(csds);
  ASSERT_EQ(operators.listen("127.0.0.1:0", insecure()), status());
  const channel to(runtime_, "127.0.0.1:" + std::to_string(operators.port()), insecure());
  sync_wait(runtime_, runtime_.at(0), steps::all(generic_stub(to), listener_of_server().name()));
}

TEST_F(XdsServer, OnlyRoutesThatDoNotForwardAcceptCalls) {
  serve();
  offer(listener_with_named_routes());
  wire::RouteConfiguration routes = accepting_routes("r");
  auto* const host = routes.mutable_virtual_hosts(0);
  host->mutable_routes(0)->mutable_match()->set_prefix("/a.A/");
  auto* const forwarding = host->add_routes();
  forwarding->mutable_match()->set_prefix("/b.B/");
  forwarding->mutable_route()->set_cluster("c");
  plane_.offer(resource_kind::route_configuration, "r", routes);
  wait(1s);
  const generic_stub by = stub();
  EXPECT_EQ(answer(by), "plaintext");
  EXPECT_THAT(answer(by, "/b.B/X"),
              AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("is not non_forwarding_action")));
  EXPECT_THAT(answer(by, "/c.C/X"), AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("no route")));
  // Other routes are for the next calls of the same connection.
  host->mutable_routes(0)->mutable_match()->set_prefix("/c.C/");
  plane_.offer(resource_kind::route_configuration, "r", routes);
  wait(1s);
  EXPECT_THAT(answer(by), HasSubstr("UNAVAILABLE"));
  EXPECT_EQ(answer(by, "/c.C/X"), "plaintext");
  EXPECT_THAT(service_.connections, SizeIs(1));
  host->clear_domains();
  host->add_domains("other.example");
  plane_.offer(resource_kind::route_configuration, "r", routes);
  wait(1s);
  EXPECT_THAT(answer(by), AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("virtual host")));
}

TEST_F(XdsServer, ServesWithoutItsRoutesWhenTheyAreKnownToBeMissing) {
  serve();
  offer(listener_with_named_routes());
  wait(1s);
  EXPECT_THAT(modes_, IsEmpty());
  wait(16s);
  EXPECT_THAT(modes_, ElementsAre(status()));
  EXPECT_THAT(answer(stub()), AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("RouteConfiguration \"r\"")));
}

TEST_F(XdsServer, AChainHasTheCertificatesOfTheBootstrapsProviders) {
  serve(xds_server_credentials(insecure()));
  wire::DownstreamTlsContext t = served_by("server");
  verify_clients(t, "client");
  t.mutable_require_client_certificate()->set_value(true);
  wire::Listener l = listener_of_server();
  set_tls(*l.mutable_filter_chains(0), t);
  offer(l);
  wait(1s);
  tls::client_options client = testing_support::trusting("ca");
  client.certificate = testing_support::pair_of("client");
  EXPECT_EQ(answer(stub(client)), "tls by ada.example");
  EXPECT_THAT(answer(stub(testing_support::trusting("ca"))), HasSubstr("UNAVAILABLE"));
  EXPECT_THAT(answer(stub()), HasSubstr("UNAVAILABLE"));
}

// gRFC A87
TEST_F(XdsServer, ClientsMayBeVerifiedByTheirTrustDomains) {
  serve(xds_server_credentials(insecure()));
  wire::DownstreamTlsContext t = served_by("server");
  verify_clients(t, "spiffe");
  t.mutable_require_client_certificate()->set_value(true);
  wire::Listener l = listener_of_server();
  set_tls(*l.mutable_filter_chains(0), t);
  std::string der;
  std::ifstream pem(certificate("ca.pem"));
  for (std::string line; std::getline(pem, line);)
    if (!line.starts_with("-----")) der += line;
  std::ofstream(certificate("client_bundles.json"))
      << R"({"trust_domains":{"example":{"keys":[{"use":"x509-svid","x5c":[")" << der << R"("]}]}}})";
  offer(l);
  wait(1s);
  tls::client_options client = testing_support::trusting("ca");
  client.certificate = testing_support::pair_of("client");
  EXPECT_EQ(answer(stub(client)), "tls by ada.example");
  client.certificate = testing_support::pair_of("brief_client");  // without a SPIFFE id
  EXPECT_THAT(answer(stub(client)), HasSubstr("UNAVAILABLE"));
  std::filesystem::remove(certificate("client_bundles.json"));
}

TEST_F(XdsServer, TheCertificatesOfItsChainsAreShownAndReadAgain) {
  const auto to = std::make_shared<inbound>(
      server_credentials(xds_server_credentials(testing_support::served_as("other_server"))));
  const auto config = std::make_shared<inbound_config>();
  for (const char* const name : {"server", "below"})
    config->chains.push_back(
        {std::make_shared<retried_credentials<tls::server_options, security::server_security>>(
             testing_support::served_as(name)),
         nullptr});
  config->chains.push_back({});  // which has the fallback
  to->use(config);
  struct steps {
    static task<> all(std::shared_ptr<inbound> to) {
      std::vector<std::string> subjects;
      for (const auto& c : to->certificates(*loop::current()).certificates) subjects.push_back(c.subject);
      EXPECT_THAT(subjects, ElementsAre("CN=the other server", "CN=the server", "CN=below the middle"));
      co_return;
    }
  };
  sync_wait(runtime_, runtime_.at(0), steps::all(to));
  EXPECT_EQ(to->reload(), status());
  const auto broken = std::make_shared<inbound_config>();
  tls::server_options missing;
  missing.certificates = {tls::key_pair::files("/nowhere/a.pem", "/nowhere/a.key")};
  broken->chains.push_back(
      {std::make_shared<retried_credentials<tls::server_options, security::server_security>>(missing),
       nullptr});
  to->use(broken);
  EXPECT_THAT(std::string(to->reload().message()), HasSubstr("/nowhere/a.pem"));
}

TEST_F(XdsServer, TheFallbackIsForChainsWithoutTls) {
  serve(xds_server_credentials(testing_support::served_as("server")));
  offer(listener_of_server());
  wait(1s);
  EXPECT_EQ(answer(stub(testing_support::trusting("ca"))), "tls");
}

TEST_F(XdsServer, OtherCredentialsAreForAllChains) {
  serve(insecure());
  wire::Listener l = listener_of_server();
  set_tls(*l.mutable_filter_chains(0), served_by("server"));
  offer(l);
  wait(1s);
  EXPECT_EQ(answer(stub()), "plaintext");
}

TEST_F(XdsServer, AConnectionThatNoChainIsForIsClosed) {
  serve();
  wire::Listener l = listener_of_server();
  l.mutable_filter_chains(0)->mutable_filter_chain_match()->set_source_type(2);
  offer(l);
  wait(1s);
  EXPECT_THAT(answer(stub()), HasSubstr("UNAVAILABLE"));
  EXPECT_THAT(service_.connections, IsEmpty());
}

TEST_F(XdsServer, AChangeOfTheChainsDrainsConnectionsAndLosesNoCall) {
  serve();
  offer(listener_of_server());
  wait(1s);
  struct steps {
    static task<> slow(generic_stub by, std::string& to) { to = co_await ask(by, "/a.A/Slow"); }
    static task<> all(XdsServer& t, generic_stub by, std::string& before) {
      scope calls{co_await coro::this_environment()};
      calls.spawn(slow(by, before));
      co_await sleep_for(1s);
      wire::Listener l = t.listener_of_server();
      l.mutable_filter_chains(0)->set_name("another");
      t.offer(l);
      co_await sleep_for(1s);
      const std::string after = co_await ask(by);
      EXPECT_EQ(after, "plaintext");
      EXPECT_THAT(t.service_.connections, SizeIs(2));
      EXPECT_EQ(before, "");
      co_await calls.join();
    }
  };
  std::string before;
  sync_wait(runtime_, runtime_.at(0), steps::all(*this, stub(), before));
  EXPECT_EQ(before, "plaintext");
  EXPECT_THAT(modes_, ElementsAre(status()));
}

TEST_F(XdsServer, ChangesInQuickSuccessionLoseNoCall) {
  serve();
  wire::Listener l = listener_of_server();
  offer(l);
  wait(1s);
  const generic_stub by = stub();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(answer(by), "plaintext") << i;
    l.mutable_filter_chains(0)->set_name(std::to_string(i));
    offer(l);
    wait(50ms);
  }
  EXPECT_THAT(service_.connections, SizeIs(10));
}

TEST_F(XdsServer, AListenerWhoseRoutesAreNotKnownYetLeavesWhatIsInUse) {
  serve();
  offer(listener_of_server());
  wait(1s);
  const generic_stub by = stub();
  EXPECT_EQ(answer(by), "plaintext");
  offer(listener_with_named_routes());
  wait(1s);
  EXPECT_EQ(answer(by), "plaintext");
  EXPECT_THAT(service_.connections, SizeIs(1));
  plane_.offer(resource_kind::route_configuration, "r", accepting_routes("r"));
  wait(1s);
  EXPECT_EQ(answer(by), "plaintext");
  EXPECT_THAT(service_.connections, SizeIs(2));
  EXPECT_THAT(modes_, ElementsAre(status()));
}

TEST_F(XdsServer, TheGraceOfADrainEndsCalls) {
  serve(insecure(), 1s);
  offer(listener_of_server());
  wait(1s);
  struct steps {
    static task<> slow(generic_stub by, std::string& to) { to = co_await ask(by, "/a.A/Slow"); }
    static task<> all(XdsServer& t, generic_stub by, std::string& before) {
      scope calls{co_await coro::this_environment()};
      calls.spawn(slow(by, before));
      co_await sleep_for(1s);
      wire::Listener l = t.listener_of_server();
      l.mutable_filter_chains(0)->set_name("another");
      t.offer(l);
      co_await sleep_for(2s);
      EXPECT_THAT(before, HasSubstr("UNAVAILABLE"));
      co_await calls.join();
    }
  };
  std::string before;
  sync_wait(runtime_, runtime_.at(0), steps::all(*this, stub(), before));
}

// A server that stops: it serves for leave_time, and then its calls have drain_grace. Each call has a
// connection of its own or not, is short or takes 5 s, and begins when it does.
class calls_at_the_end {
 public:
  explicit calls_at_the_end(XdsServer& of) : of_(of), old_(of.stub()) {}
  // How a call has ended, or "" until then.
  std::string& spawn(scope& in, const char* path, bool by_new_connection = false) {
    std::string& to = ends_.emplace_back();
    in.spawn(make(by_new_connection ? of_.stub() : old_, path, to));
    return to;
  }
  // One each 100 ms by either connection, until `end`.
  task<> make_many(time_point end) {
    scope all{co_await coro::this_environment()};
    while (of_.runtime_.at(0).now() < end) {
      spawn(all, "/a.A/Fast");
      spawn(all, "/a.A/Fast", true);
      co_await sleep_for(100ms);
    }
    co_await all.join();
  }
  [[nodiscard]] const std::deque<std::string>& ends() const noexcept { return ends_; }

 private:
  static task<> make(generic_stub by, const char* path, std::string& to) { to = co_await ask(by, path); }

  XdsServer& of_;
  const generic_stub old_;
  std::deque<std::string> ends_;
};

TEST_F(XdsServer, LosesNoCallWhileItLeavesAndEndsThoseThatTakeLongerThanTheGrace) {
  server_options of_server;
  of_server.leave_time = 10s;
  of_server.drain_grace = 2s;
  serve(insecure(), 1min, of_server);
  offer(listener_of_server());
  wait(1s);
  struct steps {
    static task<> all(XdsServer& t) {
      calls_at_the_end short_ones(t);
      calls_at_the_end long_ones(t);
      scope calls{co_await coro::this_environment()};
      std::string& before = long_ones.spawn(calls, "/a.A/Slow");
      t.server_->stop();
      const time_point left = t.runtime_.at(0).now();
      co_await sleep_for(3s);
      // The control plane still configures it: the connections so far drain.
      wire::Listener l = t.listener_of_server();
      l.mutable_filter_chains(0)->set_name("another");
      t.offer(l);
      co_await short_ones.make_many(left + 8s);
      std::string& in_grace = long_ones.spawn(calls, "/a.A/Slow");  // until 13 s: the grace ends at 12 s
      std::string& in_time = long_ones.spawn(calls, "/a.A/Fast", true);
      co_await sleep_for(1900ms);
      EXPECT_EQ(before, "plaintext");
      EXPECT_EQ(in_time, "plaintext");
      std::string& last = long_ones.spawn(calls, "/a.A/Fast", true);
      co_await sleep_for(50ms);
      EXPECT_EQ(last, "plaintext") << "0.1 s before the end of leave_time";
      co_await sleep_for(150ms);
      std::string& late = long_ones.spawn(calls, "/a.A/Fast", true);
      co_await sleep_for(100ms);
      EXPECT_THAT(late, HasSubstr("UNAVAILABLE")) << "after it";
      EXPECT_EQ(in_grace, "");
      co_await calls.join();
      EXPECT_THAT(in_grace, HasSubstr("UNAVAILABLE"));
      const duration took = t.runtime_.at(0).now() - left;
      EXPECT_GE(took, 12s);
      EXPECT_LT(took, 12500ms) << "the call was ended when the grace was over";
      EXPECT_GT(short_ones.ends().size(), 90u);
      EXPECT_THAT(short_ones.ends(), Each("plaintext"));
    }
  };
  sync_wait(runtime_, runtime_.at(0), steps::all(*this));
  EXPECT_THAT(modes_, ElementsAre(status()));
  EXPECT_THAT(plane_.rejections, IsEmpty());
  wait(1s);
  EXPECT_EQ(plane_.streams(), 0u);
}

// What drains because of an update ends by xds_server_options::drain_grace, also while the server leaves.
TEST_F(XdsServer, TheGraceOfAnUpdateHoldsWhileItLeaves) {
  server_options of_server;
  of_server.leave_time = 1min;
  serve(insecure(), 1s, of_server);
  offer(listener_of_server());
  wait(1s);
  struct steps {
    static task<> all(XdsServer& t) {
      calls_at_the_end calls_made(t);
      scope calls{co_await coro::this_environment()};
      std::string& before = calls_made.spawn(calls, "/a.A/Slow");
      co_await sleep_for(1s);
      t.server_->stop();
      co_await sleep_for(1s);
      wire::Listener l = t.listener_of_server();
      l.mutable_filter_chains(0)->set_name("another");
      t.offer(l);
      co_await sleep_for(500ms);
      EXPECT_EQ(before, "");
      std::string& after = calls_made.spawn(calls, "/a.A/Slow");
      co_await sleep_for(1s);
      EXPECT_THAT(before, HasSubstr("UNAVAILABLE"));
      co_await calls.join();
      EXPECT_EQ(after, "plaintext");
    }
  };
  sync_wait(runtime_, runtime_.at(0), steps::all(*this));
}

TEST_F(XdsServer, SaysWhatItCannotListenOn) {
  server by(runtime_);
  xds_server_options options;
  options.mesh.bootstrap = R"({"xds_servers":[{"server_uri":"p:1","channel_creds":[{"type":"insecure"}]}]})";
  xds_server without(by, options);
  EXPECT_THAT(without.listen("127.0.0.1:0", insecure()).to_string(),
              HasSubstr("server_listener_resource_name_template"));
  options.mesh.bootstrap = "{";
  xds_server invalid(by, options);
  EXPECT_THAT(invalid.listen("127.0.0.1:0", insecure()).to_string(), HasSubstr("JSON"));
  options.mesh.bootstrap = bootstrap_for(1);
  xds_server good(by, options);
  EXPECT_THAT(good.listen("unix:/tmp/nowhere", insecure()).to_string(), HasSubstr("IP addresses only"));
}

// Following the control plane does not keep the server's runtime busy.
TEST(XdsOverSockets, RunEndsWithTheServersDrain) {
  runtime of_plane;
  control_plane plane;
  server plane_server(of_plane);
  plane_server.set_fallback(plane);
  ASSERT_EQ(plane_server.listen("127.0.0.1:0", insecure()), status());
  of_plane.start();
  runtime of_server;
  answering service;
  server serving(of_server);
  serving.set_fallback(service);
  xds_server_options options;
  options.mesh.bootstrap = bootstrap_for(plane_server.port());
  xds_server mesh(serving, options);
  ASSERT_EQ(mesh.listen("127.0.0.1:0", insecure()), status());
  serving.stop();
  EXPECT_EQ(serving.run(), 0);
}

// Both sides have TLS with certificates of their bootstraps, over real sockets.
TEST(XdsOverSockets, AControlPlaneConfiguresBothSides) {
  runtime of_servers;
  runtime of_client;
  control_plane plane;
  server plane_server(of_servers);
  plane_server.set_fallback(plane);
  ASSERT_EQ(plane_server.listen("127.0.0.1:0", insecure()), status());
  answering service;
  server serving(of_servers);
  serving.set_fallback(service);
  event<> serves;
  xds_server_options options;
  options.mesh.bootstrap = bootstrap_for(plane_server.port());
  options.on_serving_change = [&serves](const net::address&, const status& mode) {
    if (mode.ok()) serves.set();
  };
  xds_server mesh(serving, options);
  ASSERT_EQ(mesh.listen("127.0.0.1:0", xds_server_credentials(insecure())), status());

  wire::DownstreamTlsContext down = served_by("server");
  verify_clients(down, "client");
  down.mutable_require_client_certificate()->set_value(true);
  wire::Listener l = inbound_listener_at("127.0.0.1", serving.port());
  set_tls(*l.mutable_filter_chains(0), down);
  plane.offer(resource_kind::listener, l.name(), l);
  plane.offer(resource_kind::listener, "target", listener_with("target", manager_of_rds("r")));
  plane.offer(resource_kind::route_configuration, "r", routes_to("r", "a"));
  wire::UpstreamTlsContext up;
  auto& common = *up.mutable_common_tls_context();
  common.mutable_tls_certificate_provider_instance()->set_instance_name("client");
  auto& validation = *common.mutable_validation_context();
  validation.mutable_ca_certificate_provider_instance()->set_instance_name("client");
  validation.add_match_subject_alt_names()->set_suffix(".example");
  wire::Cluster c = eds_cluster("a");
  c.mutable_transport_socket()->set_name("envoy.transport_sockets.tls");
  *c.mutable_transport_socket()->mutable_typed_config() =
      packed("envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext", up);
  plane.offer(resource_kind::cluster, "a", c);
  wire::ClusterLoadAssignment a;
  a.set_cluster_name("a");
  add_endpoint(*add_locality(a, "z", 1), "127.0.0.1", serving.port());
  plane.offer(resource_kind::endpoints, "a", a);
  of_servers.start();

  struct steps {
    static task<> wait_for(event<>& e) { co_await e; }
  };
  sync_wait(of_client, steps::wait_for(serves));
  xds_options of_channel;
  of_channel.bootstrap = bootstrap_for(plane_server.port());
  channel_options with;
  with.add_resolver("xds", xds_resolver(of_channel));
  const generic_stub by(channel(of_client, "xds:///target", xds_credentials(insecure()), with));
  EXPECT_EQ(sync_wait(of_client, ask(by)), "tls by ada.example");
  EXPECT_THAT(plane.rejections, IsEmpty());
}

}  // namespace
}  // namespace coracle::xds::xds_server_test
