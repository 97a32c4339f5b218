// The results of targets: every scheme of naming.md, and the messages for invalid targets.
#include "client/naming/destination.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::client::destination_test {
namespace {

struct row {
  const char* target;
  std::vector<const char*> addresses;  // none: a resolver
  const char* authority;
};

void PrintTo(const row& r, std::ostream* out) { *out << r.target; }

class destination_of : public testing::TestWithParam<row> {};

TEST_P(destination_of, IsWhatNamingSays) {
  const destination d = find_destination(GetParam().target, {});
  ASSERT_EQ(d.bad, status());
  std::vector<std::string> found;
  for (const endpoint& e : d.known.endpoints()) found.push_back(e.address().to_string());
  EXPECT_EQ(found, std::vector<std::string>(GetParam().addresses.begin(), GetParam().addresses.end()));
  EXPECT_EQ(d.by == nullptr, !found.empty());
  EXPECT_EQ(d.authority, GetParam().authority);
}

INSTANTIATE_TEST_SUITE_P(
    Targets, destination_of,
    testing::Values(
        row{"127.0.0.1:50051", {"127.0.0.1:50051"}, "127.0.0.1:50051"},
        row{"127.0.0.1", {"127.0.0.1:443"}, "127.0.0.1"}, row{"[::1]:80", {"[::1]:80"}, "[::1]:80"},
        row{"::1", {"[::1]:443"}, "::1"}, row{"localhost:1", {"127.0.0.1:1", "[::1]:1"}, "localhost:1"},
        row{"example.org:50051", {}, "example.org:50051"}, row{"example.org", {}, "example.org"},
        row{"dns:example.org:1", {}, "example.org:1"}, row{"dns:///example.org:1", {}, "example.org:1"},
        row{"DNS:///example.org:1", {}, "example.org:1"},
        row{"dns://8.8.8.8/example.org:1", {}, "example.org:1"},
        row{"dns://[::1]:5353/example.org", {}, "example.org"},
        row{"dns:///_grpc._tcp.example.org", {}, "example.org"},
        row{"dns:///127.0.0.1:1", {"127.0.0.1:1"}, "127.0.0.1:1"},
        row{"dns:///%5B::1%5D:1", {"[::1]:1"}, "[::1]:1"},
        row{"passthrough:///127.0.0.1:1", {"127.0.0.1:1"}, "127.0.0.1:1"},
        row{"passthrough:///example.org:1", {}, "example.org:1"},
        row{"ipv4:1.2.3.4:5,6.7.8.9:10,1.1.1.1", {"1.2.3.4:5", "6.7.8.9:10", "1.1.1.1:443"}, "1.2.3.4:5"},
        row{"ipv6:[::1]:5,[fe80::1%2]:6", {"[::1]:5", "[fe80::1%2]:6"}, "[::1]:5"},
        row{"[fe80::1%lo]:6", {"[fe80::1%1]:6"}, "[fe80::1]:6"},
        row{"[fe80::1%25lo]:6", {"[fe80::1%1]:6"}, "[fe80::1]:6"},
        row{"dns:///[fe80::1%25lo]", {"[fe80::1%1]:443"}, "[fe80::1]"},
        row{"ipv6:[fe80::1%lo]:6", {"[fe80::1%1]:6"}, "[fe80::1]:6"},
        row{"unix:relative", {"unix:relative"}, "localhost"},
        row{"unix:/run/x.sock", {"unix:/run/x.sock"}, "localhost"},
        row{"unix:///run/x.sock", {"unix:/run/x.sock"}, "localhost"},
        row{"unix-abstract:name", {"unix-abstract:name"}, "localhost"}));

struct bad_row {
  const char* target;
  const char* says;
};

void PrintTo(const bad_row& r, std::ostream* out) { *out << r.target; }

class bad_target : public testing::TestWithParam<bad_row> {};

TEST_P(bad_target, SaysTheMendInOneLine) {
  const destination d = find_destination(GetParam().target, {});
  EXPECT_EQ(d.bad.code(), status_code::unavailable);
  EXPECT_NE(d.bad.message().find(GetParam().says), std::string_view::npos) << d.bad;
  EXPECT_NE(d.bad.message().find(GetParam().target), std::string_view::npos) << d.bad;
  EXPECT_EQ(d.bad.message().find('\n'), std::string_view::npos);
}

INSTANTIATE_TEST_SUITE_P(
    Targets, bad_target,
    testing::Values(bad_row{"", "write host:port"}, bad_row{"dns:", "has no name after its scheme"},
                    bad_row{"dns://example.org", "has no slash after its authority"},
                    bad_row{"dns://names.example/example.org", "names a DNS server by something else"},
                    bad_row{"dns:///_grpc._tcp.no name", "not the name of a service"},
                    bad_row{
                        "http://example.org:1",
                        "dns:///host:port, or register a resolver for it (channel_options::add_resolver())"},
                    bad_row{"example.org:port", "host:port"}, bad_row{"example.org:70000", "host:port"},
                    bad_row{"no address at all", "not a valid address or host name"},
                    bad_row{"passthrough:///example.org", "no port"}, bad_row{"ipv4:[::1]:1", "IPv4"},
                    bad_row{"ipv4:1.2.3.4:1,", "IPv4"}, bad_row{"ipv6:1.2.3.4:1", "IPv6"},
                    bad_row{"unix://host/path", "names a host"}));

TEST(Destination, TakesASchemeOfTheUsers) {
  channel_options o;
  o.add_resolver("list", [](const target& t) -> std::shared_ptr<resolver> {
    if (t.endpoint() != "known" || t.authority() != "there") return nullptr;
    return std::make_shared<manual_resolver>(resolution());
  });
  const destination d = find_destination("list://there/known", o);
  EXPECT_EQ(d.bad, status());
  EXPECT_TRUE(d.by);
  EXPECT_EQ(d.authority, "known");
  EXPECT_FALSE(find_destination("list:unknown", o).bad.ok());
  EXPECT_FALSE(find_destination("list://there/known", {}).bad.ok());
}

TEST(Destination, TakesAResolverInPlaceOfTheTargetsOwnAndAnAuthority) {
  channel_options o;
  o.resolver = std::make_shared<manual_resolver>(resolution());
  o.authority = "other.example";
  const destination d = find_destination("127.0.0.1:1", o);
  EXPECT_TRUE(d.by);
  EXPECT_EQ(d.authority, "other.example");
}

}  // namespace
}  // namespace coracle::client::destination_test
