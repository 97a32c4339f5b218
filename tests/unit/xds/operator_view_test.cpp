// What operators see of a channel of xds:///name: its resources and policies on pages, and its metrics, in
// virtual time.
#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/server.hpp"
#include "coracle/telemetry/telemetry.hpp"
#include "coracle/xds/xds.hpp"
#include "rpc/configured_clients.hpp"
#include "telemetry/pages/page_source.hpp"
#include "unit/xds/control_plane.hpp"
#include "unit/xds/resource_builders.hpp"

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::xds::operator_view_test {
namespace {

using namespace testing_resources;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class answering final : public generic_service {
 public:
  replies<bytes_message> call(server_context&, reader<bytes_message>) override {
    ++calls;
    const bytes_message reply("here");
    co_yield reply;
    co_return ok;
  }

  int calls = 0;
};

telemetry_options measured() {
  telemetry_options options;
  options.enabled = {"grpc.*"};
  options.optional_labels = {"grpc.lb.locality", "grpc.lb.backend_service"};
  return options;
}

constexpr const char* place = R"({region="", zone="here", sub_zone=""})";

// One channel, whose calls go to the cluster "a" in one locality.
class OperatorView : public testing::Test {
 public:
  OperatorView() : plane_server_(runtime_), backend_(runtime_), metrics_(runtime_, measured()) {
    plane_server_.set_fallback(plane_);
    backend_.set_fallback(service_);
    for (server* const each : {&plane_server_, &backend_})
      EXPECT_EQ(each->listen("127.0.0.1:0", insecure()), status());
  }

  void offer(const std::string& balancing_type = {}) {
    wire::RouteConfiguration r;
    r.set_name("r");
    auto* const host = r.add_virtual_hosts();
    host->set_name("h");
    host->add_domains("target");
    auto* const route = host->add_routes();
    route->mutable_match()->set_prefix("");
    route->mutable_route()->set_cluster("a");
    plane_.offer(resource_kind::listener, "target", listener_with("target", manager_of_rds("r")));
    plane_.offer(resource_kind::route_configuration, "r", r);
    wire::Cluster c = eds_cluster("a");
    if (!balancing_type.empty()) {
      wire::WeightedRoundRobin weights;
      weights.mutable_weight_update_period()->set_seconds(1);
      wire::WrrLocality by_locality;
      auto* const leaf =
          by_locality.mutable_endpoint_picking_policy()->add_policies()->mutable_typed_extension_config();
      leaf->set_name("leaf");
      *leaf->mutable_typed_config() = packed(balancing_type, weights);
      auto* const top = c.mutable_load_balancing_policy()->add_policies()->mutable_typed_extension_config();
      top->set_name("top");
      *top->mutable_typed_config() =
          packed("envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality", by_locality);
    }
    plane_.offer(resource_kind::cluster, "a", c);
    wire::ClusterLoadAssignment all;
    all.set_cluster_name("a");
    add_endpoint(*add_locality(all, "here", 1, 0), "127.0.0.1", backend_.port());
    plane_.offer(resource_kind::endpoints, "a", all);
  }
  generic_stub stub() {
    xds_options mesh;
    mesh.bootstrap = R"({"xds_servers":[{"server_uri":"127.0.0.1:)" + std::to_string(plane_server_.port()) +
                     R"(","channel_creds":[{"type":"insecure"}]}],"node":{"id":"n"}})";
    channel_options options;
    options.add_resolver("xds", xds_resolver(mesh));
    return generic_stub(channel(runtime_, "xds:///target", insecure(), options));
  }
  static task<status> ask(const generic_stub& by) {
    const bytes_message nothing;
    auto call = by.unary("/where.Where/Ask", nothing);
    const auto reply = co_await call;
    co_return reply.status();
  }
  static task<std::vector<rpc::configured_client>> look() {
    const auto read = rpc::configured_clients::of(loop::current()->owner())->get();
    EXPECT_TRUE(read);
    auto reading = read();
    co_return co_await std::move(reading);
  }
  void play(task<> steps) { sync_wait(runtime_, runtime_.at(0), std::move(steps)); }

  sim::world world_{1};
  runtime& runtime_ = world_.host("host");
  control_plane plane_;
  answering service_;
  server plane_server_;
  server backend_;
  const telemetry metrics_;
};

// "name (detail)" of each policy, a space for each one above it.
void add_lines(const rpc::policy_outline& of, const std::string& indent, std::vector<std::string>& to) {
  to.push_back(indent + of.name + (of.detail.empty() ? "" : " (" + of.detail + ")"));
  for (const rpc::policy_outline& each : of.children) add_lines(each, indent + " ", to);
}

