// Which certificates of servers a cluster accepts by their names.
#include "xds/security/subject_names.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::xds::subject_names_test {
namespace {

using kind = text_matcher::kind;
using field = peer_identity::kind;

bool accepted(const text_matcher& m, field type, const std::string& name) {
  return has_accepted_name({m}, {peer_identity(type, name)});
}

text_matcher with(kind how, const std::string& text, bool ignore_case = false) {
  return {how, ignore_case, text, {}};
}

TEST(XdsSubjectNames, WithoutMatchersEveryCertificateIsAccepted) {
  EXPECT_TRUE(has_accepted_name({}, {}));
  EXPECT_TRUE(has_accepted_name({}, {peer_identity(field::dns_name, "a")}));
}

TEST(XdsSubjectNames, OneMatcherMustFitOneName) {
  const std::vector<text_matcher> two = {with(kind::exact, "a"), with(kind::prefix, "spiffe://x/")};
  EXPECT_TRUE(has_accepted_name(
      two, {peer_identity(field::dns_name, "b"), peer_identity(field::uri, "spiffe://x/y")}));
  EXPECT_FALSE(has_accepted_name(two, {peer_identity(field::dns_name, "b")}));
  EXPECT_FALSE(has_accepted_name(two, {}));
}

TEST(XdsSubjectNames, EachKindOfMatcherLooksAtEachKindOfSubjectAltName) {
  for (const field type : {field::dns_name, field::ip_address, field::uri, field::email}) {
    EXPECT_TRUE(accepted(with(kind::exact, "10.0.0.1"), type, "10.0.0.1"));
    EXPECT_FALSE(accepted(with(kind::exact, "10.0.0.1"), type, "10.0.0.2"));
    EXPECT_TRUE(accepted(with(kind::prefix, "10."), type, "10.0.0.1"));
    EXPECT_FALSE(accepted(with(kind::prefix, "0."), type, "10.0.0.1"));
    EXPECT_TRUE(accepted(with(kind::suffix, ".1"), type, "10.0.0.1"));
    EXPECT_FALSE(accepted(with(kind::suffix, ".0"), type, "10.0.0.1"));
    EXPECT_TRUE(accepted(with(kind::contains, ".0.0."), type, "10.0.0.1"));
    EXPECT_FALSE(accepted(with(kind::contains, ".1."), type, "10.0.0.1"));
    const text_matcher digits{kind::expression, false, {}, regex::compile("[0-9.]+")};
    EXPECT_TRUE(accepted(digits, type, "10.0.0.1"));
    EXPECT_FALSE(accepted(digits, type, "10.0.0.1a"));
  }
}

TEST(XdsSubjectNames, TheCommonNameDoesNotCount) {
  EXPECT_FALSE(accepted(with(kind::exact, "a"), field::common_name, "a"));
}

TEST(XdsSubjectNames, CaseCountsUnlessItIsIgnored) {
  EXPECT_FALSE(accepted(with(kind::prefix, "spiffe"), field::uri, "SPIFFE://x"));
  EXPECT_TRUE(accepted(with(kind::prefix, "spiffe", true), field::uri, "SPIFFE://x"));
  EXPECT_FALSE(accepted(with(kind::exact, "a@b"), field::email, "A@b"));
  EXPECT_TRUE(accepted(with(kind::exact, "a@b", true), field::email, "A@b"));
}

TEST(XdsSubjectNames, AnExactMatcherComparesDnsNamesAsHosts) {
  const auto is_host = [](const std::string& host, const std::string& certified) {
    return accepted(with(kind::exact, host), field::dns_name, certified);
  };
  EXPECT_TRUE(is_host("a.example", "A.Example"));
  EXPECT_TRUE(is_host("a.example", "a.example."));
  EXPECT_TRUE(is_host("a.example", "*.example"));
  EXPECT_FALSE(is_host("example", "*.example"));
  EXPECT_FALSE(is_host(".example", "*.example"));
  EXPECT_FALSE(is_host("b.a.example", "*.example"));
  EXPECT_FALSE(is_host("a.example", "a*.example"));
  EXPECT_FALSE(is_host("b.a.example", "*.*.example"));
  EXPECT_FALSE(is_host("a.b.example", "a.*.example"));
  // A wildcard is one of DNS names alone.
  EXPECT_FALSE(accepted(with(kind::exact, "a.example"), field::uri, "*.example"));
}

}  // namespace
}  // namespace coracle::xds::subject_names_test
