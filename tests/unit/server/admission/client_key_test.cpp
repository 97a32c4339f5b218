#include "server/admission/client_key.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace coracle::server_internal::client_key_test {
namespace {

std::uint64_t key_of(const std::string& address, const auth_context* auth = nullptr, std::uint64_t seed = 1) {
  return client_key(*net::address::parse(address), auth, seed);
}

auth_context verified(std::vector<peer_identity> names) {
  auth_context auth;
  auth.peer_verified(true).identities(std::move(names));
  return auth;
}

using kind = peer_identity::kind;

TEST(client_key, ThePortDoesNotCount) {
  EXPECT_EQ(key_of("10.0.0.1:1000"), key_of("10.0.0.1:2000"));
  EXPECT_NE(key_of("10.0.0.1:1000"), key_of("10.0.0.2:1000"));
  EXPECT_NE(key_of("10.0.0.1:1000"), key_of("10.0.0.1:1000", nullptr, 2)) << "the seed counts";
}

// A host has as many addresses as it likes.
TEST(client_key, OfIpv6TheNetworkCounts) {
  EXPECT_EQ(key_of("[2001:db8:1:2::1]:1"), key_of("[2001:db8:1:2:ffff::9]:1"));
  EXPECT_NE(key_of("[2001:db8:1:2::1]:1"), key_of("[2001:db8:1:3::1]:1"));
}

// A client of IPv4 is the same whether the socket of the server is of IPv4 or of both.
TEST(client_key, OfIpv4InIpv6TheHostCounts) {
  EXPECT_EQ(key_of("[::ffff:10.0.0.1]:1"), key_of("10.0.0.1:1"));
  EXPECT_NE(key_of("[::ffff:10.0.0.1]:1"), key_of("[::ffff:10.0.0.2]:1"));
  EXPECT_EQ(key_of("[64:ff9b::10.0.0.1]:1"), key_of("10.0.0.1:1"));
  EXPECT_NE(key_of("[::1]:1"), key_of("[::ffff:0.0.0.1]:1"));
}

TEST(client_key, OnALinkTheHostCounts) {
  EXPECT_EQ(key_of("[fe80::1]:1"), key_of("[fe80::1]:2"));
  EXPECT_NE(key_of("[fe80::1]:1"), key_of("[fe80::2]:1"));
}

// A client may bind any name.
TEST(client_key, UnixSocketsAreOneClient) {
  EXPECT_EQ(key_of("unix:/run/one"), key_of("unix:/run/other"));
  EXPECT_EQ(key_of("unix:/run/one"), key_of("unix-abstract:x"));
}

TEST(client_key, ANameOfOneKindIsNotThatOfAnother) {
  const auth_context workload = verified({{kind::uri, "spiffe://example/reader"}});
  const auth_context pretends = verified({{kind::common_name, "spiffe://example/reader"}});
  EXPECT_NE(key_of("10.0.0.1:1", &workload), key_of("10.0.0.1:1", &pretends));
}

TEST(client_key, AnIdentityCountsInPlaceOfTheAddress) {
  const auth_context reader =
      verified({{kind::dns_name, "a.example"}, {kind::uri, "spiffe://example/reader"}});
  const auth_context moved =
      verified({{kind::dns_name, "b.example"}, {kind::uri, "spiffe://example/reader"}});
  const auth_context writer =
      verified({{kind::dns_name, "a.example"}, {kind::uri, "spiffe://example/writer"}});
  EXPECT_EQ(key_of("10.0.0.1:1", &reader), key_of("10.0.0.2:1", &moved));
  EXPECT_NE(key_of("10.0.0.1:1", &reader), key_of("10.0.0.1:1", &writer));
  const auth_context named = verified({{kind::dns_name, "a.example"}, {kind::common_name, "x"}});
  const auth_context same = verified({{kind::dns_name, "a.example"}});
  EXPECT_EQ(key_of("10.0.0.1:1", &named), key_of("10.0.0.2:1", &same));
  auth_context subject = verified({});
  subject.subject("O=Example");
  EXPECT_NE(key_of("10.0.0.1:1", &subject), key_of("10.0.0.1:1"));
}

TEST(client_key, WhatIsNotProvedDoesNotCount) {
  auth_context claims;
  claims.identities({{kind::uri, "spiffe://example/reader"}}).subject("O=Example");
  EXPECT_EQ(key_of("10.0.0.1:1", &claims), key_of("10.0.0.1:1"));
}

// A name of four letters is no address of four bytes.
TEST(client_key, NoIdentityHasTheKeyOfAnAddress) {
  const auth_context name = verified({{kind::dns_name, "abcd"}});
  EXPECT_NE(key_of("10.0.0.1:1", &name), client_key(net::address::ipv4({'a', 'b', 'c', 'd'}, 1), nullptr, 1));
}

}  // namespace
}  // namespace coracle::server_internal::client_key_test
