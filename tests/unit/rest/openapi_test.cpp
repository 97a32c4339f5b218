// What tests/interop/openapi_test.py does not see: options, and rules that share a path.
#include "coracle/rpc/openapi.hpp"

#include "rest_kinds.pb.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace coracle::openapi_test {
namespace {

using nlohmann::json;

json document(const openapi_options& options) {
  const auto* service = rest_kinds::Book::descriptor()->file()->service(0);
  const auto text = openapi_document({&service, 1}, options);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? json::parse(*text) : json();
}

openapi_options with_rules(const std::string& rules) {
  openapi_options options;
  options.json_methods = false;
  options.http_rules = R"({"http":{"rules":[)" + rules + "]}}";
  return options;
}

TEST(OpenApi, HoldsTheRoutesThatAreAskedFor) {
  openapi_options options;
  options.rest = false;
  json d = document(options);
  EXPECT_EQ(d["paths"].size(), 11u);
  EXPECT_TRUE(d["paths"].contains("/rest_kinds.Library/GetBook"));
  EXPECT_TRUE(d["components"]["schemas"].contains("connect.Error"));
  EXPECT_FALSE(d["components"]["schemas"].contains("google.rpc.Status"));
  options.rest = true;
  options.json_methods = false;
  d = document(options);
  EXPECT_FALSE(d["paths"].contains("/rest_kinds.Library/GetBook"));
  EXPECT_FALSE(d["components"]["schemas"].contains("connect.Error"));
  EXPECT_TRUE(d["components"]["schemas"].contains("google.rpc.Status"));
}

TEST(OpenApi, NamesFieldsAsTheOptionsSay) {
  openapi_options options;
  options.proto_field_names = true;
  const json d = document(options);
  EXPECT_TRUE(d["components"]["schemas"]["rest_kinds.Author"]["properties"].contains("given_name"));
  std::string names;
  for (const json& p : d["paths"]["/v1/search"]["get"]["parameters"])
    names += p["name"].get<std::string>() + " ";
  EXPECT_NE(names.find("book.author.given_name "), std::string::npos) << names;
}

TEST(OpenApi, HasOnePathForTemplatesThatDifferInNamesOnly) {
  const json d = document(with_rules(R"({"selector":"rest_kinds.Library.GetBook","get":"/x/{name}"},)"
                                     R"({"selector":"rest_kinds.Library.DeleteBook","delete":"/x/{title}"},)"
                                     R"({"selector":"rest_kinds.Library.Plain","get":"/x/{title}:go"})"));
  ASSERT_EQ(d["paths"].count("/x/{name}"), 1u);
  EXPECT_EQ(d["paths"].count("/x/{title}"), 0u);
  EXPECT_EQ(d["paths"].count("/x/{title}:go"), 1u);
  EXPECT_EQ(d["paths"]["/x/{name}"]["delete"]["parameters"][0]["name"], "name");
}

TEST(OpenApi, NamesEachOperationOnce) {
  const json d = document({});
  std::set<std::string> ids;
  for (const auto& [path, item] : d["paths"].items())
    for (const auto& [method, operation] : item.items())
      EXPECT_TRUE(ids.insert(operation["operationId"].get<std::string>()).second) << path;
  EXPECT_TRUE(ids.contains("Library_GetBook"));
  EXPECT_TRUE(ids.contains("Library_GetBook_2"));
  EXPECT_TRUE(ids.contains("Library_GetBook_json"));
}

TEST(OpenApi, HasWildcardsWithoutAVariableAsParameters) {
  const json d = document(with_rules(R"({"selector":"rest_kinds.Library.Plain","get":"/y/*/{name=z/**}"})"));
  const json& parameters = d["paths"]["/y/{segment_1}/z/{name_1}"]["get"]["parameters"];
  ASSERT_GE(parameters.size(), 2u) << d["paths"];
  EXPECT_EQ(parameters[0]["name"], "segment_1");
  EXPECT_EQ(parameters[1]["name"], "name_1");
}

TEST(OpenApi, NamesPathParametersWithoutDots) {
  const json d = document(with_rules(
      R"({"selector":"rest_kinds.Library.Move","get":"/a/{book.author.given_name}/{inner.book.title=*}"})"));
  const json& get = d["paths"]["/a/{book_author_given_name}/{inner_book_title}"]["get"];
  ASSERT_GE(get["parameters"].size(), 2u) << d["paths"];
  EXPECT_EQ(get["parameters"][0]["name"], "book_author_given_name");
  EXPECT_EQ(get["parameters"][1]["name"], "inner_book_title");
}

TEST(OpenApi, HasServersSecurityAndASummaryOfEachOperation) {
  json d = document({});
  EXPECT_EQ(d["servers"], json::parse(R"([{"url":"/"}])"));
  EXPECT_EQ(d["security"], json::array());
  for (const auto& [path, item] : d["paths"].items())
    for (const auto& [method, operation] : item.items())
      EXPECT_NE(operation.value("summary", ""), "") << method << " " << path;
  openapi_options options;
  options.servers = {"https://api.example.org"};
  EXPECT_EQ(document(options)["servers"], json::parse(R"([{"url":"https://api.example.org"}])"));
}

TEST(OpenApi, ReportsRulesThatAreInvalid) {
  const auto* service = rest_kinds::Book::descriptor()->file()->service(0);
  for (const auto& [rules, error] :
       {std::pair{R"({"selector":"rest_kinds.Library.Plain","get":"/{nothing}"})", "has no field nothing"},
        {R"({"selector":"rest_kinds.Library.Plain","get":"x"})", "must begin with '/'"},
        {R"(5)", "http.rules[0] must be an object"}}) {
    const auto text = openapi_document({&service, 1}, with_rules(rules));
    EXPECT_EQ(text.status().code(), status_code::invalid_argument);
    EXPECT_NE(text.status().message().find(error), std::string_view::npos) << text.status();
  }
}

TEST(OpenApi, LeavesOutInvalidRulesIfTheirReasonsAreWanted) {
  std::vector<std::string> reasons;
  auto options = with_rules(R"({"selector":"rest_kinds.Library.Plain","get":"x",
                                "additional_bindings":[{"get":"/plain"}, {"get":"/{nothing}"}]},
                               {"selector":"rest_kinds.Library.Move","body":"*"})");
  options.on_invalid_rule = [&](const std::string& reason) { reasons.push_back(reason); };
  const json d = document(options);
  EXPECT_TRUE(d["paths"].contains("/plain")) << d["paths"];
  EXPECT_FALSE(d["paths"].contains("/{nothing}"));
  EXPECT_TRUE(d["paths"].contains("/v1/search")) << "a method with rules of its own";
  ASSERT_EQ(reasons.size(), 3u);
  EXPECT_NE(reasons[0].find("rest_kinds.Library.Plain: "), std::string::npos) << reasons[0];
  EXPECT_NE(reasons[0].find("must begin with '/'"), std::string::npos) << reasons[0];
  EXPECT_NE(reasons[1].find("rest_kinds.Library.Move: "), std::string::npos) << reasons[1];
  EXPECT_NE(reasons[2].find("has no field nothing"), std::string::npos) << reasons[2];
  const auto* service = rest_kinds::Book::descriptor()->file()->service(0);
  options.http_rules = "{";
  EXPECT_EQ(openapi_document({&service, 1}, options).status().code(), status_code::invalid_argument);
}

TEST(OpenApi, WritesTextThatIsNoUtf8AndQuotes) {
  openapi_options options;
  options.title = "a\"\xff: [";
  EXPECT_EQ(document(options)["info"]["title"], "a\"\xef\xbf\xbd: [");
  EXPECT_EQ(openapi_document({}, {})->substr(0, 1), "{") << "no services, a document nevertheless";
}

}  // namespace
}  // namespace coracle::openapi_test