TEST_F(OperatorView, HasTheResourcesAndThePoliciesOfAChannel) {
  offer();
  struct steps {
    static task<> all(std::optional<generic_stub> by, OperatorView& t) {
      const status asked = co_await ask(*by);
      EXPECT_EQ(asked, status());
      std::vector<rpc::configured_client> seen = co_await look();
      EXPECT_EQ(seen.size(), 1u);
      const rpc::configured_client first = seen.at(0);
      EXPECT_EQ(first.target, "xds:///target");
      EXPECT_EQ(first.node, "n");
      EXPECT_EQ(first.resource_count, 4u);
      std::vector<std::string> named;
      for (const rpc::configured_resource& r : first.resources) {
        named.push_back(r.name + " " + std::string(r.state));
        EXPECT_FALSE(r.version.empty());
        EXPECT_NE(r.updated, wall_time());
        EXPECT_EQ(r.error, "");
      }
      EXPECT_THAT(named, UnorderedElementsAre("target acked", "r acked", "a acked", "a acked"));
      std::vector<std::string> lines;
      add_lines(first.policies.value(), "", lines);
      EXPECT_THAT(lines, ElementsAre("cluster_manager", " a", "  outlier_detection (ejects no server)",
                                     "   drops (calls at a time: 1024)", "    priority", "     a 0",
                                     "      weighted_target", "       /here/ (servers: 1, weight: 1)",
                                     "        round_robin"));

      using telemetry_internal::page_source;
      const auto pages =
          std::make_shared<page_source>(t.metrics_.internals().shared_from_this(), nullptr, false);
      auto reading = pages->page("xds");
      const services::ordered_json page = co_await std::move(reading);
      EXPECT_EQ(page.at("client_count"), 1);
      const services::ordered_json& shown = page.at("clients").at(0);
      EXPECT_EQ(shown.at("target"), "xds:///target");
      EXPECT_EQ(shown.at("resources").size(), 4u);
      EXPECT_EQ(shown.at("policies").at("children").at(0).at("name"), "a");
      EXPECT_EQ(shown.at("policies_cut"), false);

      wire::Cluster invalid;
      invalid.set_name("a");
      invalid.set_type(1);
      t.plane_.offer(resource_kind::cluster, "a", invalid);
      co_await sleep_for(1s);
      seen = co_await look();
      for (const rpc::configured_resource& r : seen.at(0).resources) {
        if (r.type != type_name(resource_kind::cluster)) continue;
        EXPECT_EQ(r.state, "nacked");
        EXPECT_THAT(r.error, HasSubstr("\"a\""));
        EXPECT_FALSE(r.failed_version.empty());
        EXPECT_NE(r.version, r.failed_version);
      }
      by.reset();
      co_await sleep_for(1s);
      const std::vector<rpc::configured_client> none = co_await look();
      EXPECT_EQ(none.size(), 0u);
    }
  };
  play(steps::all(stub(), *this));
}

// The values of the labels of each point, in the order of their keys, and its value or count.
using series = std::map<std::vector<std::string>, double>;

series series_of(const metrics_snapshot& in, std::string_view name) {
  series found;
  const metric_family* const family = in.find(name);
  if (!family) return found;
  for (const metric_point& p : family->points) {
    std::vector<std::string> values;
    for (const auto& [key, value] : p.labels) values.push_back(value);
    found[values] = p.histogram ? static_cast<double>(p.histogram->count) : p.value;
  }
  return found;
}

TEST_F(OperatorView, CallsAndConnectionsHaveTheClusterAndTheLocalityAsLabels) {
  offer(
      "envoy.extensions.load_balancing_policies.client_side_weighted_round_robin.v3."
      "ClientSideWeightedRoundRobin");
  struct steps {
    static task<> all(generic_stub by, OperatorView& t) {
      for (int i = 0; i < 3; ++i) {
        const status asked = co_await ask(by);
        EXPECT_EQ(asked, status());
        co_await sleep_for(2s);  // weights are computed again
      }
      const metrics_snapshot now = co_await t.metrics_.metrics();
      const std::string target = "xds:///target";
      const series attempts = series_of(now, "grpc.client.attempt.duration");
      EXPECT_EQ(attempts.at({"other", target, "OK", place, "a"}), 3);
      for (const auto& [values, count] : attempts)
        EXPECT_TRUE(values.at(1) != target || values.at(3) == place) << values.at(3);
      EXPECT_EQ(series_of(now, "grpc.client.attempt.started").at({"other", target}), 3);
      EXPECT_EQ(series_of(now, "grpc.client.call.duration").at({"other", target, "OK"}), 3);
      EXPECT_EQ(series_of(now, "grpc.subchannel.open_connections").at({target, "a", place}), 1);
      EXPECT_EQ(series_of(now, "grpc.subchannel.connection_attempts_succeeded").at({target, "a", place}), 1);
      EXPECT_GT(series_of(now, "grpc.lb.wrr.rr_fallback").at({target, place, "a"}), 0);
    }
  };
  play(steps::all(stub(), *this));
}

