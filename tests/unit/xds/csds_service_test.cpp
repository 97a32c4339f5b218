// Of several runtimes; what csds_service reports of one is tested with channels and with servers.
#include "coracle/xds/csds_service.hpp"

#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/security/insecure.hpp"
#include "coracle/server/server.hpp"
#include "coracle/xds/xds.hpp"
#include "xds/status/client_registry.hpp"
#include "xds/wire/status.pb.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::xds::csds_service_test {
namespace {

task<std::vector<std::string>> scopes_by(generic_stub ask) {
  const bytes_message nothing;
  auto call = ask.unary("/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus", nothing);
  const auto reply = co_await call;
  EXPECT_EQ(reply.status(), status());
  wire::ClientStatusResponse found;
  EXPECT_TRUE(reply && found.ParseFromString(std::string(reply->bytes())));
  std::vector<std::string> scopes;
  for (const auto& one : found.config()) scopes.push_back(one.client_scope());
  co_return scopes;
}

// A server of operators.
class operators {
 public:
  operators(runtime& on, csds_scope scope) : runtime_(on), csds_(scope), server_(on) {
    server_.add(csds_);
    EXPECT_EQ(server_.listen("127.0.0.1:0", insecure()), status());
  }
  std::vector<std::string> scopes() {
    auto asking =
        scopes_by(generic_stub(channel(runtime_, "127.0.0.1:" + std::to_string(server_.port()), insecure())));
    return sync_wait(runtime_, std::move(asking));
  }

 private:
  runtime& runtime_;
  csds_service csds_;
  server server_;
};

// A runtime with a channel that a control plane configures, until release() driven by this thread.
class mesh_client {
 public:
  explicit mesh_client(const std::string& target)
      : channel_(runtime_, "xds:///" + target, insecure(), resolved()) {
    const std::size_t before = client_registry::instance().all().size();
    channel_.connect();
    while (client_registry::instance().all().size() == before) runtime_.poll();
  }
  void run() {
    runtime_.release_loop();
    runtime_.start();
  }

 private:
  static channel_options resolved() {
    xds_options mesh;
    mesh.bootstrap =
        R"({"xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}]})";
    channel_options options;
    options.add_resolver("xds", xds_resolver(mesh));
    return options;
  }

  runtime runtime_;
  channel channel_;
};

TEST(CsdsService, ReportsOtherRuntimesIfItIsOfTheProcessAndTheyAnswer) {
  runtime first;
  runtime second;
  operators of_process(first, csds_scope::process);
  operators of_runtime(second, csds_scope::runtime);
  const std::vector<std::string> none;
  EXPECT_EQ(of_process.scopes(), none);
  {
    mesh_client away("away");
    EXPECT_EQ(of_process.scopes(), none);  // nothing runs the loop
    away.run();
    EXPECT_EQ(of_process.scopes(), std::vector<std::string>{"xds:///away"});
    EXPECT_EQ(of_runtime.scopes(), none);
  }
  EXPECT_EQ(of_process.scopes(), none);
}

// By a timer of its loop: nothing blocks a thread.
TEST(CsdsService, WaitsForAllOtherRuntimesTogether) {
  sim::world world(1);
  runtime& host = world.host("host");
  operators of_process(host, csds_scope::process);
  const mesh_client one("one");
  const mesh_client two("two");
  const mesh_client three("three");
  const time_point asked = world.now();
  EXPECT_EQ(of_process.scopes(), std::vector<std::string>());  // nothing runs their loops
  const duration waited = world.now() - asked;
  EXPECT_GE(waited, std::chrono::seconds(1));
  EXPECT_LT(waited, std::chrono::seconds(2));
}

}  // namespace
}  // namespace coracle::xds::csds_service_test
