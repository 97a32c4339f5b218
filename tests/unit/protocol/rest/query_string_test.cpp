// Query strings.
#include "protocol/rest/query_string.hpp"

#include <gtest/gtest.h>

namespace coracle::protocol::rest::query_string_test {
namespace {

std::string read(std::string_view query) {
  const auto parameters = parse_query(query);
  if (!parameters.ok()) return std::string(parameters.status().message());
  std::string out;
  for (const auto& p : *parameters) out.append("[").append(p.name).append("|").append(p.value).append("]");
  return out;
}

TEST(QueryString, IsParsedAsFormsWriteIt) {
  for (const auto& [query, expected] : {std::pair{"", ""},
                                        {"a=1", "[a|1]"},
                                        {"a=1&b=2&a=3", "[a|1][b|2][a|3]"},
                                        {"a", "[a|]"},
                                        {"a=", "[a|]"},
                                        {"a=b=c", "[a|b=c]"},
                                        {"&&a=1&", "[a|1]"},
                                        {"a.b.c=x", "[a.b.c|x]"},
                                        {"a+b=c+d%2Be", "[a b|c d+e]"},
                                        {"%61=%26%3D", "[a|&=]"},
                                        {"a=%C3%A9", "[a|\xc3\xa9]"},
                                        {"a=1;b=2", "[a|1;b=2]"},
                                        {"a=?/", "[a|?/]"}}) {
    EXPECT_EQ(read(query), expected) << query;
  }
}

TEST(QueryString, ThatIsMalformedIsAnError) {
  for (const auto& [query, expected] :
       {std::pair{"a=%", "the query parameter 'a=%' has a '%' without two hexadecimal digits"},
        {"x=1&a%4=1", "the query parameter 'a%4=1' has a '%' without two hexadecimal digits"},
        {"a=%4&b=1", "the query parameter 'a=%4' has a '%' without two hexadecimal digits"},
        {"=1", "the query parameter '=1' has no name"}}) {
    EXPECT_EQ(read(query), expected) << query;
    EXPECT_EQ(parse_query(query).status().code(), status_code::invalid_argument);
  }
}

TEST(QueryString, HasALimitedNumberOfParameters) {
  std::string query;
  for (std::size_t i = 0; i < query_parameters_max; ++i) query += "a=&";
  ASSERT_TRUE(parse_query(query).ok());
  EXPECT_EQ(parse_query(query)->size(), query_parameters_max);
  EXPECT_EQ(read(query + "b"), "the query has more than 1000 parameters");
}

}  // namespace
}  // namespace coracle::protocol::rest::query_string_test
