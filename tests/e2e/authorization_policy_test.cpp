// Authorization policies around the calls of a server: as texts, as files that change, and with TLS. The code
// of docs/guides/security.md.
#include "coracle/server/authorization_policy.hpp"

#include "coracle/server/audit_logger.hpp"
#include "support/certificates.hpp"
#include "support/echo_fixture.hpp"
#include "support/kept_log.hpp"
#include "unit/net/scratch_folder.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace coracle::testing_support::authorization_policy_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const status denied = status::permission_denied("authz: unauthorized RPC request rejected");

std::string rules(const std::string& content) {
  std::string json = R"({"name":"p","allow_rules":[{"name":"r",)";
  return json.append(content).append("}]}");
}
const std::string say_only = rules(R"("request":{"paths":["*/Say"]})");
const std::string stream_only = rules(R"("request":{"paths":["*/Repeat"]})");

// Renamed over the old one.
void put(const std::string& path, const std::string& text) {
  std::ofstream(path + ".new", std::ios::binary) << text;
  std::filesystem::rename(path + ".new", path);
}

// How a call of one reply and one of a stream end.
struct ends {
  status one;
  status stream;
};
task<ends> both(echo_stub s, call_options options) {
  const echo::Text hello = make_text("hello");
  const auto reply = co_await s.Say(hello, options);
  auto repeated = s.Repeat(hello, options);
  const status end = co_await repeated.finish();
  co_return ends{reply.status(), end};
}
task<> pause(duration d) { co_await sleep_for(d); }

class authorization_policies : public echo_fixture {
 protected:
  void serve(const std::string& policy) {
    channel_.reset();
    server_.emplace(rt());
    server_->add(service_);
    auto parsed = authorization_policy::parse(policy);
    ASSERT_EQ(parsed.status(), status());
    server_->add_interceptor(authorize_by(*std::move(parsed)));
    link();
  }
  status serve_by_file(const std::string& path) {
    channel_.reset();
    server_.emplace(rt());
    server_->add(service_);
    authorization_file_options options;
    options.interval = 100ms;
    options.on_update = [this](const authorization_policy& p) { updates_.push_back(p.name()); };
    status begun = authorize_by_file(*server_, path, options);
    if (begun.ok()) link();
    return begun;
  }
  ends call(const call_options& options = {}) { return run(both(stub(), options)); }
  template <class Condition>
  static task<> until(Condition holds) {
    while (!holds()) co_await sleep_for(10ms);
  }

  std::vector<std::string> updates_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, authorization_policies, every_world_over_tcp, echo_fixture::case_name);

TEST_P(authorization_policies, AdmitCallsOfTheirPaths) {
  serve(say_only);
  const ends seen = call();
  EXPECT_EQ(seen.one, status());
  EXPECT_EQ(seen.stream, denied);
}

TEST_P(authorization_policies, LookAtHeaders) {
  serve(rules(R"("request":{"headers":[{"key":"x-team","values":["web","app*"]}]})"));
  EXPECT_EQ(call().one, denied);
  EXPECT_EQ(call(call_options().add_metadata("x-team", "apps")).one, status());
  EXPECT_EQ(call(call_options().add_metadata("x-team", "web").add_metadata("x-team", "b")).one, denied);
}

TEST_P(authorization_policies, OfAFileAreReadAgain) {
  const net::scratch_folder folder;
  const std::string file = folder / "policy.json";
  put(file, say_only);
  ASSERT_EQ(serve_by_file(file), status());
  EXPECT_EQ(call().one, status());
  EXPECT_EQ(call().stream, denied);
  put(file, stream_only);
  run(until([&] { return updates_.size() == 1; }));
  EXPECT_EQ(call().one, denied);
  EXPECT_EQ(call().stream, status());
  EXPECT_THAT(updates_, ElementsAre("p"));
}

TEST_P(authorization_policies, OfAFileMustBeValidAtFirst) {
  const net::scratch_folder folder;
  const std::string file = folder / "policy.json";
  EXPECT_EQ(serve_by_file(file).code(), status_code::not_found);
  put(file, R"({"name":"p"})");
  const status invalid = serve_by_file(file);
  EXPECT_EQ(invalid.code(), status_code::invalid_argument);
  EXPECT_THAT(std::string(invalid.message()), HasSubstr("has no allow_rules (in the file " + file + ")"));
}

TEST_P(authorization_policies, LookAtTheNamesInCertificates) {
  certificates::made();
  if (auto* world = sim_world()) {
    const auto behind = std::chrono::system_clock::now() - rt().at(0).wall_now();
    world->jump_wall_clock("host", std::chrono::duration_cast<duration>(behind));
  }
  channel_.reset();
  server_.emplace(rt());
  server_->add(service_);
  auto policy = authorization_policy::parse(
      R"({"name":"p","allow_rules":[{"name":"r","source":{"principals":["spiffe://example/*","CN=bert",""]}}],
          "deny_rules":[{"name":"s","source":{"principals":["spiffe://example/ada"]},
                         "request":{"paths":["*/Repeat"]}}]})");
  ASSERT_EQ(policy.status(), status());
  server_->add_interceptor(authorize_by(*std::move(policy)));
  tls::server_options credentials = served_as("server");
  credentials.client_cas.push_back(tls::pem_source::file(certificate("ca.pem")));
  credentials.clients = tls::client_certificates::requested;
  ASSERT_EQ(server_->listen("127.0.0.1:0", credentials), status());
  const auto ends_of = [&](const char* name) {
    tls::client_options client = trusting("ca");
    if (name) client.certificate = pair_of(name);
    channel_.emplace(rt(), tcp_address(), client);
    return call();
  };
  const ends ada = ends_of("client");
  EXPECT_EQ(ada.one, status());
  EXPECT_EQ(ada.stream, denied);
  EXPECT_EQ(ends_of("brief_client").stream, status());
  EXPECT_EQ(ends_of(nullptr).stream, status());
  EXPECT_EQ(ends_of("chain").one, denied);
}

