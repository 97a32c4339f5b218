// Options that cannot be applied are reported in one line when the credentials are built.
#include "coracle/tls/client_options.hpp"
#include "coracle/tls/server_options.hpp"
#include "support/certificates.hpp"

#include <gmock/gmock.h>

#include <string>

namespace coracle::tls {
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
  EXPECT_THAT(refusal(server_options()), HasSubstr("set server_options::certificate_files()"));
}

TEST(TlsOptions, NameTheFileThatCannotBeRead) {
  EXPECT_EQ(refusal(server_options().certificate_files("no/such.pem", certificate("server.key"))),
            "cannot read the certificate file no/such.pem: No such file or directory");
  EXPECT_EQ(refusal(server_options().certificate_files(certificate("server.pem"), "no/such.key")),
            "cannot read the key file no/such.key: No such file or directory");
  EXPECT_EQ(refusal(client_options().ca_file("no/ca.pem")),
            "cannot read the CA file no/ca.pem: No such file or directory");
  EXPECT_THAT(refusal(client_options().ca_file("/")), HasSubstr("cannot read the CA file /: "));
}

TEST(TlsOptions, NameTheFileThatHoldsSomethingElse) {
  EXPECT_EQ(refusal(server_options().certificate_files(certificate("server.key"), certificate("server.key"))),
            "the certificate file " + certificate("server.key") +
                " has no certificate in PEM form (-----BEGIN CERTIFICATE-----)");
  EXPECT_THAT(
      refusal(server_options().certificate_files(certificate("server.pem"), certificate("server.pem"))),
      HasSubstr("has no private key in PEM form"));
  EXPECT_THAT(refusal(client_options().ca_pem("")),
              HasSubstr("the CA that was passed as text has no certificate"));
  EXPECT_THAT(
      refusal(client_options().ca_pem("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")),
      HasSubstr("the CA that was passed as text is not valid: "));
}

TEST(TlsOptions, SayThatAKeyDoesNotBelongToItsCertificate) {
  EXPECT_EQ(refusal(server_options().certificate_files(certificate("server.pem"), certificate("client.key"))),
            "the key file " + certificate("client.key") +
                " does not belong to the first certificate of the certificate file " +
                certificate("server.pem"));
}

TEST(TlsOptions, SayThatAKeyNeedsAPassphrase) {
  auto pair = key_pair::files(certificate("server.pem"), certificate("protected.key"));
  EXPECT_EQ(refusal(server_options().certificate(pair)),
            "the key file " + certificate("protected.key") +
                " is protected by a passphrase: set key_pair::passphrase(), or remove the protection "
                "with openssl pkey");
  pair.passphrase([] { return std::string("open up"); });
  EXPECT_THAT(refusal(server_options().certificate(pair)),
              HasSubstr("cannot be decrypted with the passphrase of key_pair::passphrase()"));
  pair.passphrase([] { return std::string("sesame"); });
  EXPECT_TRUE(server_options().certificate(pair).build().ok());
}

TEST(TlsOptions, TakeAnExceptionOfThePassphrasesCallbackForAnError) {
  auto pair = key_pair::files(certificate("server.pem"), certificate("protected.key"));
  const std::string name = std::string("the key file ").append(certificate("protected.key"));
  pair.passphrase([]() -> std::string { throw std::runtime_error("the vault is closed"); });
  EXPECT_EQ(refusal(server_options().certificate(pair)),
            name + " cannot be decrypted: key_pair::passphrase() threw \"the vault is closed\"");
  pair.passphrase([]() -> std::string { throw 7; });
  EXPECT_EQ(refusal(server_options().certificate(pair)),
            name + " cannot be decrypted: key_pair::passphrase() threw \"an exception without a message\"");
}

TEST(TlsOptions, AreEqualWhenTheySayTheSame) {
  const auto mine = [] { return client_options().ca_file("a").certificate_files("b", "c").target_name("d"); };
  EXPECT_EQ(client_options(), client_options());
  EXPECT_EQ(mine(), mine());
  EXPECT_NE(mine(), mine().ca_file("more"));
  EXPECT_NE(mine(), mine().target_name("e"));
  EXPECT_NE(mine(), mine().without_verification());
  EXPECT_NE(client_options().ca_file("a"), client_options().ca_pem("a"));
  const client_options protected_key =
      client_options().certificate(key_pair::files("b", "c").passphrase([] { return std::string("x"); }));
  EXPECT_NE(protected_key, client_options(protected_key)) << "nobody can compare functions";
}

TEST(TlsOptions, AskForNoClientCertificatesWithoutACa) {
  EXPECT_THAT(refusal(testing_support::served_as("server").client_ca_file("no/ca.pem")),
              EndsWith("No such file or directory"));
}

TEST(TlsOptions, LoadTheTutorialsCertificates) {
  EXPECT_TRUE(testing_support::served_as("recipe").build().ok());
  EXPECT_TRUE(testing_support::trusting("recipe_ca").build().ok());
}

}  // namespace
}  // namespace coracle::tls
