// TLS from the stub to the handler, over sockets of each backend and of the simulated world.
#include "coracle/coro/when_all.hpp"
#include "coracle/net/stream.hpp"
#include "support/certificates.hpp"
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"
#include "support/kept_log.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tls_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::certificate;
using testing_support::echo_service;
using testing_support::echo_stub;
using testing_support::pair_of;
using testing_support::served_as;
using testing_support::trusting;

// Says who calls.
class identity_service final : public echo::rpc::Echo::service {
  reply<echo::Text> Say(server_context& context, const echo::Text&) override {
    echo::Text reply;
    const auth_context* peer_identity = context.auth();
    const auto token = context.metadata().find("authorization");
    if (!peer_identity && !token) co_return status::failed_precondition("plaintext");
    const bool named = peer_identity && !peer_identity->identities().empty();
    if (named) reply.set_text(peer_identity->identities().front().value());
    else reply.set_text("no certificate");
    if (peer_identity && peer_identity->resumed()) reply.set_count(1);
    if (token) reply.set_text(reply.text() + " with " + std::string(*token));
    co_return reply;
  }
};

channel_options of_all_calls(call_options o) {
  channel_options options_2;
  options_2.calls = std::move(o);
  return options_2;
}

class Tls : public testing_support::every_backend {
 protected:
  Tls() : every_backend(2) {
    testing_support::certificates::made();
    if (auto* world = sim_world()) {
      const auto behind = std::chrono::system_clock::now() - rt().at(0).wall_now();
      world->jump_wall_clock("host", std::chrono::duration_cast<duration>(behind));
    }
  }
  void TearDown() override {
    channel_.reset();
    server_.reset();
  }
  void serve(const server_credentials& credentials, const server_options& options = {}) {
    server_.emplace(rt(), options);
    server_->add(identities_);
    ASSERT_EQ(server_->listen("127.0.0.1:0", credentials), status());
  }
  void call_by(const channel_credentials& credentials, const channel_options& options = {}) {
    channel_.emplace(rt(), "127.0.0.1:" + std::to_string(server_->port()), credentials, options);
  }
  static task<result<echo::Text>> ask(channel& by, call_options options) {
    const echo_stub stub(by);
    const echo::Text request;
    options.timeout = 20s;
    co_return co_await stub.Say(request, options);
  }
  result<echo::Text> answer(const call_options& options = {}) { return run(ask(*channel_, options)); }
  std::string text(const call_options& options = {}) {
    const auto got = answer(options);
    return got ? got->text() : got.status().to_string();
  }

  identity_service identities_;
  std::optional<server> server_;
  std::optional<channel> channel_;
};
INSTANTIATE_TEST_SUITE_P(Over, Tls, testing_support::all_kinds, Tls::case_name);

TEST_P(Tls, CarriesACall) {
  serve(served_as("server"));
  call_by(trusting("ca"));
  EXPECT_EQ(text(), "no certificate");
}

TEST_P(Tls, TellsTheHandlerWhoCalls) {
  tls::server_options credentials = served_as("server");
  credentials.client_cas.push_back(tls::pem_source::file(certificate("ca.pem")));
  serve(credentials);
  tls::client_options credentials_2 = trusting("ca");
  credentials_2.certificate = pair_of("client");
  call_by(credentials_2);
  EXPECT_EQ(text(), "ada.example");
}

// However many connections a client has. All of them are of one address.
TEST_P(Tls, EachIdentityHasARateOfItsOwn) {
  tls::server_options credentials = served_as("server");
  credentials.client_cas.push_back(tls::pem_source::file(certificate("ca.pem")));
  server_options each;
  each.rate_limits = {rate_limit(0.001, 1)};
  each.rate_limits[0].per = rate_limit::caller::client;
  serve(credentials, each);
  for (const char* name : {"client", "web"}) {
    tls::client_options own = trusting("ca");
    own.certificate = pair_of(name);
    for (const status_code expected : {status_code::ok, status_code::resource_exhausted}) {
      call_by(own);
      EXPECT_EQ(answer().status().code(), expected) << name;
    }
  }
}

