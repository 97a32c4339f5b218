// The impostor of coracle chaos before clients that verify its certificate, and those that do not.
#include "tools/chaos/impostor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace coracle::tools::chaos::chaos_impostor_test {
namespace {

using ::testing::StartsWith;

// A client without I/O. `verifies`: it knows no CA, and so must refuse each certificate.
class client {
 public:
  client(bool verifies, const char* name, int version)
      : context_(SSL_CTX_new(TLS_client_method())), connection_(SSL_new(context_.get())) {
    SSL_set_bio(connection_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(connection_.get());
    SSL_set_verify(connection_.get(), verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    SSL_set_max_proto_version(connection_.get(), version);
    const unsigned char h2[] = {2, 'h', '2'};
    SSL_set_alpn_protos(connection_.get(), h2, sizeof h2);
    if (name) SSL_set_tlsext_host_name(connection_.get(), name);
  }

  // Until the handshake is over for both.
  void meet(impostor& server) {
    for (int rounds = 0; rounds < 10; ++rounds) {
      SSL_do_handshake(connection_.get());
      const std::string sent = taken();
      if (sent.empty()) break;
      const std::string answer = server.answer(sent);
      BIO_write(SSL_get_rbio(connection_.get()), answer.data(), static_cast<int>(answer.size()));
    }
  }
  std::string say(std::string_view bytes) {
    SSL_write(connection_.get(), bytes.data(), static_cast<int>(bytes.size()));
    return taken();
  }
  std::string taken() {
    char* bytes = nullptr;
    BIO* const out = SSL_get_wbio(connection_.get());
    const long length = BIO_get_mem_data(out, &bytes);
    std::string all(bytes, static_cast<std::size_t>(length));
    static_cast<void>(BIO_reset(out));
    return all;
  }
  [[nodiscard]] X509* certificate() const { return SSL_get0_peer_certificate(connection_.get()); }
  [[nodiscard]] std::string protocol() const {
    const unsigned char* name = nullptr;
    unsigned int length = 0;
    SSL_get0_alpn_selected(connection_.get(), &name, &length);
    return {reinterpret_cast<const char*>(name), length};
  }
  void finish() { SSL_shutdown(connection_.get()); }

 private:
  openssl_ptr<SSL_CTX> context_;
  openssl_ptr<SSL> connection_;
};

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
  client one(true, "movies.example.org", GetParam());
  one.meet(server_);
  EXPECT_EQ(server_.verdict(), "refused: unknown CA");
  EXPECT_FALSE(server_.is_accepted());
}

TEST_P(Impostor, IsAcceptedByTheDataOfAClientAlone) {
  client one(false, "movies.example.org", GetParam());
  one.meet(server_);
  EXPECT_EQ(server_.verdict(), "") << "it may still verify";
  static_cast<void>(server_.answer(one.say("PRI * HTTP/2.0")));
  EXPECT_TRUE(server_.is_accepted());
  EXPECT_THAT(server_.verdict(), StartsWith("ACCEPTED: "));
}

TEST_P(Impostor, IsRefusedByAClientThatVerifiesAfterTheHandshake) {
  client one(false, "movies.example.org", GetParam());
  one.meet(server_);
  one.finish();
  static_cast<void>(server_.answer(one.taken()));
  EXPECT_EQ(server_.verdict(), "refused: the client closed the connection");
  EXPECT_FALSE(server_.is_accepted());
}

TEST_P(Impostor, HasTheNameThatTheClientAsksFor) {
  client one(false, "movies.example.org", GetParam());
  one.meet(server_);
  ASSERT_TRUE(one.certificate());
  EXPECT_EQ(X509_check_host(one.certificate(), "movies.example.org", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(one.certificate(), "example.org", 0, 0, nullptr), 0);
  EXPECT_EQ(one.protocol(), "h2");
}

TEST_P(Impostor, HasTheNamesOfThisMachineForAClientThatAsksForNone) {
  client one(false, nullptr, GetParam());
  one.meet(server_);
  ASSERT_TRUE(one.certificate());
  EXPECT_EQ(X509_check_ip_asc(one.certificate(), "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_host(one.certificate(), "localhost", 0, 0, nullptr), 1);
}

TEST_P(Impostor, EndsTheHandshakeOfAClientWhoseServerNameIsNone) {
  client one(false, "DNS:a,IP:1.2.3.4", GetParam());
  one.meet(server_);
  EXPECT_THAT(server_.verdict(), StartsWith("not seen: "));
}

TEST_P(Impostor, IsNotSeenByAClientThatSpeaksNoTls) {
  const std::string_view record("\x16\x03\x01\x00\x05\x01nonsense", 14);
  static_cast<void>(server_.answer(record));
  EXPECT_THAT(server_.verdict(), StartsWith("not seen: "));
}

}  // namespace
}  // namespace coracle::tools::chaos::chaos_impostor_test
