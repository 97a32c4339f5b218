#include "protocol/web/origin.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace coracle::protocol::web::origin_test {
namespace {

TEST(HostPort, IsReadInEveryForm) {
  struct row {
    std::string_view text, host;
    int port;
    bool ipv6;
  };
  for (const auto& [text, host, port, ipv6] :
       {row{"a.example", "a.example", -1, false}, row{"a.example:80", "a.example", 80, false},
        row{"1.2.3.4:65535", "1.2.3.4", 65535, false}, row{"[::1]", "::1", -1, true},
        row{"[2001:DB8::1:0]:0", "2001:DB8::1:0", 0, true},
        row{"[::ffff:1.2.3.4]:1", "::ffff:1.2.3.4", 1, true},
        row{"[1:2:3:4:5:6:7:8]", "1:2:3:4:5:6:7:8", -1, true}, row{"[1::]", "1::", -1, true},
        row{"[1:2:3:4:5:6:1.2.3.4]", "1:2:3:4:5:6:1.2.3.4", -1, true}, row{"[::]", "::", -1, true},
        row{"xn--bcher-kva.example:00080", "xn--bcher-kva.example", 80, false}}) {
    const auto parsed = parse_host_port(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->host, host);
    EXPECT_EQ(parsed->port ? int{*parsed->port} : -1, port) << text;
    EXPECT_EQ(parsed->ipv6, ipv6) << text;
  }
}

TEST(HostPort, ThatIsMalformedIsNone) {
  for (const std::string_view text : {"",
                                      ":80",
                                      "a:",
                                      "a:65536",
                                      "a:123456",
                                      "a:-1",
                                      "a:8x",
                                      "user@a",
                                      "a b",
                                      "a/b",
                                      "a\\b",
                                      "a?",
                                      "a#b",
                                      "::1",
                                      "1:2:3:4:5:6:7:8",
                                      "[]",
                                      "[::1",
                                      "::1]",
                                      "[::1]x",
                                      "[::1]:",
                                      "[1::2::3]",
                                      "[12345::]",
                                      "[g::]",
                                      "[1:2:3:4:5:6:7]",
                                      "[1:2:3:4:5:6:7:8:9]",
                                      "[1:2:3:4:5:6:7::8]",
                                      "[::1%eth0]",
                                      "[::1.2.3]",
                                      "[1.2.3.4::]",
                                      "[1.2.3.4]",
                                      "[::1.2.3.256]",
                                      "[::1.2.3.4:5]",
                                      "[:1:2:3:4:5:6:7]",
                                      "[1:2:3:4:5:6:7:]",
                                      "[:::]",
                                      "a\x80",
                                      "a\r\n",
                                      "[a]:80"})
    EXPECT_FALSE(parse_host_port(text)) << text;
}

TEST(Origin, IsReadWithItsPort) {
  const auto o = parse_origin("https://a.example:8443");
  ASSERT_TRUE(o);
  EXPECT_FALSE(o->opaque);
  EXPECT_EQ(o->scheme, "https");
  EXPECT_EQ(o->where.host, "a.example");
  EXPECT_EQ(o->effective_port(), 8443);
  EXPECT_EQ(parse_origin("http://a")->effective_port(), 80);
  EXPECT_EQ(parse_origin("HTTPS://a")->effective_port(), 443);
  EXPECT_EQ(parse_origin("chrome-extension://abc")->effective_port(), std::nullopt);
  EXPECT_TRUE(parse_origin("null")->opaque);
}

TEST(Origin, ThatIsMalformedIsNone) {
  for (const std::string_view text :
       {"", "NULL", "a", "a.example", "//a", "://a", "http:a", "http:/a", "http://", "http://a/",
        "http://a/b", "http://u@a", "http://a, http://b", "http://a http://b", "1http://a", "h_t://a",
        "http://a:", "http://[::1"})
    EXPECT_FALSE(parse_origin(text)) << text;
}

bool same(std::string_view a, std::string_view b) { return same_origin(*parse_origin(a), *parse_origin(b)); }

TEST(Origin, IsComparedBySchemeHostAndPort) {
  EXPECT_TRUE(same("http://a", "http://a"));
  EXPECT_TRUE(same("http://a", "HTTP://A:80"));
  EXPECT_TRUE(same("https://[::1]", "https://[0:0:0::1]:443"));
  EXPECT_TRUE(same("app://a", "app://a"));
  EXPECT_FALSE(same("http://a", "https://a"));
  EXPECT_FALSE(same("http://a", "https://a:80"));
  EXPECT_FALSE(same("http://a", "http://a:8080"));
  EXPECT_FALSE(same("http://a", "http://b"));
  EXPECT_FALSE(same("http://a.b", "http://b"));
  EXPECT_FALSE(same("http://[::1]", "http://[::2]"));
  EXPECT_FALSE(same("app://a", "app://a:1"));
}

TEST(Origin, ThatIsOpaqueEqualsNone) {
  EXPECT_FALSE(same("null", "null"));
  EXPECT_FALSE(same("null", "http://a"));
  EXPECT_FALSE(same("http://a", "null"));
}

TEST(LoopbackHost, IsLocalhostOrALoopbackAddress) {
  for (const std::string_view host :
       {"localhost", "LocalHost", "localhost.", "127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1",
        "::ffff:127.0.0.1", "::FFFF:7f00:1", "::0.0.0.1"})
    EXPECT_TRUE(is_loopback_host(host)) << host;
}

TEST(LoopbackHost, IsNothingElse) {
  for (const std::string_view host : {"",
                                      "localhost.example",
                                      "a.localhost",
                                      "localhost..",
                                      "127.0.0.1.example",
                                      "127.1",
                                      "0127.0.0.1",
                                      "128.0.0.1",
                                      "127.0.0.256",
                                      "127.0.0",
                                      "0.0.0.0",
                                      "::",
                                      "::2",
                                      "[::1]",
                                      "1::1",
                                      "::ffff:128.0.0.1",
                                      "::127.0.0.1",
                                      "fe80::1",
                                      "2130706433",
                                      "0x7f.0.0.1",
                                      "127.0.0.1:80"})
    EXPECT_FALSE(is_loopback_host(host)) << host;
}

}  // namespace
}  // namespace coracle::protocol::web::origin_test