TEST_P(Tls, TellsTheClientWhoAnswers) {
  serve(served_as("server"));
  call_by(trusting("ca"));
  struct asking {
    static task<std::shared_ptr<const connection_peer>> peer(channel& by) {
      const echo::Text request;
      auto call = echo_stub(by).Say(request, within(20s));
      const auto reply = co_await call;
      EXPECT_TRUE(reply.ok()) << reply.status();
      co_return call.peer();
    }
  };
  const auto peer = run(asking::peer(*channel_));
  ASSERT_TRUE(peer && peer->auth);
  EXPECT_TRUE(peer->auth->has_identity(peer_identity::kind::dns_name, "movies.example"));
}

// gRFC A81
TEST_P(Tls, SendsACallForAnotherNameOnlyIfTheCertificateHasIt) {
  serve(served_as("server"));
  call_by(trusting("ca"));
  const auto asked_for = [this](const char* authority) {
    call_options options;
    options.authority = authority;
    return text(options);
  };
  for (int again = 0; again < 2; ++again) {  // the name that was checked last is remembered
    EXPECT_EQ(asked_for("movies.example:1"), "no certificate");
    EXPECT_EQ(asked_for("[::1]:443"), "no certificate");
    EXPECT_EQ(
        asked_for("other.example:443"),
        "UNAVAILABLE: the server's certificate is not valid for \"other.example:443\", the authority of the "
        "call, but for localhost, movies.example, 127.0.0.1, ::1: use one of its names, or issue one with a "
        "subjectAltName for that host");
    EXPECT_THAT(asked_for("127.0.0.2"), HasSubstr("is not valid for"));
    EXPECT_EQ(text(), "no certificate");
  }
  tls::client_options lenient = trusting("ca");
  lenient.verify_authority = false;
  call_by(lenient);
  EXPECT_EQ(asked_for("other.example:443"), "no certificate");
  lenient.verify_authority = true;
  lenient.verify_name = false;
  call_by(lenient);
  EXPECT_EQ(asked_for("other.example:443"), "no certificate");
}

TEST_P(Tls, SaysInTheCallsStatusWhyItDoesNotConnect) {
  serve(served_as("recipe"));
  tls::client_options credentials = trusting("recipe_ca");
  credentials.target_name = "localhost";
  call_by(credentials);
  const status failure = answer().status();
  EXPECT_EQ(failure.code(), status_code::unavailable);
  EXPECT_THAT(std::string(failure.message()), HasSubstr("a subjectAltName for localhost"));
}

TEST_P(Tls, SaysThatTheServerRequiresACertificate) {
  tls::server_options credentials = served_as("server");
  credentials.client_cas.push_back(tls::pem_source::file(certificate("ca.pem")));
  serve(credentials);
  call_by(trusting("ca"));
  EXPECT_THAT(text(), HasSubstr("the server requires a client certificate"));
}

TEST_P(Tls, SaysThatTheOtherSideIsPlaintext) {
  serve(insecure());
  call_by(trusting("ca"));
  const std::string reason = text();
  EXPECT_THAT(reason, StartsWith("UNAVAILABLE"));
  EXPECT_THAT(reason, HasSubstr("the TLS handshake failed"));
  serve(served_as("server"));
  call_by(insecure());
  EXPECT_THAT(text(), StartsWith("UNAVAILABLE"));
}

TEST_P(Tls, FailsEveryCallOfCredentialsThatCannotBe) {
  serve(insecure());
  tls::client_options credentials;
  credentials.cas.push_back(tls::pem_source::file("no/ca.pem"));
  call_by(credentials);
  EXPECT_THAT(text(), HasSubstr("cannot read the CA file no/ca.pem: No such file or directory"));
  server other(rt());
  EXPECT_EQ(other.listen("127.0.0.1:0", tls::server_options()).code(), status_code::failed_precondition);
}

