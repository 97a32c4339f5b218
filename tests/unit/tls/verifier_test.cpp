// A user's verifier decides, in addition to OpenSSL or alone.
#include "coracle/base/impl/base64.hpp"
#include "coracle/security/auth_context.hpp"
#include "coracle/tls/peer_verifier.hpp"
#include "unit/tls/secured_ends.hpp"

#include <gmock/gmock.h>

#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>

namespace coracle::tls::verifier_test {
namespace {

using testing::HasSubstr;

std::string output_of(const std::string& command) {
  std::string text;
  FILE* const from = ::popen(command.c_str(), "r");
  if (!from) return {};
  char part[256];
  while (const std::size_t n = std::fread(part, 1, sizeof part, from)) text.append(part, n);
  EXPECT_EQ(::pclose(from), 0) << command;
  return text.substr(0, text.find('\n'));
}

// As other programs compute a pin.
std::string pin_of(const std::string& name) {
  return output_of(
      "openssl x509 -in '" + testing_support::certificate(name + ".pem") +
      "' -noout -pubkey | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary | base64");
}

// What a verifier was asked, and its answer.
struct asked {
  int times = 0;
  status answer;
  std::optional<peer_certificate> peer;

  [[nodiscard]] peer_verifier verifier() {
    return [this](const peer_certificate& p) {
      ++times;
      peer.emplace(p);
      return answer;
    };
  }
};

struct outcome {
  bool connected = false;
  bool resumed = false;
  std::string client;  // why not
  std::string server;
};

task<outcome> meet(two_sides& sides, std::string host) {
  outcome o;
  auto e = connect(sides, host);
  e->client.send("hello");
  co_await sleep_for(std::chrono::seconds(1));  // in virtual time: everything that can happen has happened
  o.client = e->client.line->end_reason();
  o.server = e->server.line->end_reason();
  o.connected = e->server.text == "hello" && o.client.empty() && o.server.empty();
  if (const auto* auth = e->client.line->auth()) o.resumed = auth->resumed();
  // The tickets come with the first answer.
  if (o.connected) {
    EXPECT_TRUE(e->server.send("welcome"));
    co_await e->client.until_size(7);
  }
  EXPECT_EQ(o.client.find('\n'), std::string::npos) << "one line";
  EXPECT_TRUE(o.connected || e->server.text.empty()) << "no byte passes a verifier that rejects";
  EXPECT_TRUE(o.connected || e->client.text.empty());
  co_await e->close();
  co_return o;
}

class a_verifier : public a_secured_connection {
 protected:
  outcome between(two_sides& sides, const std::string& host = "localhost") {
    return sync_wait(host_, host_.at(0), meet(sides, host));
  }
  outcome between(const server_options& s, const client_options& c, const std::string& host = "localhost") {
    two_sides sides(s, c);
    return between(sides, host);
  }
  static server_options for_clients() {
    server_options credentials = served_as("server");
    credentials.client_cas.push_back(pem_source::file(testing_support::certificate("ca.pem")));
    return credentials;
  }
};

TEST_F(a_verifier, IsToldWhoTheServerIs) {
  asked a;
  client_options credentials = trusting("ca");
  credentials.verifier = a.verifier();
  EXPECT_TRUE(between(served_as("server"), credentials, "movies.example").connected);
  ASSERT_TRUE(a.peer);
  EXPECT_EQ(a.times, 1);
  EXPECT_EQ(a.peer->host(), "movies.example");
  EXPECT_TRUE(a.peer->chain_verified());
  EXPECT_TRUE(a.peer->has_identity(peer_identity::kind::dns_name, "movies.example"));
  EXPECT_TRUE(a.peer->has_identity(peer_identity::kind::ip_address, "127.0.0.1"));
  EXPECT_EQ(a.peer->spki_sha256(), pin_of("server"));
  EXPECT_EQ(a.peer->spki_sha256().size(), 44u);
  EXPECT_EQ(a.peer->pem(), testing_support::certificates::made().text("server.pem"));
  std::string body = a.peer->pem();
  body = body.substr(body.find('\n'), body.rfind("-----END") - body.find('\n'));
  std::erase(body, '\n');
  const std::string der(a.peer->der().begin(), a.peer->der().end());
  EXPECT_EQ(base::padded_base64(der), body);
}

TEST_F(a_verifier, IsToldWhoTheClientIs) {
  asked a;
  server_options credentials = for_clients();
  credentials.verifier = a.verifier();
  client_options credentials_2 = trusting("ca");
  credentials_2.certificate = pair_of("client");
  EXPECT_TRUE(between(credentials, credentials_2, "movies.example").connected);
  ASSERT_TRUE(a.peer);
  EXPECT_EQ(a.times, 1);
  EXPECT_EQ(a.peer->host(), "movies.example") << "SNI";
  EXPECT_TRUE(a.peer->has_identity(peer_identity::kind::uri, "spiffe://example/ada"));
  EXPECT_FALSE(a.peer->has_identity(peer_identity::kind::uri, "spiffe://example/bert"));
  EXPECT_EQ(a.peer->spki_sha256(), pin_of("client"));
}

TEST_F(a_verifier, PinsAKey) {
  const auto pinned = [](const std::string& pin) {
    client_options credentials = trusting("ca");
    credentials.verifier = [pin](const peer_certificate& p) {
      return p.spki_sha256() == pin ? status() : status::permission_denied("the key is not pinned");
    };
    return credentials;
  };
  EXPECT_TRUE(between(served_as("server"), pinned(pin_of("server"))).connected);
  const outcome o = between(served_as("server"), pinned(pin_of("other_server")));
  EXPECT_FALSE(o.connected);
  EXPECT_EQ(
      o.client,
      "the server's certificate is not accepted by the verifier: PERMISSION_DENIED: the key is not pinned");
  EXPECT_THAT(o.server, HasSubstr("the TLS handshake failed")) << "an alert tells it";
}

TEST_F(a_verifier, RejectsAClient) {
  asked a;
  a.answer = status::permission_denied("not\nada");
  server_options credentials = for_clients();
  credentials.verifier = a.verifier();
  client_options credentials_2 = trusting("ca");
  credentials_2.certificate = pair_of("client");
  const outcome o = between(credentials, credentials_2);
  EXPECT_FALSE(o.connected);
  EXPECT_EQ(o.server, "the client's certificate is not accepted by the verifier: PERMISSION_DENIED: not?ada");
  EXPECT_NE(o.client, "") << "an alert tells it";
  EXPECT_EQ(o.client.find("ada"), std::string::npos) << "but not the reason";
}

TEST_F(a_verifier, IsNotAskedAboutAPeerThatIsNotVerified) {
  asked a;
  client_options credentials = trusting("ca");
  credentials.verifier = a.verifier();
  EXPECT_FALSE(between(served_as("untrusted"), credentials).connected);
  client_options credentials_2 = trusting("ca");
  credentials_2.verifier = a.verifier();
  EXPECT_FALSE(between(served_as("server"), credentials_2, "evil.example").connected);
  server_options credentials_3 = for_clients();
  credentials_3.verifier = a.verifier();
  client_options credentials_4 = trusting("ca");
  credentials_4.certificate = pair_of("wrong_client");
  EXPECT_FALSE(between(credentials_3, credentials_4).connected);
  EXPECT_EQ(a.times, 0);
}

TEST_F(a_verifier, DecidesAloneWithoutVerification) {
  asked a;
  const auto options = [&] {
    client_options credentials;
    credentials.verify = false;
    credentials.verifier = a.verifier();
    return credentials;
  };
  EXPECT_TRUE(between(served_as("untrusted"), options(), "evil.example").connected);
  ASSERT_TRUE(a.peer);
  EXPECT_FALSE(a.peer->chain_verified());
  EXPECT_EQ(a.peer->spki_sha256(), pin_of("untrusted"));
  EXPECT_TRUE(a.peer->has_identity(peer_identity::kind::dns_name, "localhost"));
  a.answer = status::unauthenticated("another key");
  const outcome o = between(served_as("untrusted"), options());
  EXPECT_FALSE(o.connected);
  EXPECT_THAT(o.client, HasSubstr("UNAUTHENTICATED: another key"));
  EXPECT_EQ(a.times, 2);
}

TEST_F(a_verifier, IsAskedAgainWhenASessionIsResumed) {
  for (const bool verified : {true, false}) {
    asked a;
    client_options credentials;
    credentials.verify = false;
    const client_options c = verified ? trusting("ca") : credentials;
    client_options credentials_2 = client_options(c);
    credentials_2.verifier = a.verifier();
    two_sides sides(served_as("server"), credentials_2);
    EXPECT_FALSE(between(sides).resumed);
    const outcome again = between(sides);
    EXPECT_TRUE(again.connected && again.resumed);
    EXPECT_EQ(a.times, 2);
    EXPECT_EQ(a.peer->chain_verified(), verified);
    EXPECT_EQ(a.peer->spki_sha256(), pin_of("server"));
    a.answer = status::permission_denied("revoked meanwhile");
    const outcome rejected = between(sides);
    EXPECT_FALSE(rejected.connected);
    EXPECT_THAT(rejected.client, HasSubstr("revoked meanwhile"));
    EXPECT_EQ(a.times, 3);
  }
}

TEST_F(a_verifier, OfAServerIsAskedAgainWhenASessionIsResumed) {
  asked a;
  server_options credentials = for_clients();
  credentials.verifier = a.verifier();
  client_options credentials_2 = trusting("ca");
  credentials_2.certificate = pair_of("client");
  two_sides sides(credentials, credentials_2);
  EXPECT_TRUE(between(sides).connected);
  EXPECT_TRUE(between(sides).resumed);
  EXPECT_EQ(a.times, 2);
  EXPECT_TRUE(a.peer->chain_verified());
  a.answer = status::permission_denied("revoked meanwhile");
  const outcome rejected = between(sides);
  EXPECT_FALSE(rejected.connected);
  EXPECT_THAT(rejected.server, HasSubstr("revoked meanwhile"));
  EXPECT_EQ(a.times, 3);
}

TEST_F(a_verifier, ThatThrowsRejects) {
  client_options throwing = trusting("ca");
  throwing.verifier = [](const peer_certificate&) -> status { throw std::runtime_error("no list of keys"); };
  EXPECT_EQ(
      between(served_as("server"), throwing).client,
      "the server's certificate is not accepted by the verifier: INTERNAL: it threw an exception: no list of "
      "keys");
}

TEST_F(a_verifier, IsNotAskedAboutAClientWithoutACertificate) {
  asked a;
  a.answer = status::permission_denied("never");
  server_options requested = served_as("server");
  requested.client_cas.push_back(pem_source::file(testing_support::certificate("ca.pem")));
  requested.clients = client_certificates::requested;
  server_options credentials = server_options(requested);
  credentials.verifier = a.verifier();
  EXPECT_TRUE(between(credentials, trusting("ca")).connected);
  EXPECT_EQ(a.times, 0);
}

TEST_F(a_verifier, OfAServerNeedsCertificatesOfClients) {
  asked a;
  server_options credentials = served_as("server");
  credentials.verifier = a.verifier();
  const status reason = credentials.build().status();
  EXPECT_EQ(reason.code(), status_code::failed_precondition);
  EXPECT_THAT(std::string(reason.message()), HasSubstr("server_options::client_cas"));
}

TEST_F(a_verifier, IsEqualToItselfAlone) {
  const auto accept = [](const peer_certificate&) { return status(); };
  client_options one = trusting("ca");
  one.verifier = accept;
  EXPECT_EQ(one, client_options(one));
  client_options credentials = trusting("ca");
  credentials.verifier = accept;
  EXPECT_FALSE(one == credentials);
  EXPECT_FALSE(one == trusting("ca"));
  client_options credentials_2 = client_options(one);
  credentials_2.verifier = {};
  EXPECT_EQ(credentials_2, trusting("ca"));
}

}  // namespace
}  // namespace coracle::tls::verifier_test
