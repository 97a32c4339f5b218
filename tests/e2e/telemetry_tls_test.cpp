// TLS in what operators see: the results of handshakes in metrics (gRFC A118), and the certificates that
// servers and channels use in metrics and pages.
#include "coracle/coro/sleep.hpp"
#include "coracle/telemetry/telemetry.hpp"
#include "coracle/telemetry/with_pages.hpp"
#include "support/certificates.hpp"
#include "support/echo_service.hpp"
#include "support/echo_world.hpp"
#include "support/raw_http.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace coracle::testing_support::telemetry_tls_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

// A server with pages on a plaintext port and a TLS port, whose certificate is a file of its own.
class certificates_in_telemetry : public ::testing::Test {
 protected:
  void SetUp() override {
    copy("server");
    server_.add(service_);
    with_pages(server_);
    ASSERT_EQ(server_.listen("127.0.0.1:0", insecure()), status());
    address_ = "127.0.0.1:" + std::to_string(server_.port());
    tls::server_options credentials;
    credentials.certificates = {tls::key_pair::files(chain_, key_), pair_of("expired")};
    credentials.client_cas = {tls::pem_source::file(certificate("ca.pem"))};
    credentials.clients = tls::client_certificates::requested;
    ASSERT_EQ(server_.listen("127.0.0.1:0", credentials), status());
  }
  void copy(const std::string& name) const {
    std::filesystem::copy_file(certificate(name + ".pem"), chain_,
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::copy_file(certificate(name + ".key"), key_,
                               std::filesystem::copy_options::overwrite_existing);
  }
  std::string page() {
    return raw_http::parse(
               sync_wait(rt_, rt_.at(0),
                         raw_http::exchange(address_, raw_http::request("GET /pages/json/certificates"))))
        .body;
  }
  static task<> pause() { co_await sleep_for(std::chrono::milliseconds(100)); }
  // The seconds that are left by the metric; nothing if there is no such series.
  std::optional<double> left_s(const std::string& subject, const std::string& side) {
    const metrics_snapshot now = sync_wait(rt_, rt_.at(0), telemetry_.metrics());
    const metric_family* const f = now.find("coracle.tls.certificate.expiry");
    if (!f) return {};
    const decltype(metric_point::labels) wanted{{"coracle.tls.certificate.subject", subject},
                                                {"coracle.tls.side", side}};
    for (const metric_point& p : f->points)
      if (p.labels == wanted) return p.value;
    return {};
  }

  const std::string chain_ = certificates::made().path("served_chain");
  const std::string key_ = certificates::made().path("served_key");
  std::string address_;
  runtime rt_{1};
  echo_service service_;
  telemetry telemetry_{rt_};
  server server_{rt_};
};

TEST_F(certificates_in_telemetry, AreAPageWithWhatIsLeftOfEach) {
  const std::string all = page();
  EXPECT_THAT(all, HasSubstr(R"("credentials_count":1,"credentials":[{"side":"server","server":)"));
  EXPECT_THAT(
      all, HasSubstr(
               R"({"title":"CN=the server","state":"under_7_days","days_left":1,"subject":"CN=the server",)"
               R"("issuer":"CN=ca of the tests","names":["localhost","movies.example","127.0.0.1","::1"],)"));
  EXPECT_THAT(all, HasSubstr(R"({"title":"CN=the old server","state":"expired","days_left":-)"));
  EXPECT_THAT(all, HasSubstr(R"("file":")" + chain_ +
                             R"(","server_names":["localhost","movies.example"],"is_default":true)"));
  EXPECT_THAT(all, HasSubstr(R"("trusted":{"from":"program","count":1,"not_after":)"));
  EXPECT_THAT(all, HasSubstr(R"("reload_error":null)"));
  EXPECT_THAT(all, Not(HasSubstr("PRIVATE KEY")));
}

TEST_F(certificates_in_telemetry, OfChannelsAreListedOnceForAllThatShareThem) {
  tls::client_options own = trusting("ca");
  own.certificate = pair_of("client");
  const channel_credentials shared(own);
  const channel one(rt_, "dns:///one.example:443", shared);
  const channel two(rt_, "dns:///two.example:443", shared);
  const channel plain(rt_, "dns:///three.example:443", insecure());
  const std::string all = page();
  EXPECT_THAT(all, HasSubstr(R"("credentials_count":2,)"));
  EXPECT_THAT(
      all,
      HasSubstr(
          R"({"side":"client","server":null,"users":["dns:///one.example:443","dns:///two.example:443"],)"
          R"("user_count":2,)"));
  EXPECT_THAT(all, HasSubstr(R"({"title":"CN=ada",)"));
  const std::optional<double> left = left_s("CN=ada", "client");
  ASSERT_TRUE(left);
  EXPECT_GT(*left, 86400);
  EXPECT_LE(*left, 2 * 86400);
}

TEST_F(certificates_in_telemetry, AreAMetricThatIsNegativeOnceTheyHaveExpired) {
  const std::optional<double> left = left_s("CN=the server", "server");
  ASSERT_TRUE(left);
  EXPECT_GT(*left, 86400);
  EXPECT_LE(*left, 2 * 86400);
  const std::optional<double> of_expired = left_s("CN=the old server", "server");
  ASSERT_TRUE(of_expired);
  EXPECT_LT(*of_expired, -86400);
}

TEST_F(certificates_in_telemetry, StayWhileNewFilesAreBrokenAndThePageHasTheReason) {
  (void)page();
  std::filesystem::copy_file(certificate("untrusted.pem"), chain_,
                             std::filesystem::copy_options::overwrite_existing);  // not of this key
  std::string all;
  const auto shows = [&](const char* text) {
    // Files are checked once a second.
    for (int i = 0; i < 100 && all.find(text) == std::string::npos; ++i) {
      sync_wait(rt_, rt_.at(0), pause());
      all = page();
    }
    return all.find(text) != std::string::npos;
  };
  EXPECT_TRUE(shows("does not belong to the first certificate")) << all;
  EXPECT_THAT(all, HasSubstr(R"({"title":"CN=the server",)"));
  copy("untrusted");
  EXPECT_TRUE(shows(R"({"title":"CN=a server",)")) << all;
  EXPECT_THAT(all, HasSubstr(R"("reload_error":null)"));
}

}  // namespace
}  // namespace coracle::testing_support::telemetry_tls_test
