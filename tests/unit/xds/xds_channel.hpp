// XdsChannel: channels for xds:///target with a control plane and servers, in virtual time, for tests.
#pragma once

#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/rpc/load_report.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/server.hpp"
#include "coracle/xds/xds.hpp"
#include "support/kept_log.hpp"
#include "unit/xds/control_plane.hpp"
#include "unit/xds/resource_builders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace coracle::xds::testing_resources {

// Answers with its name, or as its members say.
class backend final : public generic_service {
 public:
  static constexpr std::uint32_t streams = 100;  // of a connection

  backend(runtime& on, std::string name, const server_options& of = limited())
      : name_(std::move(name)), server_(on, of) {
    server_.set_fallback(*this);
    EXPECT_EQ(server_.listen("127.0.0.1:0", insecure()), status());
  }
  replies<bytes_message> call(server_context& context, reader<bytes_message>) override {
    ++calls;
    connections.insert(context.peer().port());
    last_metadata = context.metadata();
    authority = context.authority();
    if (load) context.load() = *load;
    if (delay > duration::zero()) co_await sleep_for(delay);
    if (failures > 0) {
      --failures;
      co_return status(failure, "as the test wants");
    }
    auto out = co_await replies<bytes_message>::writer();
    const bytes_message reply(name_);
    co_await out.write(reply);
    co_return coracle::ok;
  }
  [[nodiscard]] std::uint16_t port() const { return server_.port(); }
  [[nodiscard]] task<> stop() { return server_.drain(duration::zero()); }
  static server_options limited() {
    server_options o;
    o.limits.streams = streams;
    return o;
  }
  // Accepts nothing more, and ends when its calls have ended.
  [[nodiscard]] task<> leave() { return server_.drain(std::chrono::minutes(1)); }

  int calls = 0;
  int failures = 0;
  status_code failure = status_code::unavailable;
  duration delay{};
  std::optional<load_report> load;
  metadata last_metadata;
  std::set<std::uint16_t> connections;
  std::string authority;  // of the last call

 private:
  const std::string name_;
  server server_;
};

constexpr std::uint16_t refused_port = 1;

class XdsChannel : public testing::Test {
 public:
  XdsChannel() {
    plane_server_.emplace(runtime_);
    plane_server_->set_fallback(plane_);
    EXPECT_EQ(plane_server_->listen("127.0.0.1:0", insecure()), status());
    for (const char* name : {"0", "1", "2", "3", "4"})
      backends_.push_back(std::make_unique<backend>(runtime_, name));
  }

  void TearDown() override { EXPECT_THAT(plane_.rejections, testing::IsEmpty()); }

  // --- resources
  wire::RouteConfiguration routes(const std::function<void(wire::VirtualHost&)>& fill) {
    wire::RouteConfiguration r;
    r.set_name("r");
    auto* const host = r.add_virtual_hosts();
    host->set_name("h");
    host->add_domains("target");
    fill(*host);
    return r;
  }
  static wire::Route* add_route(wire::VirtualHost& to, const std::string& cluster,
                                const std::string& prefix = "") {
    auto* const r = to.add_routes();
    r->mutable_match()->set_prefix(prefix);
    if (!cluster.empty()) r->mutable_route()->set_cluster(cluster);
    return r;
  }
  void offer_routes(const std::function<void(wire::VirtualHost&)>& fill) {
    plane_.offer(resource_kind::listener, "target", listener_with("target", manager_of_rds("r")));
    plane_.offer(resource_kind::route_configuration, "r", routes(fill));
  }
  void offer_route_to(const std::string& cluster) {
    offer_routes([&](wire::VirtualHost& h) { add_route(h, cluster); });
  }
  struct place {
    std::uint16_t port;
    std::uint32_t priority = 0;
    std::uint32_t weight = 1;
  };
  // Each place is a locality of its own.
  static wire::ClusterLoadAssignment assignment(const std::string& name, const std::vector<place>& places) {
    wire::ClusterLoadAssignment a;
    a.set_cluster_name(name);
    int zone = 0;
    for (const place& p : places)
      add_endpoint(*add_locality(a, "z" + std::to_string(zone++), p.weight, p.priority), "127.0.0.1", p.port);
    return a;
  }
  void offer_cluster(const wire::Cluster& c, const wire::ClusterLoadAssignment& a) {
    plane_.offer(resource_kind::cluster, c.name(), c);
    plane_.offer(resource_kind::endpoints, a.cluster_name(), a);
  }
  void offer_cluster(const std::string& name, const std::vector<place>& places) {
    offer_cluster(eds_cluster(name), assignment(name, places));
  }
  // gRFC A37: a cluster of the type LOGICAL_DNS.
  static wire::Cluster cluster_by_name(const std::string& name, const std::string& host, std::uint16_t at) {
    wire::Cluster c;
    c.set_name(name);
    c.set_type(2);
    set_address(*c.mutable_load_assignment()
                     ->add_endpoints()
                     ->add_lb_endpoints()
                     ->mutable_endpoint()
                     ->mutable_address(),
                host, at);
    return c;
  }
  void offer_cluster_by_name(const std::string& name, const std::string& host, std::uint16_t at) {
    plane_.offer(resource_kind::cluster, name, cluster_by_name(name, host, at));
  }
  [[nodiscard]] std::uint16_t port(std::size_t i) const { return backends_.at(i)->port(); }

  // --- calls
  [[nodiscard]] std::string bootstrap_json(const std::string& features = "[]") const {
    return R"({"xds_servers":[{"server_uri":"127.0.0.1:)" + std::to_string(plane_server_->port()) +
           R"(","channel_creds":[{"type":"insecure"}],"server_features":)" + features +
           R"(}],"node":{"id":"n"}})";
  }
  generic_stub stub(const xds_options& mesh) {
    channel_options options;
    options.add_resolver("xds", xds_resolver(mesh));
    return generic_stub(channel(runtime_, "xds:///target", insecure(), options));
  }
  generic_stub stub(const std::string& bootstrap) {
    xds_options mesh;
    mesh.bootstrap = bootstrap;
    return stub(mesh);
  }
  generic_stub stub() { return stub(bootstrap_json()); }

  using counts = std::map<std::string, int>;
  // The name of the server, or the text of the failure.
  static task<std::string> ask(const generic_stub& by, call_options options = {},
                               const char* path = "/where.Where/Ask") {
    const bytes_message nothing;
    auto call = by.unary(path, nothing, options);
    const auto reply = co_await call;
    if (reply) co_return std::string(reply->bytes());
    co_return std::string(name_of(reply.status().code())) + ": " + std::string(reply.status().message());
  }
  static task<counts> ask_often(const generic_stub& by, int times, call_options options = {}) {
    counts by_answer;
    for (int i = 0; i < times; ++i) {
      const std::string answer = co_await ask(by, options);
      ++by_answer[answer];
    }
    co_return by_answer;
  }
  static call_options with(const char* key, const std::string& value) {
    call_options o;
    o.metadata.add(key, value);
    return o;
  }
  void play(task<> steps) { sync_wait(runtime_, runtime_.at(0), std::move(steps)); }

  testing_support::kept_log log_;
  sim::world world_{1, sim::world_options{.log = &log_}};
  runtime& runtime_ = world_.host("host");
  control_plane plane_;
  std::optional<server> plane_server_;
  std::vector<std::unique_ptr<backend>> backends_;
};

}  // namespace coracle::xds::testing_resources
