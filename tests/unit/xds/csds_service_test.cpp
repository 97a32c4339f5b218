// Of several runtimes; what csds_service reports of one is tested with channels and with servers.
#include "coracle/xds/csds_service.hpp"

#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/runtime/runtime.hpp"
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

// A server of operators, in a runtime of its own.
class operators {
 public:
  explicit operators(csds_scope scope) : csds_(scope), server_(runtime_) {
    server_.add(csds_);
    EXPECT_EQ(server_.listen("127.0.0.1:0", insecure()), status());
  }
  std::vector<std::string> scopes() {
    auto asking =
        scopes_by(generic_stub(channel(runtime_, "127.0.0.1:" + std::to_string(server_.port()), insecure())));
    return sync_wait(runtime_, std::move(asking));
  }

 private:
  runtime runtime_;
  csds_service csds_;
  server server_;
};

TEST(CsdsService, ReportsOtherRuntimesIfItIsOfTheProcessAndTheyAnswer) {
  operators of_process(csds_scope::process);
  operators of_runtime(csds_scope::runtime);
  const std::vector<std::string> none;
  EXPECT_EQ(of_process.scopes(), none);
  {
    runtime other;
    xds_options mesh;
    mesh.bootstrap =
        R"({"xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}]})";
    channel_options options;
    options.add_resolver("xds", xds_resolver(mesh));
    channel away(other, "xds:///away", insecure(), options);
    away.connect();
    while (client_registry::instance().all().empty()) other.poll();
    EXPECT_EQ(of_process.scopes(), none);  // nothing runs the loop
    other.release_loop();
    other.start();
    EXPECT_EQ(of_process.scopes(), std::vector<std::string>{"xds:///away"});
    EXPECT_EQ(of_runtime.scopes(), none);
  }
  EXPECT_EQ(of_process.scopes(), none);
}

}  // namespace
}  // namespace coracle::xds::csds_service_test
