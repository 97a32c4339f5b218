// Query strings, and the statuses of HTTP.
#include "protocol/rest/query_string.hpp"

#include "protocol/rest/http_status.hpp"

#include <gtest/gtest.h>

namespace coracle::protocol::rest {
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

TEST(HttpStatus, IsThatOfTheTable) {
  for (const auto& [code, http] : {std::pair{status_code::ok, 200},
                                   {status_code::cancelled, 499},
                                   {status_code::unknown, 500},
                                   {status_code::invalid_argument, 400},
                                   {status_code::deadline_exceeded, 504},
                                   {status_code::not_found, 404},
                                   {status_code::already_exists, 409},
                                   {status_code::permission_denied, 403},
                                   {status_code::resource_exhausted, 429},
                                   {status_code::failed_precondition, 400},
                                   {status_code::aborted, 409},
                                   {status_code::out_of_range, 400},
                                   {status_code::unimplemented, 501},
                                   {status_code::internal, 500},
                                   {status_code::unavailable, 503},
                                   {status_code::data_loss, 500},
                                   {status_code::unauthenticated, 401}})
    EXPECT_EQ(http_status_of(code), http) << name_of(code);
}

TEST(HttpStatus, OfAReplyThatSaysNoMoreBecomesACode) {
  for (const auto& [http, code] : {std::pair{200, status_code::ok},
                                   {204, status_code::ok},
                                   {302, status_code::unknown},
                                   {100, status_code::unknown},
                                   {400, status_code::invalid_argument},
                                   {401, status_code::unauthenticated},
                                   {403, status_code::permission_denied},
                                   {404, status_code::not_found},
                                   {405, status_code::unimplemented},
                                   {408, status_code::deadline_exceeded},
                                   {409, status_code::aborted},
                                   {412, status_code::failed_precondition},
                                   {413, status_code::resource_exhausted},
                                   {415, status_code::failed_precondition},
                                   {416, status_code::out_of_range},
                                   {429, status_code::resource_exhausted},
                                   {499, status_code::cancelled},
                                   {500, status_code::internal},
                                   {501, status_code::unimplemented},
                                   {502, status_code::unavailable},
                                   {503, status_code::unavailable},
                                   {504, status_code::deadline_exceeded},
                                   {599, status_code::internal}})
    EXPECT_EQ(status_code_of(http), code) << http;
}

}  // namespace
}  // namespace coracle::protocol::rest
