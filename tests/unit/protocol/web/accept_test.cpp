#include "protocol/web/accept.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace coracle::protocol::web::accept_test {
namespace {

int weight(std::vector<std::string_view> values, std::string_view type = "application",
           std::string_view subtype = "json") {
  return accepted_weight(values, type, subtype);
}

TEST(Accept, OfARequestWithoutTheFieldIsEverything) {
  EXPECT_EQ(weight({}), 1000);
  EXPECT_EQ(weight({"", " , "}), 1000);
}

TEST(Accept, IsTheWeightOfTheMostSpecificRange) {
  EXPECT_EQ(weight({"*/*;q=0.1, application/*;q=0.25, Application/JSON;q=0.5"}), 500);
  EXPECT_EQ(weight({"application/json;q=0", "*/*"}), 0) << "refused by name";
  EXPECT_EQ(weight({"*/*;q=0.1, application/*;q=0.25"}), 250);
  EXPECT_EQ(weight({"text/html", "*/*;q=0.1"}), 100) << "the fields are one list";
  EXPECT_EQ(weight({"text/html"}), 0);
}

TEST(Accept, IgnoresTheParametersOfTheType) {
  EXPECT_EQ(weight({"application/json;charset=utf-8 ; Q=0.3"}), 300);
  EXPECT_EQ(weight({"application/json;version=1"}), 1000);
}

TEST(Accept, IgnoresWhatIsMalformed) {
  EXPECT_EQ(weight({"json, */*;q=0.2"}), 200);
  EXPECT_EQ(weight({"application/json;q=2"}), 0);
}

TEST(Weight, HasUpToThreeDecimals) {
  EXPECT_EQ(parse_weight("0.125"), 125);
  EXPECT_EQ(parse_weight("1"), 1000);
  EXPECT_EQ(parse_weight("1."), 1000);
  for (const char* broken : {"", "1.001", "2", "0,5", "0.1234", "-1", ".5"})
    EXPECT_EQ(parse_weight(broken), 0) << broken;
}

}  // namespace
}  // namespace coracle::protocol::web::accept_test
