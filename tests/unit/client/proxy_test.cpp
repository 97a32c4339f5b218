#include "client/connecting/proxy.hpp"

#include "client/naming/destination.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace coracle::client::proxy_test {
namespace {

TEST(Proxy, IsReadFromItsUrl) {
  const auto plain = proxy::parse("http://proxy.example:3128");
  ASSERT_EQ(plain.status(), status());
  EXPECT_EQ(plain->host(), "proxy.example");
  EXPECT_EQ(plain->port(), 3128);
  EXPECT_EQ(plain->authorization(), "");
  EXPECT_EQ(proxy::parse("http://proxy.example/")->port(), 80);
  EXPECT_EQ(proxy::parse("proxy.example:8080")->port(), 8080);
  EXPECT_EQ(proxy::parse("http://[::1]:1")->host(), "::1");
  // RFC 7617 2: the example of "Aladdin".
  EXPECT_EQ(proxy::parse("http://Aladdin:open%20sesame@p:1")->authorization(),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

TEST(Proxy, ThatCannotBeUsedSaysSoWithoutItsPassword) {
  for (const char* url :
       {"https://user:hunter2@p:1", "http://user:hunter2@p:port", "http://", "socks5://p:1"}) {
    const auto p = proxy::parse(url);
    EXPECT_EQ(p.status().code(), status_code::invalid_argument) << url;
    EXPECT_EQ(p.status().message().find("hunter2"), std::string_view::npos) << p.status();
  }
}

// The environment variables of proxies, which are restored at the end of the test.
class the_environment : public testing::Test {
 protected:
  the_environment() {
    for (const std::string& name : names()) {
      if (const char* value = std::getenv(name.c_str())) before_[name] = value;
      ::unsetenv(name.c_str());
    }
  }
  ~the_environment() override {
    for (const std::string& name : names()) ::unsetenv(name.c_str());
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }
  static std::vector<std::string> names() {
    return {"grpc_proxy", "https_proxy", "no_grpc_proxy", "no_proxy",
            "GRPC_PROXY", "HTTPS_PROXY", "NO_GRPC_PROXY", "NO_PROXY"};
  }

 private:
  std::map<std::string, std::string> before_;
};

TEST_F(the_environment, NamesNoProxyUnlessItIsSet) {
  EXPECT_EQ(proxy_settings_of_environment().url, "");
  EXPECT_EQ(proxy_settings_of_environment().except, "");
  set("grpc_proxy", "");
  EXPECT_EQ(proxy_settings_of_environment().url, "");
}

TEST_F(the_environment, NamesTheProxyOfGrpcBeforeThatOfHttps) {
  set("HTTPS_PROXY", "http://d:1");
  EXPECT_EQ(proxy_settings_of_environment().url, "http://d:1");
  set("https_proxy", "http://c:1");
  EXPECT_EQ(proxy_settings_of_environment().url, "http://c:1");
  set("GRPC_PROXY", "http://b:1");
  EXPECT_EQ(proxy_settings_of_environment().url, "http://b:1");
  set("grpc_proxy", "http://a:1");
  EXPECT_EQ(proxy_settings_of_environment().url, "http://a:1");
  set("grpc_proxy", "");
  EXPECT_EQ(proxy_settings_of_environment().url, "http://b:1") << "an empty one says nothing";
}

TEST_F(the_environment, NamesWhatIsReachedWithoutAProxyLikewise) {
  set("NO_PROXY", "d");
  EXPECT_EQ(proxy_settings_of_environment().except, "d");
  set("no_proxy", "c");
  EXPECT_EQ(proxy_settings_of_environment().except, "c");
  set("NO_GRPC_PROXY", "b");
  EXPECT_EQ(proxy_settings_of_environment().except, "b");
  set("no_grpc_proxy", "direct.example");
  set("https_proxy", "http://10.0.0.1:3128");
  const proxy_settings by = proxy_settings_of_environment();
  EXPECT_TRUE(find_destination("movies.example:1", {}, by).through);
  EXPECT_FALSE(find_destination("direct.example:1", {}, by).through);
}

TEST(Proxy, IsPassedByForTheNamesAddressesAndNetworksOfTheList) {
  const char* const list = "example.org, .example.net,10.0.0.0/8,192.168.1.1,fd00::/8";
  for (const char* host : {"example.org", "www.example.org", "a.example.net", "10.1.2.3", "192.168.1.1",
                           "fd12::1", "localhost", "127.0.0.1", "::1"})
    EXPECT_TRUE(bypasses_proxy(host, 443, list)) << host;
  for (const char* host : {"notexample.org", "example.com", "11.0.0.1", "192.168.1.2", "fe80::1"})
    EXPECT_FALSE(bypasses_proxy(host, 443, list)) << host;
  EXPECT_TRUE(bypasses_proxy("example.com", 443, "*"));
  EXPECT_FALSE(bypasses_proxy("example.com", 443, ""));
  EXPECT_FALSE(bypasses_proxy("example.com", 443, ",,/8,10.0.0.0/x,10.0.0.0/99"));
}

TEST(Proxy, IsPassedByForAPortOfTheList) {
  const char* const list = "example.org:50051,.example.net:1,10.0.0.1:2,[fd00::1]:3";
  const std::pair<const char*, std::uint16_t> direct[] = {{"example.org", 50051},
                                                          {"www.example.org", 50051},
                                                          {"a.example.net", 1},
                                                          {"10.0.0.1", 2},
                                                          {"fd00::1", 3}};
  for (const auto& [host, port] : direct) {
    EXPECT_TRUE(bypasses_proxy(host, port, list)) << host;
    EXPECT_FALSE(bypasses_proxy(host, port + 1, list)) << host;
  }
  const proxy_settings by{"http://10.0.0.1:3128", "example.org:50051,other.example:50052"};
  EXPECT_FALSE(find_destination("example.org:50051", {}, by).through);
  EXPECT_TRUE(find_destination("other.example:50051", {}, by).through);
}

TEST(Proxy, TakesThePlaceOfTheServersAndKeepsTheName) {
  const proxy_settings by{"http://u:p@10.0.0.1:3128", "direct.example"};
  const destination d = find_destination("movies.example:50051", {}, by);
  ASSERT_EQ(d.bad, status());
  ASSERT_TRUE(d.through);
  EXPECT_EQ(d.through->to, "movies.example:50051");
  EXPECT_EQ(d.through->authorization, "Basic dTpw");
  EXPECT_EQ(d.authority, "movies.example:50051");
  ASSERT_EQ(d.known.endpoints().size(), 1u);
  EXPECT_EQ(d.known.endpoints().front().address().to_string(), "10.0.0.1:3128");
  EXPECT_EQ(find_destination("[fd00::1]:1", {}, by).through->to, "[fd00::1]:1");
  for (const char* direct : {"direct.example:1", "localhost:1", "unix:/x", "ipv4:1.2.3.4:5"})
    EXPECT_FALSE(find_destination(direct, {}, by).through) << direct;
  EXPECT_FALSE(find_destination("movies.example", {}, {"https://p", ""}).bad.ok());
}

TEST(Proxy, IsSentNoNameThatBreaksItsHeadIntoLines) {
  const proxy_settings by{"http://10.0.0.1:3128", ""};
  for (const char* target :
       {"passthrough:///a.example%0d%0aX-Evil: 1:1", "dns:///a.example%0aX:1", "a\r\nb:1"}) {
    const destination d = find_destination(target, {}, by);
    EXPECT_EQ(d.bad.code(), status_code::unavailable) << target;
    EXPECT_FALSE(d.through) << target;
  }
}

}  // namespace
}  // namespace coracle::client::proxy_test
