// bench_routed CALLS MODE: calls of a client in a simulated world, one after the other, through a channel
// whose resolver gives it
// direct: one server
// spread: the same, under round_robin
// levels: the same, under the five policies that xDS has above a cluster's, with one route for all calls
// routed: as levels, with the last of the 10 routes of one of 100 virtual hosts
// Prints a line of JSON; under callgrind only the measured part, of client and server, is collected.
//
// bench_routed ENDPOINTS memory: what a channel keeps of a cluster with so many endpoints, in bytes each: the
// resource, the policies, and subchannels, for ring_hash, which connects to the first alone.
#include "client/call/call_router.hpp"
#include "helloworld.coracle.hpp"
#include "micro/measured.hpp"
#include "xds/resolving/policy_tree.hpp"
#include "xds/resolving/route_table.hpp"
#include "xds/routing/route_lookup.hpp"

#include <coracle/client.hpp>
#include <coracle/runtime/sim.hpp>
#include <coracle/server.hpp>

#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace {

namespace xds = coracle::xds;
using bench::measured;

constexpr std::size_t warm_up_calls = 100;
constexpr std::size_t hosts = 100;
constexpr std::size_t routes_per_host = 10;

class greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                  const helloworld::HelloRequest& request) override {
    helloworld::HelloReply reply;
    reply.set_message(request.name());
    return reply;
  }
};

xds::route route_to(const std::string& cluster, const std::string& prefix) {
  xds::route r;
  r.match.path.how = xds::text_matcher::kind::prefix;
  r.match.path.text = prefix;
  r.kind = xds::route::action_kind::forward;
  r.action.clusters.push_back({cluster, 1});
  return r;
}

// The route of the calls is the last one of its host.
xds::route_configuration routes_to(const std::string& cluster, std::size_t of_hosts, std::size_t of_routes) {
  xds::route_configuration all;
  for (std::size_t h = 0; h < of_hosts; ++h) {
    xds::virtual_host& host = all.virtual_hosts.emplace_back();
    host.domains.push_back(
        {xds::domain_pattern::kind::exact, h + 1 == of_hosts ? "target" : "host" + std::to_string(h)});
    for (std::size_t r = 1; r < of_routes; ++r)
      host.routes.push_back(route_to(cluster, "/package.Service" + std::to_string(r) + "/"));
    host.routes.push_back(route_to(cluster, ""));
  }
  return all;
}

xds::target_state state_of(std::size_t of_hosts, std::size_t of_routes, const std::string& policy,
                           std::uint16_t port, std::size_t endpoints) {
  const auto routes =
      std::make_shared<const xds::route_configuration>(routes_to("cluster", of_hosts, of_routes));
  auto cluster = std::make_shared<xds::cluster>();
  cluster->name = "cluster";
  cluster->discovery = xds::cluster::eds{"cluster"};
  cluster->balancing = policy;
  auto assigned = std::make_shared<xds::cluster_endpoints>();
  assigned->name = "cluster";
  xds::locality_endpoints& local = assigned->priorities.emplace_back().emplace_back();
  local.weight = 1;
  for (std::size_t i = 0; i < endpoints; ++i)
    local.endpoints.emplace_back().addresses.push_back({"127.0.0.1", static_cast<std::uint16_t>(port + i)});
  xds::target_state state;
  state.of = std::make_shared<const xds::listener>();
  state.host = {routes, xds::find_virtual_host(*routes, "target")};
  state.clusters.push_back(
      {"cluster", {{"cluster", std::move(cluster), std::move(assigned), coracle::status()}}, {}});
  return state;
}

// Publishes one result for good.
class fixed_resolver final : public coracle::client::resolver {
 public:
  explicit fixed_resolver(coracle::client::resolution r) : result_(std::move(r)) {}
  coracle::task<> run(const coracle::client::target&, coracle::client::resolution_sink& to) override {
    to.publish(result_);
    for (;;) co_await to.wait_until_requested();
  }

 private:
  coracle::client::resolution result_;
};

coracle::client::resolution routing_of(xds::policy_tree& tree, const xds::target_state& state) {
  auto built = tree.build(state);
  auto router = std::make_shared<const xds::route_table>(state, std::move(built.clusters), 1, 1);
  return coracle::client::resolution().routing(std::make_shared<coracle::client::channel_routing>(
      coracle::client::channel_routing{std::move(built.policy), std::move(router)}));
}

