#include "coracle/net/address.hpp"

#include "net/raw_address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace coracle::net::address_test {
namespace {

using testing::HasSubstr;

struct good_case {
  std::string text;
  address::family kind;
  std::uint16_t port;
  std::string written;  // by to_string()
};
void PrintTo(const good_case& c, std::ostream* out) { *out << c.text; }

class AddressText : public testing::TestWithParam<good_case> {};

TEST_P(AddressText, IsReadAndWrittenBack) {
  const result<address> a = address::parse(GetParam().text);
  ASSERT_TRUE(a) << a.status();
  EXPECT_EQ(a->kind(), GetParam().kind);
  EXPECT_EQ(a->port(), GetParam().port);
  EXPECT_EQ(a->to_string(), GetParam().written);
  EXPECT_EQ(*address::parse(a->to_string()), *a);
}

TEST_P(AddressText, SurvivesTheKernelsForm) {
  const address a = *address::parse(GetParam().text);
  EXPECT_EQ(from_raw(to_raw(a)), a);
}

INSTANTIATE_TEST_SUITE_P(
    All, AddressText,
    testing::Values(good_case{"127.0.0.1:50051", address::family::ipv4, 50051, "127.0.0.1:50051"},
                    good_case{"0.0.0.0:0", address::family::ipv4, 0, "0.0.0.0:0"},
                    good_case{"255.255.255.255:65535", address::family::ipv4, 65535, "255.255.255.255:65535"},
                    good_case{"[::1]:0", address::family::ipv6, 0, "[::1]:0"},
                    good_case{"[::]:443", address::family::ipv6, 443, "[::]:443"},
                    good_case{"[2001:DB8:0:0::7]:80", address::family::ipv6, 80, "[2001:db8::7]:80"},
                    good_case{"[fe80::1%3]:80", address::family::ipv6, 80, "[fe80::1%3]:80"},
                    good_case{"[fe80::1%lo]:80", address::family::ipv6, 80, "[fe80::1%1]:80"},
                    good_case{"[::1%25lo]:80", address::family::ipv6, 80, "[::1%1]:80"},
                    good_case{"[::ffff:1.2.3.4]:1", address::family::ipv6, 1, "[::ffff:1.2.3.4]:1"},
                    good_case{"unix:/run/a.sock", address::family::path, 0, "unix:/run/a.sock"},
                    good_case{"unix:///run/a.sock", address::family::path, 0, "unix:/run/a.sock"},
                    good_case{"unix:a.sock", address::family::path, 0, "unix:a.sock"},
                    good_case{"unix-abstract:a:b", address::family::abstract, 0, "unix-abstract:a:b"}));

struct bad_case {
  std::string text;
  std::string fix;
};
void PrintTo(const bad_case& c, std::ostream* out) { *out << c.text; }

class BadAddressText : public testing::TestWithParam<bad_case> {};

TEST_P(BadAddressText, IsRefusedWithTheMend) {
  const auto found = parse_addresses(GetParam().text);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.status().code(), status_code::invalid_argument);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr(GetParam().fix));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadAddressText,
    testing::Values(
        bad_case{"", "port"}, bad_case{"127.0.0.1", "has no port"}, bad_case{"127.0.0.1:", "0 to 65535"},
        bad_case{"127.0.0.1:65536", "0 to 65535"}, bad_case{"127.0.0.1:-1", "0 to 65535"},
        bad_case{"127.0.0.1:80x", "0 to 65535"}, bad_case{"127.0.0.1: 80", "0 to 65535"},
        bad_case{":80", "* for all interfaces"}, bad_case{"*", "has no port"}, bad_case{"*:x", "0 to 65535"},
        bad_case{"1.2.3:80", "not a valid IP address"}, bad_case{"01.2.3.4:80", "not a valid IP address"},
        bad_case{"example.org:80", "host names are not resolved here"}, bad_case{"localhost", "has no port"},
        bad_case{"localhost:x", "0 to 65535"}, bad_case{"::1:80", "[address]:port"},
        bad_case{"[::1", "closing bracket"}, bad_case{"[::1]", "has no port"},
        bad_case{"[::1]80", "0 to 65535"}, bad_case{"[1.2.3.4]:80", "no valid IPv6 address"},
        bad_case{"[fe80::1%nowhere]:80", "the name or the index of an interface"},
        bad_case{"[fe80::1%0]:80", "the index of an interface"},
        bad_case{"[fe80::1%]:80", "as in [fe80::1%eth0]:80"}, bad_case{"unix:", "empty"},
        bad_case{"unix://host/path", "unix:///path"}, bad_case{"unix:" + std::string(108, 'x'), "107"},
        bad_case{std::string("unix:a\0b", 8), "zero byte"}));

TEST(Address, LocalhostMeansBothLoopbacks) {
  const auto found = parse_addresses("localhost:80");
  ASSERT_TRUE(found) << found.status();
  EXPECT_THAT(*found, testing::ElementsAre(address::loopback_v4(80), address::loopback_v6(80)));
  EXPECT_TRUE((*found)[0].is_loopback());
  EXPECT_TRUE((*found)[1].is_loopback());
}

TEST(Address, AWildcardMeansAllInterfacesOfBothFamilies) {
  for (const char* const text : {"*:80", "0.0.0.0:80"}) {
    const auto found = parse_addresses(text);
    ASSERT_TRUE(found) << found.status();
    EXPECT_THAT(*found, testing::ElementsAre(address::ipv4({}, 80), address::ipv6({}, 80)));
  }
  EXPECT_THAT(*parse_addresses("[::]:80"), testing::ElementsAre(address::ipv6({}, 80)));
}

TEST(Address, ADefaultMadeOneIsNone) {
  EXPECT_EQ(address().to_string(), "(none)");
  EXPECT_EQ(from_raw(to_raw(address())), address());
  EXPECT_FALSE(address().is_ip() || address().is_unix() || address().is_loopback());
}

TEST(Address, ThePortOfAnotherCanBeSet) {
  EXPECT_EQ(address::loopback_v6(1).with_port(2), address::loopback_v6(2));
  EXPECT_EQ(address::path("/a")->with_port(2), *address::path("/a"));
}

TEST(Address, TheLongestPathFitsTheKernelsForm) {
  const address a = *address::path(std::string(107, 'p'));
  EXPECT_EQ(from_raw(to_raw(a)), a);
}

TEST(Address, AUnixSocketWithoutANameIsAPathWithoutAName) {
  runtime_internal::raw_address raw = to_raw(*address::path("/a"));
  raw.size = 2;
  EXPECT_EQ(from_raw(raw), address::unnamed_unix());
  EXPECT_EQ(to_raw(address::unnamed_unix()).size, 2u);
  EXPECT_EQ(address::unnamed_unix().to_string(), "unix:");
  EXPECT_TRUE(address::unnamed_unix().is_unix());
}

}  // namespace
}  // namespace coracle::net::address_test