TEST_P(Tls, TakesUpASessionOnTheNextConnection) {
  serve(served_as("server"));
  const channel_credentials shared = trusting("ca");
  call_by(shared);
  EXPECT_EQ(answer().value().count(), 0);
  EXPECT_EQ(answer().value().count(), 0);  // the tickets have come before
  call_by(shared);
  EXPECT_EQ(answer().value().count(), 1);
}

// --- verifiers

TEST_P(Tls, SaysInTheCallsStatusWhyTheVerifierRejectsTheServer) {
  serve(served_as("server"));
  tls::client_options credentials = trusting("ca");
  credentials.verifier = [](const tls::peer_certificate& server) {
    return server.has_identity(peer_identity::kind::uri, "spiffe://example/movies")
               ? status()
               : status::permission_denied("it is no spiffe://example/movies");
  };
  call_by(credentials);
  const std::string reason = text();
  EXPECT_THAT(reason, StartsWith("UNAVAILABLE"));
  EXPECT_THAT(
      reason,
      HasSubstr("the server's certificate is not accepted by the verifier: PERMISSION_DENIED: it is no "
                "spiffe://example/movies"));
}

TEST(TlsVerifierOfAServer, WritesItsReasonIntoTheLog) {
  testing_support::kept_log log;
  runtime rt({.log = &log});
  echo_service service;
  server s(rt);
  s.add(service);
  tls::server_options credentials = served_as("server");
  credentials.client_cas.push_back(tls::pem_source::file(certificate("ca.pem")));
  credentials.verifier = [](const tls::peer_certificate& client) {
    return client.has_identity(peer_identity::kind::dns_name, "bert.example")
               ? status()
               : status::permission_denied("it is not bert");
  };
  ASSERT_EQ(s.listen("127.0.0.1:0", credentials), status());
  tls::client_options credentials_2 = trusting("ca");
  credentials_2.certificate = pair_of("client");
  channel c(rt, "127.0.0.1:" + std::to_string(s.port()), credentials_2);
  EXPECT_EQ(sync_wait(echo_stub(c).Say(echo::Text(), within(20s))).status().code(), status_code::unavailable);
  EXPECT_THAT(log.text(),
              HasSubstr("the client's certificate is not accepted by the verifier: PERMISSION_DENIED: it is "
                        "not bert"));
}

// --- call credentials

class fetched_token final : public credentials_source {
 public:
  task<result<metadata>> metadata_for(credentials_request call) override {
    asked_for = call.service_url() + " " + call.method();
    if (wait != duration::zero()) co_await sleep_for(wait);
    if (!failure.ok()) co_return failure;
    metadata m;
    m.add("authorization", "Fetched token");
    co_return m;
  }
  std::string asked_for;
  duration wait{};
  status failure;
};

TEST_P(Tls, BringsTheCallersToken) {
  serve(served_as("server"));
  call_options with_token;
  with_token.credentials = call_credentials::bearer("of the channel");
  call_by(trusting("ca"), of_all_calls(with_token));
  EXPECT_EQ(text(), "no certificate with Bearer of the channel");
  call_options with_token_2;
  with_token_2.credentials = call_credentials::bearer("of the call");
  EXPECT_EQ(text(with_token_2), "no certificate with Bearer of the call");
}

TEST_P(Tls, BringsWhatASourceGives) {
  serve(served_as("server"));
  tls::client_options credentials = trusting("ca");
  credentials.target_name = "movies.example";
  call_by(credentials);
  const auto source = std::make_shared<fetched_token>();
  source->wait = 1ms;
  call_options with_credentials;
  with_credentials.credentials = source;
  EXPECT_EQ(text(with_credentials), "no certificate with Fetched token");
  EXPECT_EQ(source->asked_for, "https://movies.example/echo.Echo /echo.Echo/Say");
}

// Waits for a connection, because the token is for one server alone.
class token_for_a_server final : public credentials_source {
 public:
  explicit token_for_a_server(const channel& of) : of_(of) {}
  task<result<metadata>> metadata_for(credentials_request) override {
    before = of_.server_auth() != nullptr;
    of_.connect();
    while (of_.state() != connectivity::ready) {
      auto change = of_.wait_for_state_change(of_.state(), 10s);
      co_await std::move(change);
    }
    const auto server = of_.server_auth();
    if (!server) co_return status::unauthenticated("there is no connection");
    metadata m;
    const bool known = server->has_identity(peer_identity::kind::dns_name, "movies.example");
    m.add("authorization", known ? "For movies.example" : "For another server");
    co_return m;
  }
  bool before = true;