coracle::channel channel_with(coracle::runtime& on, coracle::client::resolution r,
                              coracle::balancing policy) {
  coracle::channel_options options;
  options.balance = std::move(policy);
  options.add_resolver("fixed", [r = std::move(r)](const coracle::client::target&) {
    return std::make_shared<fixed_resolver>(r);
  });
  return coracle::channel(on, "fixed:///target", coracle::insecure(), options);
}

coracle::task<> make_calls(helloworld::rpc::Greeter::stub stub, std::size_t times, bool& wrong) {
  helloworld::HelloRequest request;
  request.set_name(std::string(100, 'x'));
  for (std::size_t i = 0; i < warm_up_calls + times; ++i) {
    if (i == warm_up_calls) measured::begin();
    const auto reply = co_await stub.SayHello(request);
    wrong |= !reply || reply->message() != request.name();
  }
  measured::end();
}

bool call(std::size_t calls, std::string_view mode) {
  coracle::sim::world world(1);
  coracle::runtime& host = world.host("host");
  greeter service;
  coracle::server server(host);
  server.add(service);
  if (!server.listen("127.0.0.1:0", coracle::insecure()).ok()) return false;
  xds::program_policies none({});
  xds::policy_tree tree(
      std::make_shared<const xds::bootstrap>(),
      [](const std::string&, const std::string&) { return nullptr; }, none);
  coracle::client::resolution found;
  if (mode == "levels" || mode == "routed") {
    const bool many = mode == "routed";
    found = routing_of(tree, state_of(many ? hosts : 1, many ? routes_per_host : 1, R"([{"round_robin":{}}])",
                                      server.port(), 1));
  } else {
    found.add(*coracle::net::address::parse("127.0.0.1:" + std::to_string(server.port())));
  }
  const coracle::channel channel =
      channel_with(host, std::move(found),
                   mode == "direct" ? coracle::balancing::pick_first() : coracle::balancing::round_robin());
  bool wrong = false;
  host.spawn(make_calls(helloworld::rpc::Greeter::stub(channel), calls, wrong));
  world.run_for(std::chrono::hours(1));
  return !wrong;
}

// In the heap, and in the mappings of large blocks.
std::size_t used_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Begins to resolve, and makes subchannels, without a call.
double bytes_per_endpoint(std::size_t endpoints) {
  constexpr std::uint16_t first_port = 20000;
  coracle::sim::world world(1);
  coracle::runtime& host = world.host("host");
  coracle::server first(host);
  first.listen("127.0.0.1:" + std::to_string(first_port), coracle::insecure()).throw_if_error();
  const std::size_t before = used_bytes();
  xds::program_policies none({});
  xds::policy_tree tree(
      std::make_shared<const xds::bootstrap>(),
      [](const std::string&, const std::string&) { return nullptr; }, none);
  coracle::channel channel = channel_with(
      host, routing_of(tree, state_of(1, 1, R"([{"ring_hash_experimental":{}}])", first_port, endpoints)),
      coracle::balancing::pick_first());
  channel.connect();
  world.run_for(std::chrono::seconds(1));
  return static_cast<double>(used_bytes() - before) / static_cast<double>(endpoints);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc == 3 ? std::strtoul(argv[1], nullptr, 10) : 0;
  const std::string_view mode = argc == 3 ? argv[2] : "";
  if (n > 0 && mode == "memory") {
    std::printf("{\"endpoints\": %zu, \"bytes_each\": %.0f}\n", n, bytes_per_endpoint(n));
    return 0;
  }
  if (n == 0 || (mode != "direct" && mode != "spread" && mode != "levels" && mode != "routed")) {
    std::fputs("usage: bench_routed CALLS direct|spread|levels|routed, or bench_routed ENDPOINTS memory\n",
               stderr);
    return 2;
  }
  if (!call(n, mode)) {
    std::fputs("bench_routed: an answer is not right\n", stderr);
    return 1;
  }
  std::printf("{\"calls\": %zu, \"allocations\": %llu}\n", n,
              static_cast<unsigned long long>(measured::allocations));
}
