// The same for what control planes configure: channels of xds:///name, and listeners of servers. Allocations
// fail from their beginning on, and they work as soon as there is memory again.
#include "out_of_memory/failing_host.hpp"
#include "unit/xds/control_plane.hpp"
#include "unit/xds/inbound_builders.hpp"
#include "unit/xds/resource_builders.hpp"

#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/server.hpp"
#include "coracle/xds/xds.hpp"
#include "coracle/xds/xds_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace coracle::every_mesh_allocation_test {
namespace {

using namespace std::chrono_literals;
using namespace test;
using namespace xds::testing_resources;
using xds::resource_kind;

class answering final : public generic_service {
 public:
  replies<bytes_message> call(server_context&, reader<bytes_message>) override {
    auto out = co_await replies<bytes_message>::writer();
    const bytes_message reply("here");
    co_await out.write(reply);
    co_return coracle::ok;
  }
};

struct steps {
  static task<> wait(duration d) { co_await sleep_for(d); }
  static task<> call(generic_stub by) {
    const bytes_message nothing;
    for (int i = 0; i < 3; ++i) {
      const call_options brief = within(2s);
      auto one = by.unary("/a.A/Ask", nothing, brief);
      (void)co_await one;
    }
  }
  // What failed may have left a pause before the next attempt, until which calls fail.
  static task<std::string> call_at_last(generic_stub by) {
    const bytes_message nothing;
    status last;
    for (int i = 0; i < 20; ++i) {
      const call_options patient = within(30s);
      auto one = by.unary("/a.A/Ask", nothing, patient);
      const auto reply = co_await one;
      if (reply) co_return "";
      last = reply.status();
      co_await sleep_for(10s);  // sleeps on purpose: virtual time
    }
    co_return "the calls after all this end with " + last.to_string();
  }
};

// A control plane, and a server that it may configure.
struct mesh {
  explicit mesh(runtime& host, const std::string& address) : plane_server(host) {
    plane_server.set_fallback(plane);
    EXPECT_EQ(plane_server.listen("0.0.0.0:50050", insecure()), status());
    bootstrap = R"({"xds_servers":[{"server_uri":")" + address +
                R"(:50050","channel_creds":[{"type":"insecure"}]}],"node":{"id":"n"},)" +
                R"("server_listener_resource_name_template":"inbound/%s"})";
  }
  xds_options options() const {
    xds_options o;
    o.bootstrap = bootstrap;
    return o;
  }

  control_plane plane;
  server plane_server;
  std::string bootstrap;
};

std::string play_channel() {
  two_hosts hosts(two_hosts::failing::client);
  const std::string address = hosts.world.address_of("server");
  mesh m(hosts.server, address);
  answering service;
  server backend(hosts.server);
  backend.set_fallback(service);
  EXPECT_EQ(backend.listen("0.0.0.0:50051", insecure()), status());
  m.plane.offer(resource_kind::listener, "target", listener_with("target", manager_of_rds("r")));
  m.plane.offer(resource_kind::route_configuration, "r", routes_to("r", "a"));
  m.plane.offer(resource_kind::cluster, "a", eds_cluster("a"));
  xds::wire::ClusterLoadAssignment a;
  a.set_cluster_name("a");
  add_endpoint(*add_locality(a, "z", 1), address, 50051);
  m.plane.offer(resource_kind::endpoints, "a", a);
  channel_options options;
  options.add_resolver("xds", xds_resolver(m.options()));
  const generic_stub by(channel(hosts.client, "xds:///target", insecure(), options));
  const generic_stub beside(channel(hosts.client, "xds:///target", insecure(), options));
  hosts.world.run_for(1ms);
  with_failing_allocations([&] {
    sync_wait(hosts.client, steps::call(by));
    sync_wait(hosts.client, steps::call(beside));
  });
  std::string wrong = sync_wait(hosts.client, steps::call_at_last(by));
  if (wrong.empty()) wrong = sync_wait(hosts.client, steps::call_at_last(beside));
  return wrong;
}

std::string play_listener() {
  two_hosts hosts(two_hosts::failing::client);
  mesh m(hosts.server, hosts.world.address_of("server"));
  const std::string address = hosts.world.address_of("client");
  xds::wire::Listener l = inbound_listener_at(address, 50051);
  set_manager(*l.mutable_filter_chains(0), manager_of_rds("r"));
  m.plane.offer(resource_kind::listener, l.name(), l);
  m.plane.offer(resource_kind::route_configuration, "r", accepting_routes("r"));
  answering service;
  server serving(hosts.client);
  serving.set_fallback(service);
  xds_server_options options;
  options.mesh = m.options();
  xds_server configured(serving, options);
  if (const status s = configured.listen(address + ":50051", insecure()); !s.ok()) return s.to_string();
  with_failing_allocations([&] { sync_wait(hosts.client, steps::wait(1s)); });
  const generic_stub by(channel(hosts.server, address + ":50051", insecure()));
  return sync_wait(hosts.server, steps::call_at_last(by));
}

TEST(EveryAllocationOfAMesh, OfAChannelMayFail) { expect_each_may_fail(play_channel, 200); }
TEST(EveryAllocationOfAMesh, OfAChannelMayFailWithThoseThatFollow) {
  expect_each_may_fail(play_channel, 50, options_for(20, 5));
}
// A server that begins to listen is not told that a loop has no memory for it.
failing_options once_it_listens(failing_options o) {
  o.exceptions = {"server_internal::shard::listen"};
  return o;
}
TEST(EveryAllocationOfAMesh, OfAListenerMayFail) {
  expect_each_may_fail(play_listener, 100, once_it_listens(options_for(1, 1)));
}
TEST(EveryAllocationOfAMesh, OfAListenerMayFailWithThoseThatFollow) {
  expect_each_may_fail(play_listener, 20, once_it_listens(options_for(20, 5)));
}

}  // namespace
}  // namespace coracle::every_mesh_allocation_test