 private:
  channel of_;
};

TEST_P(Tls, TellsASourceWhoTheServerIs) {
  serve(served_as("server"));
  call_by(trusting("ca"));
  const auto source = std::make_shared<token_for_a_server>(*channel_);
  call_options with_credentials;
  with_credentials.credentials = source;
  EXPECT_EQ(text(with_credentials), "no certificate with For movies.example");
  EXPECT_FALSE(source->before) << "the first call of the channel begins without a connection";
  EXPECT_EQ(channel_->server_auth(), nullptr) << "on a thread that is no loop";
}

TEST_P(Tls, EndsACallWhoseSourceFails) {
  serve(served_as("server"));
  const auto source = std::make_shared<fetched_token>();
  call_options with_credentials;
  with_credentials.credentials = source;
  call_by(trusting("ca"), of_all_calls(with_credentials));
  source->failure = status::unauthenticated("log in first");
  EXPECT_EQ(text(), "UNAUTHENTICATED: log in first");
  source->failure = status::not_found("no key");
  EXPECT_EQ(text(), "INTERNAL: the source of call credentials failed: NOT_FOUND: no key");
}

TEST_P(Tls, StopsASourceThatTakesLongerThanItsCall) {
  serve(served_as("server"));
  const auto source = std::make_shared<fetched_token>();
  source->wait = std::chrono::hours(1);
  call_options with_credentials;
  with_credentials.credentials = source;
  call_by(trusting("ca"), of_all_calls(with_credentials));
  const echo_stub stub(*channel_);
  const echo::Text request;
  struct asking {
    static task<status> within_a_moment(const echo_stub& by, const echo::Text& text) {
      const auto got = co_await by.Say(text, within(5ms));
      co_return got.status();
    }
  };
  EXPECT_EQ(run(asking::within_a_moment(stub, request)).code(), status_code::deadline_exceeded);
}  // and nothing is left that would delay the end of the runtime

// Begins without waiting.
task<> leave_while_it_is_asked(channel& by) {
  const echo_stub stub(by);
  auto call = stub.Chat(within(20s));
  co_await call.writes_done();
  co_await sleep_for(1ms);
}
TEST_P(Tls, GivesUpASourceWhoseCallIsDestroyed) {
  serve(served_as("server"));
  const auto source = std::make_shared<fetched_token>();
  source->wait = std::chrono::hours(1);
  call_options with_credentials;
  with_credentials.credentials = source;
  call_by(trusting("ca"), of_all_calls(with_credentials));
  run(leave_while_it_is_asked(*channel_));
  EXPECT_EQ(source->asked_for,
            "https://127.0.0.1:" + std::to_string(server_->port()) + "/echo.Echo /echo.Echo/Chat");
}

task<status> end_the_channel(std::optional<channel>& by, void (*end)(std::optional<channel>&)) {
  const echo_stub stub(*by);
  auto call = stub.Chat(within(20s));
  co_await call.writes_done();
  end(by);
  co_return co_await call.finish();
}
TEST_P(Tls, AsksASourceAlsoWhenTheChannelIsGone) {
  serve(served_as("server"));
  const auto source = std::make_shared<fetched_token>();
  source->wait = 5ms;
  call_options with_credentials;
  with_credentials.credentials = source;
  call_by(trusting("ca"), of_all_calls(with_credentials));
  const auto close = [](std::optional<channel>& c) { c->close(); };
  EXPECT_EQ(run(end_the_channel(channel_, close)).code(), status_code::unavailable);
  call_options with_credentials_2;
  with_credentials_2.credentials = source;
  call_by(trusting("ca"), of_all_calls(with_credentials_2));
  const auto drop = [](std::optional<channel>& c) { c.reset(); };
  EXPECT_EQ(run(end_the_channel(channel_, drop)).code(), status_code::unimplemented)
      << "the call keeps its channel, and the server, which has no Chat, answers it";
}

