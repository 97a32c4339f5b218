// The results of TLS handshakes in metrics (gRFC A118).
#include "coracle/telemetry/telemetry.hpp"
#include "support/certificates.hpp"
#include "support/echo_service.hpp"
#include "support/echo_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace coracle::testing_support::telemetry_tls_test {
namespace {

class handshakes_in_metrics : public ::testing::Test {
 protected:
  static telemetry_options options() {
    telemetry_options o;
    o.enabled = {"grpc.client.tls.*", "grpc.server.tls.*"};
    o.optional_labels = {"grpc.tls.handshake.resumed"};
    return o;
  }
  void SetUp() override {
    server_.add(service_);
    telemetry_.observe(server_);
    ASSERT_EQ(server_.listen("127.0.0.1:0", served_as("server")), status());
  }
  status say(const channel_credentials& credentials) {
    channel c(rt_, "127.0.0.1:" + std::to_string(server_.port()), credentials);
    echo_stub stub(c);
    return sync_wait(stub.Say(make_text("hello"))).status();
  }
  // The number of handshakes with a result.
  double counted(const char* name, const char* result, const char* resumed = "FULL_HANDSHAKE") {
    const metrics_snapshot now = sync_wait(rt_, rt_.at(0), telemetry_.metrics());
    double sum = 0;
    if (const metric_family* const f = now.find(name))
      for (const metric_point& p : f->points) {
        const auto has = [&](const char* key, const char* value) {
          return std::ranges::count(p.labels, std::pair<std::string, std::string>(key, value)) == 1;
        };
        if (has("grpc.tls.handshake.result", result) && has("grpc.tls.handshake.resumed", resumed))
          sum += p.value;
      }
    return sum;
  }
  // Of a server, whose handshake may end after the client's.
  bool server_counts(const char* result, const char* resumed = "FULL_HANDSHAKE") {
    for (int i = 0; i < 2000; ++i)
      if (counted("grpc.server.tls.handshakes", result, resumed) == 1) return true;
    return false;
  }
  runtime rt_{1};
  echo_service service_;
  telemetry telemetry_{rt_, options()};
  server server_{rt_};
};

TEST_F(handshakes_in_metrics, ASuccessIsCountedOnBothSides) {
  ASSERT_EQ(say(trusting("ca")), status());
  EXPECT_EQ(counted("grpc.client.tls.handshakes", "SUCCESS"), 1);
  EXPECT_TRUE(server_counts("SUCCESS"));
}

TEST_F(handshakes_in_metrics, AnUnknownAuthorityIsCountedOnBothSides) {
  ASSERT_EQ(say(trusting("other_ca")).code(), status_code::unavailable);
  EXPECT_GE(counted("grpc.client.tls.handshakes", "CERTIFICATE_AUTHORITY_INVALID"), 1);
  EXPECT_TRUE(server_counts("CERTIFICATE_AUTHORITY_INVALID"));
}

TEST_F(handshakes_in_metrics, APlaintextClientIsCountedByTheServer) {
  ASSERT_EQ(say(insecure()).code(), status_code::unavailable);
  EXPECT_TRUE(server_counts("PROTOCOL_VERSION_UNSUPPORTED"));
}

}  // namespace
}  // namespace coracle::testing_support::telemetry_tls_test
