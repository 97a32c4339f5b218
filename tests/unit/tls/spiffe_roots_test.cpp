// SPIFFE bundle maps and ids (gRFC A87).
#include "tls/spiffe_roots.hpp"

#include "coracle/tls/limits.hpp"
#include "support/certificates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace coracle::tls::spiffe_roots_test {
namespace {

using testing::HasSubstr;
using testing_support::certificate;

TEST(SpiffeId, HasItsTrustDomain) {
  EXPECT_EQ(trust_domain_of("spiffe://example.org/web"), "example.org");
  EXPECT_EQ(trust_domain_of("spiffe://example.org"), "example.org");
  EXPECT_EQ(trust_domain_of("spiffe://a-b_c.1/ns/N/sa/x.y_z-1"), "a-b_c.1");
}

TEST(SpiffeId, IsNotEveryUri) {
  for (const char* const text :
       {"", "spiffe://", "spiffe:///web", "https://example.org/web", "SPIFFE://example.org/web",
        "spiffe://Example.org/web", "spiffe://user@example.org/web", "spiffe://example.org:80/web",
        "spiffe://example.org/", "spiffe://example.org//web", "spiffe://example.org/web/",
        "spiffe://example.org/../web", "spiffe://example.org/.", "spiffe://example.org/web?x=1",
        "spiffe://example.org/web#x", "spiffe://example.org/%77eb"})
    EXPECT_EQ(trust_domain_of(text), "") << text;
  EXPECT_EQ(trust_domain_of("spiffe://" + std::string(256, 'a')), "");
  EXPECT_EQ(trust_domain_of("spiffe://a/" + std::string(2048, 'a')), "");
}

// The outcome of a map with that text: the number of CAs, or the error.
std::string outcome(const std::string& text) {
  const std::string path = certificate("spiffe_roots_test.json");
  std::ofstream(path, std::ios::binary) << text;
  const auto read = spiffe_roots::read(path);
  std::remove(path.c_str());
  if (!read) return std::string(read.status().message());
  security::certificates_in_use listed;
  listed.trusted_not_after = std::chrono::system_clock::time_point::max();
  (*read)->list(listed);
  return std::to_string(listed.trusted_count);
}

// The lines between those that begin and end a PEM file.
std::string der_of(const std::string& name) {
  std::string text;
  std::ifstream file(certificate(name));
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with("-----")) text += line;
  return text;
}

std::string map_of(const std::string& keys, const std::string& domain = "example.org") {
  return R"({"trust_domains":{")" + domain + R"(":{"keys":[)" + keys + "]}}}";
}

std::string key_of(const std::string& certificates, const std::string& use = "x509-svid") {
  return R"({"x5c":[)" + certificates + R"(],"kty":"EC","use":")" + use + R"(","crv":"P-256"})";
}

TEST(SpiffeBundleMap, HasTheCasOfItsTrustDomains) {
  const std::string ca = "\"" + der_of("ca.pem") + "\"";
  const std::string other = "\"" + der_of("other_ca.pem") + "\"";
  EXPECT_EQ(outcome(map_of(key_of(ca))), "1");
  EXPECT_EQ(outcome(map_of(key_of(ca) + "," + key_of(other))), "2");
  EXPECT_EQ(outcome(R"({"more":[{"keys":1}],"trust_domains":{"a":{"spiffe_sequence":1,"keys":[)" +
                    key_of(ca) + R"(]},"b":{"keys":[)" + key_of(other) + "]}}}"),
            "2");
}

TEST(SpiffeBundleMap, IgnoresKeysForOtherUses) {
  EXPECT_EQ(outcome(map_of(key_of("\"x\"", "jwt-svid") + R"(,{"kty":"EC"},{"use":"new","x5c":[]})")), "0");
  EXPECT_EQ(outcome(map_of("")), "0");
}

TEST(SpiffeBundleMap, MayHaveNoTrustDomains) { EXPECT_EQ(outcome(R"({"trust_domains":{}})"), "0"); }