TEST_P(Tls, LetsCredentialsTravelOverNothingElse) {
  serve(insecure());
  for (const call_credentials& c :
       {call_credentials::bearer("secret"), call_credentials(std::make_shared<fetched_token>())}) {
    call_options with_credentials;
    with_credentials.credentials = c;
    call_by(insecure(), of_all_calls(with_credentials));
    EXPECT_THAT(text(), StartsWith("UNAUTHENTICATED: call credentials are not sent in plaintext"));
    call_by(insecure());
    call_options with_credentials_2;
    with_credentials_2.credentials = c;
    EXPECT_THAT(text(with_credentials_2), StartsWith("UNAUTHENTICATED: call credentials are not sent"));
  }
  EXPECT_EQ(text(), "FAILED_PRECONDITION: plaintext") << "a call without any";
}

// No other process can read the credentials there.
TEST_P(Tls, LetsCredentialsTravelWithinTheProcess) {
  serve(insecure());
  channel_.emplace(rt(), server_->in_process());
  call_options with_token;
  with_token.credentials = call_credentials::bearer("mine");
  EXPECT_EQ(text(with_token), "no certificate with Bearer mine");
  call_options with_credentials;
  with_credentials.credentials = std::make_shared<fetched_token>();
  EXPECT_EQ(text(with_credentials), "no certificate with Fetched token");
}

TEST_P(Tls, TakesNoTokenBesideAnAuthorizationOfTheMetadata) {
  serve(served_as("server"));
  call_options with_token;
  with_token.credentials = call_credentials::bearer("of the channel");
  call_by(trusting("ca"), of_all_calls(with_token));
  const auto own = call_options().add_metadata("authorization", "Basic b3duOm93bg==");
  const std::string conflict =
      "UNAUTHENTICATED: the call has both credentials and metadata with the key \"authorization\": remove "
      "one";
  EXPECT_EQ(text(own), conflict);
  call_options with_credentials = call_options(own);
  with_credentials.credentials = std::make_shared<fetched_token>();
  EXPECT_EQ(text(with_credentials), conflict);
  call_by(trusting("ca"));
  EXPECT_EQ(text(own), "no certificate with Basic b3duOm93bg==");
  call_options with_token_2 = call_options(own);
  with_token_2.credentials = call_credentials::bearer("mine");
  EXPECT_EQ(text(with_token_2), conflict);
}

// --- reloads

struct reload_run {
  int calls = 0;
  int failed = 0;
  bool over = false;
};

// Each call on a new connection now and then: the certificate matters.
task<> keep_calling(runtime& on, std::string address, channel_credentials credentials, duration pause,
                    reload_run& r) {
  while (!r.over) {
    channel fresh(on, address, credentials);
    const echo_stub stub(fresh);
    const echo::Text request;
    for (int i = 0; i < 3; ++i) {
      const auto got = co_await stub.Say(request, within(20s));
      ++r.calls;
      if (!got) {
        ++r.failed;
        ADD_FAILURE() << got.status();
      }
    }
    co_await sleep_for(pause);
  }
}

task<> reload_often(std::string chain, std::string key, security::server_security& security, reload_run& r) {
  namespace fs = std::filesystem;
  const auto& made = testing_support::certificates::made();
  for (int i = 0; i < 100; ++i) {
    const std::string name = i % 2 == 0 ? "untrusted" : "server";
    fs::copy_file(made.path(name + ".pem"), chain + ".new", fs::copy_options::overwrite_existing);
    fs::copy_file(made.path(name + ".key"), key + ".new", fs::copy_options::overwrite_existing);
    fs::rename(chain + ".new", chain);
    // Between the two renames the files do not match: a connection that checks them keeps the old ones.
    co_await sleep_for(200us);
    fs::rename(key + ".new", key);
    EXPECT_EQ(security.reload(), status());
    for (const int before = r.calls; r.calls == before;) co_await sleep_for(1ms);
  }
  r.over = true;
}

