// Which service config of DNS a client takes.
#include "client/naming/dns_config.hpp"

#include <gtest/gtest.h>

#include <string>

namespace coracle::client::test::dns_config_test {
namespace {

std::string chosen(const std::string& choices, unsigned percent = 50) {
  const result<std::string> found =
      choose_dns_config({"v=spf1 -all", "grpc_config=" + choices}, "Host-1", percent);
  return found.ok() ? *found : "error: " + std::string(found.status().message());
}

TEST(DnsConfig, IsThatOfTheFirstChoiceForThisClient) {
  const std::string choices = R"([{"clientLanguage":["java","go"],"serviceConfig":{"n":1}},
      {"clientHostName":["host-2"],"serviceConfig":{"n":2}},
      {"percentage":20,"serviceConfig":{"n":3}},
      {"clientLanguage":["GO","C++"],"clientHostName":["HOST-1"],"percentage":60,"serviceConfig":{"n":4}},
      {"serviceConfig":{"n":5}}])";
  EXPECT_EQ(chosen(choices), R"({"n":4})");
  EXPECT_EQ(chosen(choices, 19), R"({"n":3})");
  EXPECT_EQ(chosen(choices, 60), R"({"n":5})");
}

TEST(DnsConfig, APercentageOf0IsForNobodyAndOneOf100ForAll) {
  for (const unsigned percent : {0u, 99u}) {
    EXPECT_EQ(chosen(R"([{"percentage":0,"serviceConfig":{"n":1}}])", percent), "");
    EXPECT_EQ(chosen(R"([{"percentage":100,"serviceConfig":{"n":1}}])", percent), R"({"n":1})");
  }
}

TEST(DnsConfig, ThereIsNoneWithoutAChoiceOrARecord) {
  EXPECT_EQ(chosen("[]"), "");
  EXPECT_EQ(choose_dns_config({"grpc_configuration=[]", "x"}, "host", 0).value(), "");
  EXPECT_EQ(choose_dns_config({}, "host", 0).value(), "");
}

TEST(DnsConfig, ARecordOfAnotherFormIsAnError) {
  for (const std::string bad :
       {"", "{}", "[7]", "[", R"([{}])", R"([{"serviceConfig":7}])",
        R"([{"clientLanguage":"c++","serviceConfig":{}}])", R"([{"clientHostName":[7],"serviceConfig":{}}])",
        R"([{"percentage":101,"serviceConfig":{}}])", R"([{"percentage":"1","serviceConfig":{}}])"})
    EXPECT_TRUE(chosen(bad).starts_with("error: the record")) << bad << " " << chosen(bad);
}

}  // namespace
}  // namespace coracle::client::test::dns_config_test
