// The impostor of coracle chaos before clients that verify its certificate, and those that do not.
#include "tools/chaos/impostor.hpp"

#include "unit/tools/chaos_tls_client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace coracle::tools::chaos::chaos_impostor_test {
namespace {

using ::testing::StartsWith;

// Until the handshake is over for both.
void meet(tls_client& one, impostor& server) {
  for (int rounds = 0; rounds < 10; ++rounds) {
    const std::string sent = one.shake_hands();
    if (sent.empty()) break;
    one.get(server.answer(sent));
  }
}

// A fatal one in a record without encryption, as those about a ServerHello are.
std::string alert(int description) {
  return std::string("\x15\x03\x03\x00\x02\x02", 6) + static_cast<char>(description);
}

class Impostor : public ::testing::TestWithParam<int> {
 protected:
  const impostor_authority authority_;
  impostor server_{authority_};
};
INSTANTIATE_TEST_SUITE_P(Over, Impostor, ::testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& at) {
                           return std::string(at.param == TLS1_2_VERSION ? "Tls12" : "Tls13");
                         });

TEST_P(Impostor, IsRefusedByAClientThatVerifies) {
  tls_client one(true, "movies.example.org", GetParam());
  meet(one, server_);
  EXPECT_EQ(server_.verdict(), "refused: unknown CA");
  EXPECT_FALSE(server_.is_accepted());
}

TEST_P(Impostor, IsAcceptedByTheDataOfAClientAlone) {
  tls_client one(false, "movies.example.org", GetParam());
  meet(one, server_);
  EXPECT_EQ(server_.verdict(), "") << "it may still verify";
  static_cast<void>(server_.answer(one.say("PRI * HTTP/2.0")));
  EXPECT_TRUE(server_.is_accepted());
  EXPECT_THAT(server_.verdict(), StartsWith("ACCEPTED: "));
}

TEST_P(Impostor, IsRefusedByAClientThatVerifiesAfterTheHandshake) {
  tls_client one(false, "movies.example.org", GetParam());
  meet(one, server_);
  static_cast<void>(server_.answer(one.close()));
  EXPECT_EQ(server_.verdict(), "refused: the client closed the connection");
  EXPECT_FALSE(server_.is_accepted());
}

// What a client reads before the certificate of the same flight.
TEST_P(Impostor, IsNotSeenByAClientThatRejectsTheServerHello) {
  for (const int description : {SSL_AD_ILLEGAL_PARAMETER, SSL_AD_NO_APPLICATION_PROTOCOL}) {
    impostor server(authority_);
    tls_client one(false, "movies.example.org", GetParam());
    static_cast<void>(server.answer(one.shake_hands()));
    static_cast<void>(server.answer(alert(description)));
    EXPECT_EQ(server.verdict(), std::string("not seen: ").append(SSL_alert_desc_string_long(description)));
  }
}

TEST_P(Impostor, IsRefusedByAnAlertThatDoesNotNameTheCertificate) {
  tls_client one(false, "movies.example.org", GetParam());
  static_cast<void>(server_.answer(one.shake_hands()));
  static_cast<void>(server_.answer(alert(SSL_AD_HANDSHAKE_FAILURE)));
  EXPECT_EQ(server_.verdict(), "refused: handshake failure");
}

TEST_P(Impostor, IsNotRefusedByAClientThatGotOtherBytes) {
  tls_client one(false, "movies.example.org", GetParam());
  static_cast<void>(server_.answer(one.shake_hands()));
  static_cast<void>(server_.answer(alert(SSL_AD_BAD_RECORD_MAC)));
  EXPECT_EQ(server_.verdict(), "unclear: bad record mac");
}

TEST_P(Impostor, HasBeenSeenByAClientWhoseDataIsBroken) {
  tls_client one(false, "movies.example.org", GetParam());
  meet(one, server_);
  std::string data = one.say("PRI * HTTP/2.0");
  data.back() = static_cast<char>(data.back() ^ 1);
  static_cast<void>(server_.answer(data));
  EXPECT_THAT(server_.verdict(), StartsWith("unclear: "));
  EXPECT_FALSE(server_.is_accepted());
}

TEST_P(Impostor, IsNotSeenByAClientThatClosesBeforeItHasTheCertificate) {
  const std::string closed = "the client closed the connection";
  impostor without_hello(authority_);
  without_hello.end(true);
  EXPECT_EQ(without_hello.verdict(), "not seen: " + closed);
  for (const bool has_got_all : {false, true}) {
    impostor server(authority_);
    tls_client one(false, "movies.example.org", GetParam());
    static_cast<void>(server.answer(one.shake_hands()));
    server.end(has_got_all);
    EXPECT_EQ(server.verdict(), (has_got_all ? "refused: " : "not seen: ") + closed);
  }
}

TEST_P(Impostor, ShowsItsCertificateToAClientThatComesAgain) {
  tls_client first(false, "movies.example.org", GetParam());
  meet(first, server_);
  first.read();
  impostor server(authority_);
  tls_client again(true, "movies.example.org", GetParam());
  again.resume(first);
  meet(again, server);
  EXPECT_FALSE(again.has_resumed());
  EXPECT_EQ(server.verdict(), "refused: unknown CA");
}

TEST_P(Impostor, HasTheNameThatTheClientAsksFor) {
  tls_client one(false, "movies.example.org", GetParam());
  meet(one, server_);
  ASSERT_TRUE(one.certificate());
  EXPECT_EQ(X509_check_host(one.certificate(), "movies.example.org", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(one.certificate(), "example.org", 0, 0, nullptr), 0);
  EXPECT_EQ(one.protocol(), "h2");
}

TEST_P(Impostor, HasTheNamesOfThisMachineForAClientThatAsksForNone) {
  tls_client one(false, nullptr, GetParam());
  meet(one, server_);
  ASSERT_TRUE(one.certificate());
  EXPECT_EQ(X509_check_ip_asc(one.certificate(), "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_host(one.certificate(), "localhost", 0, 0, nullptr), 1);
}

TEST_P(Impostor, EndsTheHandshakeOfAClientWhoseServerNameIsNone) {
  tls_client one(false, "DNS:a,IP:1.2.3.4", GetParam());
  meet(one, server_);
  EXPECT_THAT(server_.verdict(), StartsWith("not seen: "));
}

TEST_P(Impostor, IsNotSeenByAClientThatSpeaksNoTls) {
  const std::string_view record("\x16\x03\x01\x00\x05\x01nonsense", 14);
  static_cast<void>(server_.answer(record));
  EXPECT_THAT(server_.verdict(), StartsWith("not seen: "));
}

}  // namespace
}  // namespace coracle::tools::chaos::chaos_impostor_test