TEST_P(Tls, ReloadsCertificates100TimesAndFailsNoCall) {
  namespace fs = std::filesystem;
  const std::string chain = certificate("reloaded.pem");
  const std::string key = certificate("reloaded.key");
  fs::copy_file(certificate("server.pem"), chain, fs::copy_options::overwrite_existing);
  fs::copy_file(certificate("server.key"), key, fs::copy_options::overwrite_existing);
  tls::server_options credentials_2;
  credentials_2.certificates.push_back(tls::key_pair::files(chain, key));
  const auto security = credentials_2.build().value();
  serve(security);
  struct both {
    static task<> at_once(runtime& on, std::string address, channel_credentials credentials, std::string c,
                          std::string k, security::server_security& s, reload_run& r) {
      task<> calling = keep_calling(on, address, credentials, 0s, r);
      task<> more = keep_calling(on, address, credentials, 0s, r);
      task<> reloading = reload_often(c, k, s, r);
      co_await when_all(std::move(calling), std::move(more), std::move(reloading));
    }
  };
  reload_run r;
  tls::client_options credentials_3 = trusting("ca");
  credentials_3.cas.push_back(tls::pem_source::file(certificate("other_ca.pem")));
  run(both::at_once(rt(), "127.0.0.1:" + std::to_string(server_->port()), credentials_3, chain, key,
                    *security, r));
  EXPECT_EQ(r.failed, 0);
  EXPECT_GE(r.calls, 100);
}

// Without reload(), a new connection notices the changed files, at most once a second.
task<> rewrite_files(std::string chain, std::string key, int times, reload_run& r) {
  namespace fs = std::filesystem;
  const auto& made = testing_support::certificates::made();
  for (int i = 0; i < times; ++i) {
    const std::string name = i % 2 == 0 ? "untrusted" : "server";
    // Two writes, between which the files do not match: a connection that checks them keeps the old ones.
    fs::copy_file(made.path(name + ".pem"), chain, fs::copy_options::overwrite_existing);
    co_await sleep_for(200us);
    fs::copy_file(made.path(name + ".key"), key, fs::copy_options::overwrite_existing);
    co_await sleep_for(tls::limits::file_check_interval);
    for (const int before = r.calls; r.calls < before + 20;) co_await sleep_for(1ms);
  }
  r.over = true;
}

TEST_P(Tls, FollowsFilesThatChangeUnderLoadAndFailsNoCall) {
  namespace fs = std::filesystem;
  const std::string chain = certificate("rewritten.pem");
  const std::string key = certificate("rewritten.key");
  fs::copy_file(certificate("server.pem"), chain, fs::copy_options::overwrite_existing);
  fs::copy_file(certificate("server.key"), key, fs::copy_options::overwrite_existing);
  tls::server_options credentials_2;
  credentials_2.certificates.push_back(tls::key_pair::files(chain, key));
  serve(credentials_2);
  struct all {
    static task<> at_once(runtime& on, std::string address, channel_credentials credentials, std::string c,
                          std::string k, int times, reload_run& r) {
      constexpr duration pause = 20ms;
      task<> first = keep_calling(on, address, credentials, pause, r);
      task<> second = keep_calling(on, address, credentials, pause, r);
      task<> third = keep_calling(on, address, credentials, pause, r);
      task<> rewriting = rewrite_files(c, k, times, r);
      co_await when_all(std::move(first), std::move(second), std::move(third), std::move(rewriting));
    }
  };
  const std::string address = "127.0.0.1:" + std::to_string(server_->port());
  reload_run r;
  // An odd number, so that the last is the other CA's.
  tls::client_options credentials_3 = trusting("ca");
  credentials_3.cas.push_back(tls::pem_source::file(certificate("other_ca.pem")));
  run(all::at_once(rt(), address, credentials_3, chain, key, sim_world() ? 11 : 3, r));
  EXPECT_EQ(r.failed, 0);
  call_by(trusting("other_ca"));
  EXPECT_EQ(text(), "no certificate") << "the server shows the last of them";
}

