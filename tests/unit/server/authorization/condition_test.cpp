// Conditions of rules, each against calls that fit and calls that do not (gRFC A41).
#include "server/authorization/condition.hpp"

#include "server/authorization/call_facts.hpp"
#include "unit/server/authorization/call_of_test.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace coracle::server_internal::condition_test {
namespace {

using kind = peer_identity::kind;

class equal final : public text_condition {
 public:
  explicit equal(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] bool matches(std::string_view text) const override { return text == text_; }

 private:
  const std::string text_;
};
text_condition_ptr is(const std::string& text) { return std::make_unique<const equal>(text); }

std::vector<condition_ptr> list(condition_ptr a = {}, condition_ptr b = {}) {
  std::vector<condition_ptr> all;
  if (a) all.push_back(std::move(a));
  if (b) all.push_back(std::move(b));
  return all;
}

net::address_range range(const char* address, std::uint32_t bits) {
  return net::address_range::of(*net::address::parse(std::string(address) + ":0"), bits);
}

TEST(Condition, SetsCombineTheirMembers) {
  const call_of_test call;
  EXPECT_TRUE(all_of({})->matches(call.facts()));
  EXPECT_FALSE(any_of({})->matches(call.facts()));
  EXPECT_FALSE(all_of(list(always(true), always(false)))->matches(call.facts()));
  EXPECT_TRUE(any_of(list(always(false), always(true)))->matches(call.facts()));
  EXPECT_TRUE(negated(always(false))->matches(call.facts()));
  EXPECT_FALSE(negated(always(true))->matches(call.facts()));
}

TEST(Condition, PathIsThatOfTheMethod) {
  const call_of_test call;
  EXPECT_TRUE(path_matches(is("/a.A/Call"))->matches(call.facts()));
  EXPECT_FALSE(path_matches(is("/a.A/Other"))->matches(call.facts()));
}

TEST(Condition, AddressesAreThoseOfTheConnection) {
  call_of_test call;
  EXPECT_TRUE(peer_is_in(range("10.1.0.0", 16))->matches(call.facts()));
  EXPECT_FALSE(peer_is_in(range("10.1.2.4", 32))->matches(call.facts()));
  EXPECT_FALSE(peer_is_in(range("[::]", 0))->matches(call.facts()));
  EXPECT_TRUE(local_is_in(range("10.9.0.0", 15))->matches(call.facts()));
  EXPECT_FALSE(local_is_in(range("10.1.0.0", 16))->matches(call.facts()));
  EXPECT_TRUE(local_port_is(443)->matches(call.facts()));
  EXPECT_FALSE(local_port_is(444)->matches(call.facts()));
  EXPECT_FALSE(local_port_is(65536 + 443)->matches(call.facts()));
}

TEST(Condition, AnAddressOfIpv4OnASocketOfBothFamiliesIsOneOfIpv4) {
  call_of_test call;
  call.peer = *net::address::parse("[::ffff:10.1.2.3]:7");
  EXPECT_TRUE(peer_is_in(range("10.1.0.0", 16))->matches(call.facts()));
  EXPECT_TRUE(peer_is_in(range("0.0.0.0", 0))->matches(call.facts()));
}

TEST(Condition, AUnixSocketIsInNoRangeAndHasNoPort) {
  call_of_test call;
  call.peer = net::address::unnamed_unix();
  call.local = *net::address::parse("unix:/a");
  EXPECT_FALSE(peer_is_in(range("0.0.0.0", 0))->matches(call.facts()));
  EXPECT_FALSE(local_is_in(range("[::]", 0))->matches(call.facts()));
  EXPECT_FALSE(local_port_is(0)->matches(call.facts()));
}

TEST(Condition, AuthenticatedMeansTls) {
  call_of_test call;
  EXPECT_FALSE(is_authenticated({})->matches(call.facts()));
  EXPECT_FALSE(is_authenticated(is(""))->matches(call.facts()));
  call.use_tls();
  EXPECT_TRUE(is_authenticated({})->matches(call.facts()));
  EXPECT_TRUE(is_authenticated(is(""))->matches(call.facts()));  // without a certificate
  EXPECT_FALSE(is_authenticated(is("a"))->matches(call.facts()));
}

TEST(Condition, NamesOfACertificateThatIsNotVerifiedDoNotCount) {
  call_of_test call;
  call.use_tls().identities({{kind::uri, "spiffe://a/b"}}).subject("CN=c");
  EXPECT_FALSE(is_authenticated(is("spiffe://a/b"))->matches(call.facts()));
  EXPECT_FALSE(is_authenticated(is("CN=c"))->matches(call.facts()));
}

TEST(Condition, TheFirstKindOfNameThatIsThereCounts) {
  call_of_test call;
  auth_context& tls = call.use_tls().peer_verified(true).subject("CN=c");
  const auto is_named = [&](const char* name) { return is_authenticated(is(name))->matches(call.facts()); };
  EXPECT_TRUE(is_named("CN=c"));
  EXPECT_FALSE(is_named(""));
  tls.identities({{kind::email, "x@a"}, {kind::common_name, "c"}});
  EXPECT_TRUE(is_named("CN=c"));
  EXPECT_FALSE(is_named("c"));
  tls.identities({{kind::dns_name, "a.org"}, {kind::dns_name, "b.org"}});
  EXPECT_TRUE(is_named("b.org"));
  EXPECT_FALSE(is_named("CN=c"));
  tls.identities({{kind::dns_name, "a.org"}, {kind::uri, "spiffe://a/b"}, {kind::uri, "spiffe://a/c"}});
  EXPECT_TRUE(is_named("spiffe://a/b"));
  EXPECT_TRUE(is_named("spiffe://a/c"));
  EXPECT_FALSE(is_named("a.org"));
}

TEST(CallFacts, HeadersOfTheRequestAreFoundByTheirNames) {
  call_of_test call;
  std::string joined;
  EXPECT_EQ(call.facts().header(":path", joined), "/a.A/Call");
  EXPECT_EQ(call.facts().header(":method", joined), "POST");
  EXPECT_EQ(call.facts().header(":authority", joined), "host.org:1");
  EXPECT_EQ(call.facts().header("host", joined), "host.org:1");
  EXPECT_EQ(call.facts().header("content-type", joined), "application/grpc");
  call.subtype = "proto";
  EXPECT_EQ(call.facts().header("content-type", joined), "application/grpc+proto");
  EXPECT_EQ(call.facts().header("x", joined), std::nullopt);
  call.headers.add("x", "");
  EXPECT_EQ(call.facts().header("x", joined), "");
  call.headers.add("y", "1");
  call.headers.add("x", "2");
  call.headers.add("x", "3");
  EXPECT_EQ(call.facts().header("x", joined), ",2,3");
  call.headers.add("z-bin", std::string("\0\1", 2));
  EXPECT_EQ(call.facts().header("z-bin", joined), "AAE");
  call.headers.add("z-bin", "a");
  EXPECT_EQ(call.facts().header("z-bin", joined), "AAE,YQ");
  call.headers.add_received("te", "trailers");
  EXPECT_EQ(call.facts().header("te", joined), std::nullopt);
}

TEST(CallFacts, ASpiffeIdIsTheOnlyUri) {
  call_of_test call;
  EXPECT_EQ(call.facts().spiffe_id(), "");
  auth_context& tls = call.use_tls().peer_verified(true);
  tls.identities({{kind::dns_name, "a.org"}, {kind::uri, "spiffe://a/b"}});
  EXPECT_EQ(call.facts().spiffe_id(), "spiffe://a/b");
  tls.identities({{kind::uri, "https://a/b"}});
  EXPECT_EQ(call.facts().spiffe_id(), "");
  tls.identities({{kind::uri, "spiffe://a/b"}, {kind::uri, "spiffe://a/c"}});
  EXPECT_EQ(call.facts().spiffe_id(), "");
}

}  // namespace
}  // namespace coracle::server_internal::condition_test
