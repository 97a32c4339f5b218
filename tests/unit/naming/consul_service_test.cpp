#include "naming/consul_service.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace coracle::naming::consul_service_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string instance(const std::string& service,
                     const std::string& more = R"(,"Checks":[{"Status":"passing"}])") {
  return R"({"Node":{"Address":"10.0.0.9"},"Service":{)" + service + "}" + more + "}";
}

std::vector<std::string> read(const std::string& instances, const std::vector<std::string>& tags = {}) {
  const result<server_list> list = read_consul_answer("[" + instances + "]", tags);
  EXPECT_TRUE(list.ok()) << list.status();
  std::vector<std::string> found;
  if (!list.ok()) return found;
  for (const client::endpoint& e : list->servers)
    found.push_back(e.address().to_string() + "*" + std::to_string(e.weight()));
  return found;
}

TEST(ConsulAnswer, HasInstancesWithTheirAddressesAndWeights) {
  EXPECT_THAT(read(instance(R"("Address":"10.0.0.2","Port":1,"Weights":{"Passing":10,"Warning":1})") + "," +
                   instance(R"("Address":"","Port":2)") + "," + instance(R"("Address":"fd00::1","Port":3)")),
              ElementsAre("10.0.0.2:1*10", "10.0.0.9:2*1", "[fd00::1]:3*1"));
}

TEST(ConsulAnswer, MetaOfAnInstanceAreItsAttributes) {
  const result<server_list> list = read_consul_answer(
      "[" + instance(R"("Address":"10.0.0.2","Port":1,"Meta":{"zone":"a","version":"2"})") + "]", {});
  ASSERT_TRUE(list.ok());
  EXPECT_THAT(list->servers.at(0).attributes(),
              ElementsAre(testing::Pair("version", "2"), testing::Pair("zone", "a")));
}

TEST(ConsulAnswer, InstancesThatCannotBeCalledAreLeftOut) {
  EXPECT_THAT(read(instance(R"("Address":"movies.example","Port":1)") + "," +
                   instance(R"("Address":"10.0.0.2","Port":0)") + "," +
                   instance(R"("Address":"10.0.0.2","Port":65536)") + "," +
                   instance(R"("Address":"10.0.0.2")") + "," +
                   instance(R"("Address":"10.0.0.3","Port":1)",
                            R"(,"Checks":[{"Status":"passing"},{"Status":"warning"}])") +
                   "," + instance(R"("Address":"10.0.0.4","Port":65535)", R"(,"Checks":null)")),
              ElementsAre("10.0.0.4:65535*1"));
}

TEST(ConsulAnswer, AnInstanceNeedsEachTag) {
  const std::string both = instance(R"("Address":"10.0.0.1","Port":1,"Tags":["a","b"])");
  const std::string one = instance(R"("Address":"10.0.0.2","Port":1,"Tags":["a"])");
  const std::string none = instance(R"("Address":"10.0.0.3","Port":1,"Tags":null)");
  EXPECT_THAT(read(both + "," + one + "," + none, {"a", "b"}), ElementsAre("10.0.0.1:1*1"));
  EXPECT_EQ(read(both + "," + one + "," + none, {"a"}).size(), 2u);
  EXPECT_EQ(read(both + "," + one + "," + none).size(), 3u);
}

class WrongConsulAnswer : public testing::TestWithParam<std::string> {};
TEST_P(WrongConsulAnswer, IsRefused) { EXPECT_FALSE(read_consul_answer(GetParam(), {}).ok()); }
INSTANTIATE_TEST_SUITE_P(Answers, WrongConsulAnswer,
                         testing::Values("", "{}", "null", "[7]", "[{}]", R"([{"Service":null}])", "[",
                                         "\xff", std::string(200, '[')));

TEST(ConsulIndex, BeginsAnewWhenItGoesBack) {
  EXPECT_EQ(next_consul_index(0, "7").value(), 7u);
  EXPECT_EQ(next_consul_index(7, "7").value(), 7u);
  EXPECT_EQ(next_consul_index(7, "9").value(), 9u);
  EXPECT_EQ(next_consul_index(7, "6").value(), 0u);
  EXPECT_EQ(next_consul_index(7, "0").value(), 0u);
  for (const char* wrong : {"", "x", "-1", "7 ", "18446744073709551616"})
    EXPECT_FALSE(next_consul_index(7, wrong).ok()) << wrong;
}

TEST(ConsulTarget, HasAServiceTagsAndADatacenter) {
  const result<consul_query> query = parse_consul_query("movies?tag=a&dc=west&tag=b");
  ASSERT_TRUE(query.ok());
  EXPECT_EQ(query->service, "movies");
  EXPECT_THAT(query->tags, ElementsAre("a", "b"));
  EXPECT_EQ(query->datacenter, "west");
  for (const char* wrong :
       {"?tag=a", "movies/x", "movies?tag", "movies?tag=", "movies?near=a", "movies?a&tag=b"}) {
    const result<consul_query> refused = parse_consul_query(wrong);
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_THAT(std::string(refused.status().message()),
                HasSubstr("write consul:///service?tag=name&dc=name"));
  }
}

}  // namespace
}  // namespace coracle::naming::consul_service_test