// --- other people's TLS

class TlsOfOpenssl : public Tls {
 protected:
  // 0 if the handshake succeeded.
  int s_client(const std::string& arguments) {
    server_->start();
    const std::string command =
        "timeout 20 openssl s_client -connect 127.0.0.1:" + std::to_string(server_->port()) + " -CAfile " +
        certificate("ca.pem") + " -verify_return_error " + arguments + " </dev/null >/dev/null 2>&1";
    return std::system(command.c_str());
  }
};
INSTANTIATE_TEST_SUITE_P(Over, TlsOfOpenssl, testing_support::kernel_kinds, TlsOfOpenssl::case_name);

TEST_P(TlsOfOpenssl, IsLetInWith1Dot2And1Dot3AndNothingOlder) {
  serve(served_as("server"));
  EXPECT_EQ(s_client("-alpn h2 -tls1_3"), 0);
  EXPECT_EQ(s_client("-alpn h2 -tls1_2"), 0);
  EXPECT_EQ(s_client("-alpn h2 -tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256"), 0);
  EXPECT_NE(s_client("-alpn h2 -tls1_1 -cipher DEFAULT@SECLEVEL=0"), 0);
  EXPECT_NE(s_client("-alpn h2 -tls1_2 -cipher ECDHE-ECDSA-AES128-SHA256"), 0) << "RFC 9113 9.2.2";
}

TEST_P(TlsOfOpenssl, IsLetInWithEitherVersionOfHttpOrWithoutAlpn) {
  serve(served_as("server"));
  EXPECT_EQ(s_client("-alpn http/1.1"), 0);
  EXPECT_EQ(s_client("-alpn http/1.1,h2"), 0);
  EXPECT_EQ(s_client(""), 0);
  EXPECT_NE(s_client("-alpn spdy/3"), 0);
}

TEST_P(TlsOfOpenssl, IsShownTheCertificateOfTheName) {
  tls::server_options credentials = served_as("server");
  credentials.certificates.push_back(pair_of("other_server"));
  serve(credentials);
  EXPECT_EQ(s_client("-alpn h2 -servername other.example -verify_hostname other.example"), 0);
  EXPECT_EQ(s_client("-alpn h2 -noservername -verify_hostname localhost"), 0);
}

// Both sides decode megabytes that arrived compressed, in shares, while more records wait in the socket and
// in TLS.
TEST_P(Tls, KeepsTheOrderAndTheContentOfWhatWaitsToBeDecoded) {
  struct program {
    static std::string text(int i) {
      // Compresses to a few hundred KiB each: several records, and more than a loop decodes at once.
      std::string all(static_cast<std::size_t>(300'000 + i * 40'000), '\0');
      std::uint32_t state = 1u + static_cast<std::uint32_t>(i);
      for (char& c : all) {
        state = state * 1'664'525u + 1'013'904'223u;
        c = static_cast<char>('a' + (state >> 28));
      }
      return all;
    }
    static task<> say(channel& by, int i) {
      const echo_stub stub(by);
      echo::Text request;
      request.set_text(i % 3 == 0 ? std::to_string(i) : text(i));
      call_options options;
      options.timeout = 60s;
      options.compression = compression(encoding::gzip).min_bytes(0);
      const auto reply = co_await stub.Say(request, options);
      EXPECT_EQ(reply.status(), status());
      EXPECT_TRUE(reply.ok() && reply->text() == request.text()) << i;
    }
    static task<> all(channel& by) {
      std::vector<task<>> calls;
      for (int i = 0; i < 24; ++i) calls.push_back(say(by, i));
      co_await when_all(std::move(calls));
    }
  };
  echo_service echoes;
  server_options options_2;
  options_2.compression = compression(encoding::gzip);
  server_.emplace(rt(), options_2);
  server_->add(echoes);
  ASSERT_EQ(server_->listen("127.0.0.1:0", served_as("server")), status());
  call_by(trusting("ca"));
  run(program::all(*channel_));
  channel_.reset();
  server_.reset();
}

}  // namespace
}  // namespace coracle::tls_test