// Of the server that a call goes to, also if the policy chooses among the servers of all localities.
TEST_F(OperatorView, ACallHasTheLocalityOfItsServerAsALabel) {
  answering there_service;
  server there_server(runtime_);
  there_server.set_fallback(there_service);
  EXPECT_EQ(there_server.listen("127.0.0.1:0", insecure()), status());
  struct steps {
    static task<> all(generic_stub by, OperatorView& t, answering& there, server& beside) {
      for (const int policy : {0, 2}) {  // ROUND_ROBIN below weights of localities, and RING_HASH
        t.offer();
        wire::Cluster c = eds_cluster("a");
        c.set_lb_policy(policy);
        t.plane_.offer(resource_kind::cluster, "a", c);
        wire::ClusterLoadAssignment two;
        two.set_cluster_name("a");
        add_endpoint(*add_locality(two, "here", 1, 0), "127.0.0.1", t.backend_.port());
        add_endpoint(*add_locality(two, "there", 1, 0), "127.0.0.1", beside.port());
        t.plane_.offer(resource_kind::endpoints, "a", two);
        const status first = co_await ask(by);
        EXPECT_EQ(first, status());
        co_await sleep_for(1s);
        for (int i = 0; i < 20; ++i) {
          const status asked = co_await ask(by);
          EXPECT_EQ(asked, status());
        }
      }
      EXPECT_GT(t.service_.calls, 10);
      EXPECT_GT(there.calls, 10);
      const metrics_snapshot now = co_await t.metrics_.metrics();
      const series attempts = series_of(now, "grpc.client.attempt.duration");
      const std::string target = "xds:///target";
      EXPECT_EQ(attempts.at({"other", target, "OK", place, "a"}), t.service_.calls);
      EXPECT_EQ(attempts.at({"other", target, "OK", R"({region="", zone="there", sub_zone=""})", "a"}),
                there.calls);
      co_await beside.drain(duration::zero());
    }
  };
  play(steps::all(stub(), *this, there_service, there_server));
}

TEST_F(OperatorView, MetricsCountTheControlPlaneAndItsResources) {
  offer();
  struct steps {
    static task<> all(generic_stub by, OperatorView& t) {
      const status asked = co_await ask(by);
      EXPECT_EQ(asked, status());
      const std::string plane = "127.0.0.1:" + std::to_string(t.plane_server_.port());
      const std::string target = "xds:///target";
      const std::string cluster(type_name(resource_kind::cluster));
      const std::string listener(type_name(resource_kind::listener));
      metrics_snapshot now = co_await t.metrics_.metrics();
      EXPECT_EQ(series_of(now, "grpc.xds_client.connected"), (series{{{target, plane}, 1}}));
      EXPECT_EQ(series_of(now, "grpc.xds_client.resource_updates_valid").at({target, plane, cluster}), 1);
      EXPECT_THAT(series_of(now, "grpc.xds_client.resource_updates_invalid"), IsEmpty());
      EXPECT_THAT(series_of(now, "grpc.xds_client.server_failure"), IsEmpty());
      EXPECT_EQ(series_of(now, "grpc.xds_client.resources").at({target, "#old", "acked", listener}), 1);

      wire::Cluster invalid;
      invalid.set_name("a");
      invalid.set_type(1);
      t.plane_.offer(resource_kind::cluster, "a", invalid);
      co_await sleep_for(1s);
      now = co_await t.metrics_.metrics();
      EXPECT_GE(series_of(now, "grpc.xds_client.resource_updates_invalid").at({target, plane, cluster}), 1);
      const series resources = series_of(now, "grpc.xds_client.resources");
      EXPECT_EQ(resources.at({target, "#old", "nacked_but_cached", cluster}), 1);
      EXPECT_FALSE(resources.contains({target, "#old", "acked", cluster})) << "the gauge has both states";

      co_await t.plane_server_.drain(duration::zero());
      co_await sleep_for(30s);
      now = co_await t.metrics_.metrics();
      EXPECT_EQ(series_of(now, "grpc.xds_client.connected"), (series{{{target, plane}, 0}}));
      EXPECT_EQ(series_of(now, "grpc.xds_client.server_failure"), (series{{{target, plane}, 1}}));
    }
  };
  play(steps::all(stub(), *this));
}

}  // namespace
}  // namespace coracle::xds::operator_view_test