std::size_t lines_with(const kept_log& log, const std::string& text) {
  const std::string all = log.text();
  std::size_t found = 0;
  for (auto at = all.find(text); at != all.npos; at = all.find(text, at + 1)) ++found;
  return found;
}

// In the simulation, where time is not waited for.
TEST(AuthorizationFile, ThatBecomesInvalidChangesNothingAndIsLoggedOnce) {
  kept_log log;
  sim::world_options with_log;
  with_log.log = &log;
  sim::world world(1, with_log);
  runtime& on = world.host("host");
  const net::scratch_folder folder;
  const std::string file = folder / "policy.json";
  put(file, say_only);
  echo_service service;
  server serving(on);
  serving.add(service);
  std::size_t updates = 0;
  authorization_file_options how;
  how.interval = 1s;
  how.on_update = [&](const authorization_policy&) { ++updates; };
  ASSERT_EQ(authorize_by_file(serving, file, how), status());
  ASSERT_EQ(serving.listen("127.0.0.1:0", insecure()), status());
  channel by(on, "127.0.0.1:" + std::to_string(serving.port()), insecure());
  const auto ends_then = [&] {
    sync_wait(on, on.at(0), pause(10s));
    return sync_wait(on, on.at(0), both(echo_stub(by), {}));
  };
  constexpr auto line = "was not read again";
  put(file, "{");
  EXPECT_EQ(ends_then().one, status());
  EXPECT_EQ(lines_with(log, line), 1U) << log.text();
  std::filesystem::remove(file);
  EXPECT_EQ(ends_then().one, status());
  EXPECT_EQ(lines_with(log, line), 2U) << log.text();
  put(file, say_only);  // the one in use
  EXPECT_EQ(ends_then().one, status());
  EXPECT_EQ(lines_with(log, line), 2U) << log.text();
  EXPECT_EQ(updates, 0U);
  put(file, "{");
  EXPECT_EQ(ends_then().one, status());
  EXPECT_EQ(lines_with(log, line), 3U) << log.text();
  put(file, stream_only);
  const ends now = ends_then();
  EXPECT_EQ(now.one, denied);
  EXPECT_EQ(now.stream, status());
  EXPECT_EQ(updates, 1U);
  // Nothing follows the file after the drain.
  sync_wait(on, on.at(0), serving.drain(0s));
  EXPECT_FALSE(on.run_for(1s));
}

// --8<-- [start:policy]
coracle::status serve_by_policy(coracle::server& server) {
  auto policy = coracle::authorization_policy::parse(R"({
    "name": "movies",
    "deny_rules": [{"name": "no_deletes", "request": {"paths": ["*/Delete"]}}],
    "allow_rules": [
      {"name": "admins", "source": {"principals": ["spiffe://example.org/admin/*"]}},
      {"name": "readers", "request": {"paths": ["/movie.MovieService/Get*"]}}
    ]
  })");
  if (!policy) return policy.status();
  server.add_interceptor(coracle::authorize_by(*policy));
  return {};
}
// --8<-- [end:policy]

// --8<-- [start:file]
coracle::status follow_policy(coracle::server& server) {
  return coracle::authorize_by_file(server, "/etc/movies/policy.json");
}
// --8<-- [end:file]

// --8<-- [start:logger]
class counting_logger final : public coracle::audit_logger {
 public:
  void log(const coracle::audit_event& event) override { ++(event.authorized ? admitted : rejected); }
  std::atomic<int> admitted = 0;
  std::atomic<int> rejected = 0;
};

void register_counting_logger(const std::shared_ptr<counting_logger>& to) {
  using made = coracle::result<std::shared_ptr<coracle::audit_logger>>;
  coracle::register_audit_logger("counting_logger", [to](std::string_view) -> made { return to; });
}
// --8<-- [end:logger]

TEST_P(authorization_policies, AreAsTheGuideShows) {
  channel_.reset();
  server_.emplace(rt());
  EXPECT_EQ(serve_by_policy(*server_), status());
  EXPECT_EQ(follow_policy(*server_).code(), status_code::not_found);
}

TEST_P(authorization_policies, TellAuditLoggers) {
  const auto counts = std::make_shared<counting_logger>();
  register_counting_logger(counts);
  serve(R"({"name":"p","allow_rules":[{"name":"r","request":{"paths":["*/Say"]}}],"audit_logging_options":
    {"audit_condition":"ON_DENY_AND_ALLOW","audit_loggers":[{"name":"counting_logger"}]}})");
  (void)call();
  EXPECT_EQ(counts->admitted, 1);
  EXPECT_EQ(counts->rejected, 1);
}

}  // namespace
}  // namespace coracle::testing_support::authorization_policy_test
