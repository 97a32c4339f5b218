// Which peers are accepted, which are rejected, and what each side reports.
#include "coracle/security/auth_context.hpp"
#include "unit/tls/secured_ends.hpp"

#include <gmock/gmock.h>

#include <cerrno>

namespace coracle::tls::handshake_test {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;

struct outcome {
  bool connected = false;
  std::string client;  // why not
  std::string server;
};

task<outcome> meet(two_sides& sides, std::string host) {
  outcome o;
  auto e = connect(sides, host);
  e->client.send("hello");
  co_await e->server.until([&] { return e->server.text == "hello" || e->server.end; });
  o.connected = e->server.text == "hello";
  if (o.connected) {
    EXPECT_TRUE(e->server.send("welcome"));
    co_await e->client.until_size(7);
  } else {
    // As transport::connection does: immediately, and the alert arrives nevertheless.
    o.server = e->server.line->end_reason();
    co_await e->server.closed_down(true);
    co_await e->client.until_end();
    o.client = e->client.line->end_reason();
    EXPECT_LT(*e->client.end, 0);
  }
  EXPECT_EQ(o.client.find('\n'), std::string::npos) << "one line";
  co_await e->close();
  co_return o;
}

class a_handshake : public a_secured_connection {
 protected:
  outcome between(const server_options& s, const client_options& c, const std::string& host = "localhost") {
    two_sides sides(s, c);
    return sync_wait(host_, host_.at(0), meet(sides, host));
  }
};

TEST_F(a_handshake, VerifiesNamesAndAddresses) {
  for (const char* host : {"localhost", "movies.example", "MOVIES.example", "127.0.0.1", "::1"})
    EXPECT_EQ(between(served_as("server"), trusting("ca"), host).client, "") << host;
}

// The protocols of HTTP that the sides report after a handshake in which the client requires `wanted`.
task<> select(std::string wanted) {
  loop& here = *loop::current();
  two_sides sides(served_as("server"), trusting("ca"));
  auto [c, s] = net::make_memory_duplex_pair(here, here);
  recorder client(sides.client->secure(here, std::move(c), "localhost", wanted));
  recorder server(sides.server->secure(here, std::move(s)));
  EXPECT_FALSE(client.line->established());
  EXPECT_TRUE(client.send("hello"));
  co_await server.until([&] { return server.text == "hello" || server.end; });
  EXPECT_EQ(client.handshakes, 1);
  EXPECT_EQ(server.handshakes, 1);
  for (const recorder* side : {&client, &server}) {
    CORACLE_ASSERT(side->line->auth(), "the handshake has ended");
    EXPECT_EQ(side->line->auth()->application_protocol(), wanted);
  }
  co_await client.closed_down();
  co_await server.closed_down();
}

TEST_F(a_handshake, SelectsTheVersionOfHttpThatTheClientSpeaks) {
  run(select, "h2");
  run(select, "http/1.1");
}

task<> fail_without_http(std::string* client_reason, std::string* server_reason) {
  loop& here = *loop::current();
  two_sides sides(served_as("server"), trusting("ca"));
  auto [c, s] = net::make_memory_duplex_pair(here, here);
  recorder client(sides.client->secure(here, std::move(c), "localhost", "spdy/3"));
  recorder server(sides.server->secure(here, std::move(s)));
  co_await server.until_end();
  *server_reason = server.line->end_reason();
  co_await server.closed_down(true);
  co_await client.until_end();
  *client_reason = client.line->end_reason();
  co_await client.closed_down(true);
}

TEST_F(a_handshake, FailsForAnotherProtocolThanHttp) {
  std::string client, server;
  run(fail_without_http, &client, &server);
  EXPECT_THAT(server, EndsWith("the client offers neither HTTP/2 nor HTTP/1.1 (ALPN h2, http/1.1)"));
  EXPECT_THAT(client, HasSubstr("does not support the client's version of HTTP over TLS (ALPN)"));
}

TEST_F(a_handshake, FailsForAnotherHost) {
  for (const char* host : {"evil.example", "127.0.0.2", "sub.movies.example", "the server"}) {
    const outcome o = between(served_as("server"), trusting("ca"), host);
    EXPECT_FALSE(o.connected) << host;
    EXPECT_THAT(o.client, HasSubstr("it is valid for localhost, movies.example, 127.0.0.1, ::1, not for " +
                                    std::string(host)));
  }
}

TEST_F(a_handshake, SaysThatAnAddressIsNoDnsName) {
  const outcome o = between(served_as("address_as_name"), trusting("ca"), "127.0.0.1");
  EXPECT_FALSE(o.connected);
  EXPECT_THAT(o.client, HasSubstr("it has the address 127.0.0.1 as a DNS name: issue one with the "
                                  "subjectAltName IP:127.0.0.1 in place of DNS:127.0.0.1"));
}

TEST_F(a_handshake, PrintsAPeersNamesInOneShortLine) {
  const outcome o = between(served_as("talkative"), trusting("ca"));
  EXPECT_FALSE(o.connected);
  EXPECT_THAT(o.client, HasSubstr("it is valid for https://a??ERROR: forged, "));
  EXPECT_THAT(o.client, HasSubstr("..., not for localhost"));
  EXPECT_LT(o.client.size(), 600u);
}

TEST_F(a_handshake, NeedsAName) {
  const outcome o = between(served_as("server"), trusting("ca"), "");
  EXPECT_FALSE(o.connected);
  EXPECT_THAT(o.client, HasSubstr("\"\" is not a valid server name"));
}

TEST_F(a_handshake, MatchesWildcardsInWholeLabelsOnly) {
  EXPECT_TRUE(between(served_as("other_server"), trusting("ca"), "any.wild.example").connected);
  EXPECT_FALSE(between(served_as("other_server"), trusting("ca"), "a.b.wild.example").connected);
  EXPECT_FALSE(between(served_as("other_server"), trusting("ca"), "wild.example").connected);
}

TEST_F(a_handshake, TakesNoCommonNameForAName) {
  const outcome o = between(served_as("nameless"), trusting("ca"));
  EXPECT_FALSE(o.connected);
  EXPECT_THAT(o.client, HasSubstr("it has no subjectAltName: issue one with a subjectAltName for localhost"));
}

TEST_F(a_handshake, TakesTheCommonNameOfACertificateWithoutDnsNamesIfItIsAccepted) {
  client_options credentials = trusting("ca");
  credentials.accept_common_name = true;
  EXPECT_TRUE(between(served_as("nameless"), credentials).connected);
  for (const char* const host : {"movies.example", "127.0.0.1", "local", "sub.localhost"})
    EXPECT_FALSE(between(served_as("nameless"), credentials, host).connected) << host;
  // A certificate with DNS names is for these alone.
  EXPECT_TRUE(between(served_as("server"), credentials).connected);
  EXPECT_FALSE(between(served_as("server"), credentials, "the server").connected);
}

TEST_F(a_handshake, OverridesTheNameForTests) {
  client_options credentials = trusting("ca");
  credentials.target_name = "movies.example";
  EXPECT_TRUE(between(served_as("server"), credentials, "evil.example").connected);
}

TEST_F(a_handshake, FailsWithAnExpiredCertificate) {
  const outcome o = between(served_as("expired"), trusting("ca"));
  EXPECT_FALSE(o.connected);
  EXPECT_THAT(o.client, HasSubstr("it expired on"));
  EXPECT_THAT(o.client, HasSubstr("(CN = the old server): renew it"));
  EXPECT_THAT(o.server, HasSubstr("the client reports that the server's certificate has expired"));
}

TEST_F(a_handshake, JudgesCertificatesByTheTimeOfItsWorld) {
  world_.jump_wall_clock("host", std::chrono::hours(-48));
  const outcome o = between(served_as("server"), trusting("ca"));
  EXPECT_FALSE(o.connected);
  EXPECT_THAT(o.client, HasSubstr("it is not valid before"));
}

TEST_F(a_handshake, FailsWithAnUnknownCa) {
  const outcome o = between(served_as("untrusted"), trusting("ca"));
  EXPECT_FALSE(o.connected);
  EXPECT_THAT(o.client, HasSubstr("it is not issued by a trusted CA (CN = a server): set its CA with "
                                  "client_options::cas"));
  EXPECT_THAT(o.server, HasSubstr("the client does not trust the CA of the server's certificate"));
  EXPECT_FALSE(between(served_as("server"), client_options()).connected) << "the system knows no CA of tests";
}

TEST_F(a_handshake, TakesSeveralCasAndTextInPlaceOfFiles) {
  const auto& made = testing_support::certificates::made();
  client_options both;
  both.cas.push_back(pem_source::text(made.text("other_ca.pem")));
  both.cas.push_back(pem_source::text(made.text("ca.pem")));
  server_options credentials;
  credentials.certificates.push_back(key_pair::pem(made.text("server.pem"), made.text("server.key")));
  EXPECT_TRUE(between(credentials, both).connected);
  EXPECT_TRUE(between(served_as("untrusted"), both).connected);
}

TEST_F(a_handshake, SendsItsIntermediates) {
  EXPECT_TRUE(between(served_as("chain"), trusting("ca")).connected);
  EXPECT_FALSE(between(served_as("below"), trusting("ca")).connected);
  EXPECT_TRUE(between(served_as("below"), trusting("middle")).connected)
      << "a CA that is named need be no root";
}

TEST_F(a_handshake, SaysTheMendOfTheTutorialsCertificates) {
  const outcome o = between(served_as("recipe"), trusting("recipe_ca"));
  EXPECT_FALSE(o.connected);
  const std::string head = "the server's certificate is not accepted: ";
  EXPECT_THAT(
      o.client,
      testing::AnyOf(
          head + "it is self-signed, or has the same subject as its CA (CN = localhost): give the CA a "
                 "subject of its own, and the server's certificate a subjectAltName for localhost",
          // OpenSSL 3.5 detects that the key is another one.
          head + "it has no subjectAltName: issue one with a subjectAltName for localhost (its CN does not "
                 "count, RFC 9525)"));
}

TEST_F(a_handshake, WithoutVerificationBelievesAnyone) {
  client_options credentials;
  credentials.verify = false;
  EXPECT_TRUE(between(served_as("untrusted"), credentials, "evil.example").connected);
}

TEST_F(a_handshake, ChoosesTheCertificateBySni) {
  server_options several = served_as("server");
  several.certificates.push_back(pair_of("other_server"));
  EXPECT_TRUE(between(several, trusting("ca"), "movies.example").connected);
  EXPECT_TRUE(between(several, trusting("ca"), "other.example").connected);
  EXPECT_TRUE(between(several, trusting("ca"), "any.wild.example").connected);
  EXPECT_THAT(between(several, trusting("ca"), "neither.example").client,
              HasSubstr("it is valid for localhost"))
      << "the first is for everybody else";
}

TEST_F(a_handshake, ReadsKeysInEveryForm) {
  const auto with = [](const char* key) {
    return key_pair::files(testing_support::certificate("server.pem"), testing_support::certificate(key));
  };
  server_options credentials;
  credentials.certificates.push_back(with("old_form.key"));
  EXPECT_TRUE(between(credentials, trusting("ca")).connected);
  server_options credentials_2;
  credentials_2.certificates.push_back(with("pkcs8.key"));
  EXPECT_TRUE(between(credentials_2, trusting("ca")).connected);
  auto opened = with("protected.key").passphrase([] { return std::string("sesame"); });
  server_options credentials_3;
  credentials_3.certificates.push_back(opened);
  EXPECT_TRUE(between(credentials_3, trusting("ca")).connected);
}

// --- mTLS

server_options asking(client_certificates c) {
  server_options credentials = served_as("server");
  credentials.client_cas.push_back(pem_source::file(testing_support::certificate("ca.pem")));
  credentials.clients = c;
  return credentials;
}

TEST_F(a_handshake, LetsInAClientWithACertificate) {
  client_options credentials = trusting("ca");
  credentials.certificate = pair_of("client");
  for (const auto c : {client_certificates::required, client_certificates::requested})
    EXPECT_TRUE(between(asking(c), credentials).connected);
}

TEST_F(a_handshake, NeedsNoCertificateWhereOneIsOnlyRequested) {
  EXPECT_TRUE(between(asking(client_certificates::requested), trusting("ca")).connected);
}

TEST_F(a_handshake, FailsWithoutARequiredCertificate) {
  const outcome o = between(asking(client_certificates::required), trusting("ca"));
  EXPECT_FALSE(o.connected);
  EXPECT_THAT(o.client,
              EndsWith("the server requires a client certificate: set one with client_options::certificate"));
  EXPECT_THAT(o.server, HasSubstr("the client sent no certificate, and the server requires one"));
}

TEST_F(a_handshake, FailsWithACertificateOfAnotherCa) {
  for (const auto c : {client_certificates::required, client_certificates::requested}) {
    client_options credentials = trusting("ca");
    credentials.certificate = pair_of("wrong_client");
    const outcome o = between(asking(c), credentials);
    EXPECT_FALSE(o.connected);
    EXPECT_THAT(o.server,
                HasSubstr("the client's certificate is not accepted: it is not issued by a trusted CA "
                          "(CN = mallory)"));
    EXPECT_THAT(o.client, HasSubstr("the server does not trust the CA of the client's certificate"));
  }
}

TEST_F(a_handshake, FailsWithAServersCertificateInAClientsHands) {
  client_options credentials = trusting("ca");
  credentials.certificate = pair_of("server");
  const outcome o = between(asking(client_certificates::required), credentials);
  EXPECT_FALSE(o.connected);
  EXPECT_THAT(o.server, HasSubstr("its extendedKeyUsage does not permit a client (clientAuth)"));
}

task<> identities() {
  client_options credentials = trusting("ca");
  credentials.certificate = pair_of("client");
  two_sides sides(asking(client_certificates::required), credentials);
  for (const bool resumed : {false, true}) {
    auto e = connect(sides);
    e->client.send("hello");
    co_await e->server.until_size(5);
    const auth_context& seen = *e->server.line->auth();
    using kind = peer_identity::kind;
    const std::vector<peer_identity> wanted = {{kind::dns_name, "ada.example"},
                                               {kind::uri, "spiffe://example/ada"},
                                               {kind::email, "ada@example"},
                                               {kind::common_name, "ada"}};
    EXPECT_EQ(seen.resumed(), resumed);
    EXPECT_TRUE(seen.peer_verified());
    EXPECT_EQ(seen.identities(), wanted);
    EXPECT_EQ(seen.peer_certificates_pem(), testing_support::certificates::made().text("client.pem"));
    EXPECT_TRUE(e->server.send("welcome"));  // behind the tickets
    co_await e->client.until_size(7);
    co_await e->close();
  }
}
TEST_F(a_handshake, TellsTheServerWhoTheClientIsAlsoWhenASessionIsResumed) { run(identities); }

struct meeting {
  bool resumed = false;
  std::string server;  // how it ended there
  std::string client;
};
task<> meet(two_sides* sides, meeting* m) {
  auto e = connect(*sides);
  e->client.send("hello");
  co_await e->server.until([&] { return e->server.text.size() == 5 || e->server.end; });
  if (!e->server.end) {
    m->resumed = e->server.line->auth()->resumed();
    EXPECT_TRUE(e->server.send("welcome"));  // behind the tickets
    co_await e->client.until_size(7);
  }
  m->server = e->server.line->end_reason();
  m->client = e->client.line->end_reason();
  co_await e->close();
}

// A session would outlive the context that created it: its tickets are renewed.
TEST_F(a_handshake, ResumesNoSessionOfACertificateThatHasExpiredMeanwhile) {
  const auto meeting_with = [&](two_sides& sides) {
    meeting m;
    run(meet, &sides, &m);
    return m;
  };
  client_options credentials = trusting("ca");
  credentials.certificate = pair_of("brief_client");
  two_sides brief(asking(client_certificates::required), credentials);
  client_options credentials_2 = trusting("ca");
  credentials_2.certificate = pair_of("client");
  two_sides longer(asking(client_certificates::required), credentials_2);
  EXPECT_FALSE(meeting_with(brief).resumed);
  EXPECT_TRUE(meeting_with(brief).resumed);
  EXPECT_FALSE(meeting_with(longer).resumed);
  world_.jump_wall_clock("host", 36h);
  EXPECT_EQ(meeting_with(brief).server, "the client's certificate has expired since its session began");
  EXPECT_TRUE(meeting_with(longer).resumed);
  world_.jump_wall_clock("host", 24h);
  EXPECT_THAT(meeting_with(longer).client,
              HasSubstr("the server's certificate is not accepted: it expired on"));
}

TEST_F(a_handshake, TakesNoChainThatIsTooLong) {
  const auto& made = testing_support::certificates::made();
  std::string chain = made.text("chain.pem");
  while (chain.size() < limits::certificates_bytes * 2) chain.append(made.text("middle.pem"));
  server_options credentials;
  credentials.certificates.push_back(key_pair::pem(chain, made.text("chain.key")));
  const outcome o = between(credentials, trusting("ca"));
  EXPECT_FALSE(o.connected);
  EXPECT_THAT(o.client, HasSubstr("excessive message size"));
}

// --- time

task<> half_open() {
  server_options credentials = served_as("server");
  credentials.handshake_timeout = 3s;
  client_options credentials_2 = trusting("ca");
  credentials_2.handshake_timeout = 2s;
  two_sides sides(credentials, credentials_2);
  loop& here = *loop::current();
  auto [c, s] = net::make_memory_duplex_pair(here, here);
  recorder silent(std::move(c));
  recorder server(sides.server->secure(here, std::move(s)));
  const time_point began = here.now();
  co_await server.until_end();
  EXPECT_EQ(here.now() - began, 3s);
  EXPECT_EQ(*server.end, -ETIMEDOUT);
  EXPECT_EQ(server.line->end_reason(), "the TLS handshake did not end within 3000 ms");
  co_await server.closed_down();
  EXPECT_EQ(here.now() - began, 3s) << "nobody is waited for";
  co_await silent.until_end();
  co_await silent.closed_down();
}
TEST_F(a_handshake, IsClosedWhenItDoesNotEndInTime) { run(half_open); }

task<> plaintext_client() {
  two_sides sides(served_as("server"), trusting("ca"));
  loop& here = *loop::current();
  auto [c, s] = net::make_memory_duplex_pair(here, here);
  recorder plain(std::move(c));
  recorder server(sides.server->secure(here, std::move(s)));
  plain.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  co_await server.until_end();
  EXPECT_EQ(server.line->end_reason(),
            "the TLS handshake failed: the client does not use TLS (is it configured for plaintext?)");
  co_await server.closed_down();
  co_await plain.until_end();
  co_await plain.closed_down();
}
TEST_F(a_handshake, SaysThatAClientIsPlaintext) { run(plaintext_client); }

task<> hung_up() {
  two_sides sides(served_as("server"), trusting("ca"));
  loop& here = *loop::current();
  auto [c, s] = net::make_memory_duplex_pair(here, here);
  recorder client(sides.client->secure(here, std::move(c), "localhost"));
  recorder raw(std::move(s));
  client.send("hello");
  co_await raw.until_size(1);
  co_await raw.closed_down();
  co_await client.until_end();
  EXPECT_EQ(client.line->end_reason(), "the TLS handshake failed: the peer closed the connection");
  co_await client.until_sent(1);
  EXPECT_LT(client.sends.front(), 0);
  co_await client.closed_down();
}
TEST_F(a_handshake, EndsWithItsConnection) { run(hung_up); }

}  // namespace
}  // namespace coracle::tls::handshake_test