TEST(SpiffeBundleMap, IsInvalidAsAWholeIfAPartOfItHasAnotherType) {
  EXPECT_THAT(outcome(R"({"trust_domains":[]})"), HasSubstr("\"trust_domains\" must be an object"));
  EXPECT_THAT(outcome(R"({"trust_domains":null})"), HasSubstr("\"trust_domains\" must be an object"));
  EXPECT_THAT(outcome(R"({"trust_domains":{"a":7}})"), HasSubstr("\"a\" must be an object"));
  const auto of_a = [](const std::string& members) {
    return outcome(R"({"trust_domains":{"a":{)" + members + "}}}");
  };
  EXPECT_THAT(of_a(R"("keys":{})"), HasSubstr("\"a\" has a wrong type: \"keys\" must be a list"));
  EXPECT_THAT(of_a(R"("keys":[1])"), HasSubstr("each of \"keys\" must be an object"));
  EXPECT_THAT(of_a(R"("keys":[[]])"), HasSubstr("each of \"keys\" must be an object"));
  EXPECT_THAT(of_a(R"("keys":[{"use":1}])"), HasSubstr("\"use\" must be a text"));
  EXPECT_THAT(of_a(R"("keys":[{"kty":null}])"), HasSubstr("\"kty\" must be a text"));
  EXPECT_THAT(of_a(R"("keys":[{"x5c":{}}])"), HasSubstr("\"x5c\" must be a list"));
  EXPECT_THAT(of_a(R"("keys":[{"x5c":[true]}])"), HasSubstr("each of \"x5c\" must be a text"));
  for (const char* const sequence : {R"("1")", "-1", "1.5", "{}"})
    EXPECT_THAT(of_a(R"("keys":[],"spiffe_sequence":)" + std::string(sequence)),
                HasSubstr("\"spiffe_sequence\" must be a number"))
        << sequence;
  // What nothing reads may be anything.
  EXPECT_EQ(of_a(R"("keys":[{"kid":1}],"spiffe_refresh_hint":[{"keys":1}])"), "0");
}

// Else a domain would have the CAs of both.
TEST(SpiffeBundleMap, HasEachMemberOnce) {
  const std::string ca = key_of("\"" + der_of("ca.pem") + "\"");
  const std::string other = key_of("\"" + der_of("other_ca.pem") + "\"");
  const auto domain = [](const std::string& name, const std::string& keys) {
    return "\"" + name + R"(":{"keys":[)" + keys + "]}";
  };
  const auto map = [](const std::string& domains) { return R"({"trust_domains":{)" + domains + "}}"; };
  EXPECT_EQ(outcome(map(domain("a", ca) + "," + domain("b", other))), "2");
  EXPECT_THAT(outcome(map(domain("a", ca) + "," + domain("b", "") + "," + domain("a", other))),
              HasSubstr("\"a\" occurs twice"));
  EXPECT_THAT(outcome(map(domain("a", "") + "," + domain("a", ca))), HasSubstr("\"a\" occurs twice"));
  EXPECT_THAT(outcome(map(domain("a", ca) + "," + domain("\\u0061", other))),
              HasSubstr("\"a\" occurs twice"));
  EXPECT_THAT(outcome(R"({"trust_domains":{},"trust_domains":{)" + domain("a", ca) + "}}"),
              HasSubstr("has \"trust_domains\" twice"));
  EXPECT_THAT(outcome(map(R"("a":{"keys":[],"keys":[)" + ca + "]}")), HasSubstr("\"a\" has \"keys\" twice"));
  EXPECT_THAT(outcome(map(domain("a", R"({"use":"jwt-svid","use":"x509-svid"})"))),
              HasSubstr("has a key with \"use\" twice"));
  EXPECT_THAT(outcome(map(domain("a", R"({"use":"","use":"x509-svid"})"))),
              HasSubstr("has a key with \"use\" twice"));
  EXPECT_THAT(
      outcome(map(domain("a", R"({"use":"x509-svid","x5c":[],"x5c":[")" + der_of("ca.pem") + R"("]})"))),
      HasSubstr("has a key with \"x5c\" twice"));
  EXPECT_EQ(outcome(map(domain("a", ca + "," + other))), "2");  // of each key
}

TEST(SpiffeBundleMap, IsInvalidAsAWholeIfAPartOfItIs) {
  const std::string ca = "\"" + der_of("ca.pem") + "\"";
  EXPECT_THAT(outcome("{"), HasSubstr("is not valid JSON"));
  EXPECT_THAT(outcome("[]"), HasSubstr("has no \"trust_domains\""));
  EXPECT_THAT(outcome("{}"), HasSubstr("has no \"trust_domains\""));
  EXPECT_THAT(outcome(R"({"trust_domains":{"a":{}}})"), HasSubstr("\"a\" has no \"keys\""));
  EXPECT_THAT(outcome(map_of(key_of(ca), "Example.org")), HasSubstr("\"Example.org\" is not a trust domain"));
  EXPECT_THAT(outcome(map_of(key_of(ca) + "," + key_of(""))), HasSubstr("0 certificates in \"x5c\""));
  EXPECT_THAT(outcome(map_of(key_of(ca + "," + ca))), HasSubstr("2 certificates in \"x5c\""));
  EXPECT_THAT(outcome(map_of(key_of("\"*\""))), HasSubstr("is not base64"));
  EXPECT_THAT(outcome(map_of(key_of("\"AAAA\""))), HasSubstr("is not a certificate"));
  EXPECT_THAT(outcome(std::string(100, '[') + std::string(100, ']')), HasSubstr("nested deeper than 16"));
  EXPECT_THAT(outcome(std::string(limits::spiffe_bundle_map_bytes + 1, ' ')),
              HasSubstr("has more than 4194304 bytes"));
  const auto missing = spiffe_roots::read("/nowhere/bundles.json");
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("/nowhere/bundles.json cannot be read"));
}

}  // namespace
}  // namespace coracle::tls::spiffe_roots_test
