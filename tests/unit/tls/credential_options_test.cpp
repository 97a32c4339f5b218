// Options that cannot be applied are reported in one line when the credentials are built.
#include "coracle/tls/client_options.hpp"
#include "coracle/tls/server_options.hpp"
#include "support/certificates.hpp"

#include <gmock/gmock.h>

#include <string>

namespace coracle::tls::credential_options_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing_support::certificate;

template <class Options>
std::string refusal(const Options& o) {
  const auto built = o.build();
  EXPECT_EQ(built.status().code(), status_code::failed_precondition);
  const std::string text(built.status().message());
  EXPECT_EQ(text.find('\n'), std::string::npos) << "one line";
  return text;
}

TEST(TlsOptions, NeedACertificateForAServer) {
  EXPECT_THAT(refusal(server_options()), HasSubstr("set server_options::certificates"));
}

TEST(TlsOptions, NameTheFileThatCannotBeRead) {
  server_options credentials;
  credentials.certificates.push_back(key_pair::files("no/such.pem", certificate("server.key")));
  EXPECT_EQ(refusal(credentials), "cannot read the certificate file no/such.pem: No such file or directory");
  server_options credentials_2;
  credentials_2.certificates.push_back(key_pair::files(certificate("server.pem"), "no/such.key"));
  EXPECT_EQ(refusal(credentials_2), "cannot read the key file no/such.key: No such file or directory");
  client_options credentials_3;
  credentials_3.cas.push_back(pem_source::file("no/ca.pem"));
  EXPECT_EQ(refusal(credentials_3), "cannot read the CA file no/ca.pem: No such file or directory");
  client_options credentials_4;
  credentials_4.cas.push_back(pem_source::file("/"));
  EXPECT_THAT(refusal(credentials_4), HasSubstr("cannot read the CA file /: "));
}

TEST(TlsOptions, NameTheFileThatHoldsSomethingElse) {
  server_options credentials;
  credentials.certificates.push_back(key_pair::files(certificate("server.key"), certificate("server.key")));
  EXPECT_EQ(refusal(credentials), "the certificate file " + certificate("server.key") +
                                      " has no certificate in PEM form (-----BEGIN CERTIFICATE-----)");
  server_options credentials_2;
  credentials_2.certificates.push_back(key_pair::files(certificate("server.pem"), certificate("server.pem")));
  EXPECT_THAT(refusal(credentials_2), HasSubstr("has no private key in PEM form"));
  client_options credentials_3;
  credentials_3.cas.push_back(pem_source::text(""));
  EXPECT_THAT(refusal(credentials_3), HasSubstr("the CA that was passed as text has no certificate"));
  client_options credentials_4;
  credentials_4.cas.push_back(
      pem_source::text("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"));
  EXPECT_THAT(refusal(credentials_4), HasSubstr("the CA that was passed as text is not valid: "));
}

TEST(TlsOptions, SayThatAKeyDoesNotBelongToItsCertificate) {
  server_options credentials;
  credentials.certificates.push_back(key_pair::files(certificate("server.pem"), certificate("client.key")));
  EXPECT_EQ(refusal(credentials), "the key file " + certificate("client.key") +
                                      " does not belong to the first certificate of the certificate file " +
                                      certificate("server.pem"));
}

TEST(TlsOptions, SayThatAKeyNeedsAPassphrase) {
  auto pair = key_pair::files(certificate("server.pem"), certificate("protected.key"));
  server_options credentials;
  credentials.certificates.push_back(pair);
  EXPECT_EQ(refusal(credentials),
            "the key file " + certificate("protected.key") +
                " is protected by a passphrase: set key_pair::passphrase(), or remove the protection "
                "with openssl pkey");
  pair.passphrase([] { return std::string("open up"); });
  server_options credentials_2;
  credentials_2.certificates.push_back(pair);
  EXPECT_THAT(refusal(credentials_2),
              HasSubstr("cannot be decrypted with the passphrase of key_pair::passphrase()"));
  pair.passphrase([] { return std::string("sesame"); });
  server_options credentials_3;
  credentials_3.certificates.push_back(pair);
  EXPECT_TRUE(credentials_3.build().ok());
}

TEST(TlsOptions, TakeAnExceptionOfThePassphrasesCallbackForAnError) {
  auto pair = key_pair::files(certificate("server.pem"), certificate("protected.key"));
  const std::string name = std::string("the key file ").append(certificate("protected.key"));
  pair.passphrase([]() -> std::string { throw std::runtime_error("the vault is closed"); });
  server_options credentials;
  credentials.certificates.push_back(pair);
  EXPECT_EQ(refusal(credentials),
            name + " cannot be decrypted: key_pair::passphrase() threw \"the vault is closed\"");
  pair.passphrase([]() -> std::string { throw 7; });
  server_options credentials_2;
  credentials_2.certificates.push_back(pair);
  EXPECT_EQ(refusal(credentials_2),
            name + " cannot be decrypted: key_pair::passphrase() threw \"an exception without a message\"");
}

TEST(TlsOptions, AreEqualWhenTheySayTheSame) {
  const auto mine = [] {
    client_options credentials;
    credentials.cas.push_back(pem_source::file("a"));
    credentials.certificate = key_pair::files("b", "c");
    credentials.target_name = "d";
    return credentials;
  };
  EXPECT_EQ(client_options(), client_options());
  EXPECT_EQ(mine(), mine());
  client_options more_cas = mine();
  more_cas.cas.push_back(pem_source::file("more"));
  EXPECT_NE(mine(), more_cas);
  client_options another_name = mine();
  another_name.target_name = "e";
  EXPECT_NE(mine(), another_name);
  client_options unverified = mine();
  unverified.verify = false;
  EXPECT_NE(mine(), unverified);
  client_options credentials_2;
  credentials_2.cas.push_back(pem_source::file("a"));
  client_options credentials_3;
  credentials_3.cas.push_back(pem_source::text("a"));
  EXPECT_NE(credentials_2, credentials_3);
  client_options protected_key;
  protected_key.certificate = key_pair::files("b", "c").passphrase([] { return std::string("x"); });
  EXPECT_NE(protected_key, client_options(protected_key)) << "nobody can compare functions";
}

TEST(TlsOptions, AskForNoClientCertificatesWithoutACa) {
  server_options credentials = testing_support::served_as("server");
  credentials.client_cas.push_back(pem_source::file("no/ca.pem"));
  EXPECT_THAT(refusal(credentials), EndsWith("No such file or directory"));
}

TEST(TlsOptions, LoadTheTutorialsCertificates) {
  EXPECT_TRUE(testing_support::served_as("recipe").build().ok());
  EXPECT_TRUE(testing_support::trusting("recipe_ca").build().ok());
}

}  // namespace
}  // namespace coracle::tls::credential_options_test
