#include "rest/http_rule.hpp"

#include "rest_kinds.pb.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace coracle::rest::http_rule_test {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::MethodDescriptor;

std::string text_of(const std::vector<http_rule>& rules) {
  std::string out;
  for (const http_rule& r : rules)
    out.append(out.empty() ? "" : "; ")
        .append(r.http_method + " " + r.path.text() + " body=" + r.body + " response=" + r.response_body);
  return out;
}

std::string text_of(const result<std::vector<http_rule>>& rules) {
  return rules.ok() ? text_of(*rules) : rules.status().to_string();
}

constexpr std::pair<const char*, const char*> expected_rules[] = {
    {"GetBook",
     "GET /v1/{name=shelves/*/books/*} body= response=; GET /v1/books/{title} body= response=author"},
    {"CreateBook", "POST /v1/{string_value=shelves/*}/books body=book response="},
    {"UpdateBook", "PATCH /v1/{book.name=shelves/*/books/*} body=book response=book"},
    {"DeleteBook", "DELETE /v1/{name=shelves/*/books/*} body= response="},
    {"Replace", "PUT /v1/everything/{int64_value} body=* response=numbers"},
    {"Move", "MOVE /v1/everything/{book.author.given_name}:move body= response="},
    {"Search", "GET /v1/search body= response="},
    {"Upload", "POST /v1/uploads body=* response="},
    {"Plain", ""},
};

TEST(HttpRule, IsReadFromTheOptionOfAMethod) {
  const auto* service = rest_kinds::Book::descriptor()->file()->service(0);
  for (const auto& [method, rules] : expected_rules)
    EXPECT_EQ(text_of(http_rules_of(*service->FindMethodByName(method))), rules) << method;
}

// A file with one method, whose options are given as bytes.
class one_method {
 public:
  explicit one_method(std::string_view options) {
    FileDescriptorProto file;
    file.set_name("one.proto");
    file.set_package("one");
    file.add_message_type()->set_name("M");
    auto& service = *file.add_service();
    service.set_name("S");
    auto& method = *service.add_method();
    method.set_name("Do");
    method.set_input_type(".one.M");
    method.set_output_type(".one.M");
    EXPECT_TRUE(method.mutable_options()->ParseFromString(std::string(options)));
    const FileDescriptor* built = pool_.BuildFile(file);
    EXPECT_NE(built, nullptr);
    method_ = built->service(0)->method(0);
  }
  [[nodiscard]] std::string rules() const { return text_of(http_rules_of(*method_)); }

 private:
  DescriptorPool pool_;
  const MethodDescriptor* method_ = nullptr;
};

std::string field(std::uint32_t number, const std::string& bytes) {
  std::string out;
  for (std::uint32_t key = number << 3 | 2; key != 0; key >>= 7)
    out.push_back(static_cast<char>(key > 127 ? key | 0x80 : key));
  out.push_back(static_cast<char>(bytes.size()));
  return out + bytes;
}

TEST(HttpRule, IsReadFromTheDescriptorsOfAnotherPool) {
  for (const auto& [name, rules] : expected_rules) {
    const auto* method = rest_kinds::Book::descriptor()->file()->service(0)->FindMethodByName(name);
    EXPECT_EQ(one_method(method->options().SerializeAsString()).rules(), rules) << name;
  }
}

TEST(HttpRule, TakesTheLastPatternOfSeveral) {
  const auto rule = [](const std::string& bytes) { return one_method(field(72'295'728, bytes)).rules(); };
  EXPECT_EQ(rule(field(2, "/a") + field(4, "/b")), "POST /b body= response=");
  EXPECT_EQ(rule(field(8, field(1, "HEAD") + field(2, "/a"))), "HEAD /a body= response=");
  EXPECT_EQ(rule(field(2, "/a") + field(99, "?")), "GET /a body= response=") << "unknown fields are ignored";
  EXPECT_EQ(one_method(field(72'295'728, field(2, "/a")) + field(72'295'728, field(7, "*"))).rules(),
            "GET /a body=* response=")
      << "two parts of one message are merged";
}

TEST(HttpRule, ThatIsInvalidNamesTheMethod) {
  const auto rule = [](const std::string& bytes) { return one_method(field(72'295'728, bytes)).rules(); };
  const std::string start = "INVALID_ARGUMENT: the HTTP rule of one.S.Do: ";
  for (const auto& [bytes, error] :
       {std::pair{std::string(),
                  "one of get, put, post, delete, patch and custom (with its kind) is required"},
        {field(7, "*"), "one of get, put, post, delete, patch and custom (with its kind) is required"},
        {field(8, field(2, "/a")),
         "one of get, put, post, delete, patch and custom (with its kind) is required"},
        {field(2, "a"), "the path template 'a' is malformed at position 0: a template must begin with '/'"},
        {field(2, ""), "the path template '' is malformed at position 0: a template must begin with '/'"},
        {field(2, "/a") + field(11, field(2, "/{")),
         "the path template '/{' is malformed at position 2: expected the name of a field"},
        {field(2, "/a") + field(11, field(2, "/b") + field(11, field(2, "/c"))),
         "the option cannot be read"}})
    EXPECT_EQ(rule(bytes), start + error);
}

TEST(HttpRule, HasALimitedNumberOfBindings) {
  std::string json;
  for (std::size_t i = 1; i < http_rules_max; ++i)
    json.append(json.empty() ? "" : ",").append(R"({"get":"/b)").append(std::to_string(i)).append("\"}");
  const auto file = [&](const std::string& more) {
    return http_rule_file::parse(R"({"http":{"rules":[{"selector":"s.M","get":"/a","additional_bindings":[)" +
                                 json + more + "]}]}}");
  };
  ASSERT_TRUE(file("").ok());
  EXPECT_EQ(file("")->find("s.M")->size(), http_rules_max);
  EXPECT_NE(file(R"(,{"get":"/c"})").status().message().find("a method has at most 64 bindings"),
            std::string::npos);
}

TEST(HttpRuleFile, HoldsRulesByMethod) {
  const auto file = http_rule_file::parse(R"({
    "type": "google.api.Service", "config_version": 3, "apis": [{"name": "x"}],
    "http": {"fullyDecodeReservedExpansion": true, "rules": [
      {"selector": "a.S.Get", "get": "/old"},
      {"selector": "a.S.Get", "get": "/v1/{id}", "response_body": "r",
       "additional_bindings": [{"post": "/v2", "body": "*"}, {"put": "/v3", "responseBody": "x"}]},
      {"selector": "a.S.Do", "custom": {"kind": "HEAD", "path": "/do"}},
      {"selector": "a.S.Delete", "delete": "/x", "additionalBindings": [{"patch": "/y"}]}]}})");
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_NE(file->find("a.S.Get"), nullptr);
  EXPECT_EQ(text_of(*file->find("a.S.Get")),
            "GET /v1/{id} body= response=r; POST /v2 body=* response=; PUT /v3 body= response=x")
      << "the last rule of a method counts";
  EXPECT_EQ(text_of(*file->find("a.S.Do")), "HEAD /do body= response=");
  EXPECT_EQ(text_of(*file->find("a.S.Delete")), "DELETE /x body= response=; PATCH /y body= response=");
  EXPECT_EQ(file->find("a.S.None"), nullptr);
  EXPECT_EQ(file->methods().size(), 3u);
  EXPECT_TRUE(http_rule_file::parse(R"({"http":{}})").ok());
}

TEST(HttpRuleFile, ThatIsInvalidNamesThePlace) {
  for (
      const auto& [json, error] :
      {std::pair{"[]", "the file must be an object"},
       {"{}", "http is missing"},
       {R"({"http":[]})", "http must be an object"},
       {R"({"http":{"rule":[]}})", "http.rule is no member of http"},
       {R"({"http":{"rules":{}}})", "http.rules must be an array"},
       {R"({"http":{"rules":["x"]}})", "http.rules[0] must be an object"},
       {R"({"http":{"rules":[{"get":"/x"}]}})", "http.rules[0] needs a selector, the full name of a method"},
       {R"({"http":{"rules":[{"selector":"a.S.*","get":"/x"}]}})",
        "http.rules[0].selector must be the full name of one method"},
       {R"({"http":{"rules":[{"selector":5}]}})", "http.rules[0].selector must be a string"},
       {R"({"http":{"rules":[{"selector":"a.S.M","get":"/x","put":"/x"}]}})",
        "http.rules[0] has two patterns"},
       {R"({"http":{"rules":[{"selector":"a.S.M","gte":"/x"}]}})",
        "http.rules[0].gte is no member of a rule here"},
       {R"({"http":{"rules":[{"selector":"a.S.M","custom":{"kind":"X"}}]}})",
        "http.rules[0].custom needs kind and path"},
       {R"({"http":{"rules":[{"selector":"a.S.M"}]}})",
        "http.rules[0]: the HTTP rule of a.S.M: one of get, put, post, delete, patch and custom (with its "
        "kind) is "
        "required"},
       {R"({"http":{"rules":[{"selector":"a.S.M","get":"/{"}]}})",
        "http.rules[0]: the HTTP rule of a.S.M: the path template '/{' is malformed at position 2: expected "
        "the name "
        "of a field"},
       {R"({"http":{"rules":[{"selector":"a.S.M","get":"/a","additional_bindings":[{"selector":"x"}]}]}})",
        "http.rules[0].additional_bindings[0].selector is no member of a rule here"},
       {R"({"http":{"rules":[{"selector":"a.S.M","get":"/a","additional_bindings":[{"additional_bindings":[]}]}]}})",
        "http.rules[0].additional_bindings[0].additional_bindings is no member of a rule here"}}) {
    const auto file = http_rule_file::parse(json);
    ASSERT_FALSE(file.ok()) << json;
    EXPECT_EQ(file.status().code(), status_code::invalid_argument);
    EXPECT_EQ(file.status().message(), "the HTTP rules: " + std::string(error)) << json;
  }
  for (const std::string_view json : {"", "{", "{\"http\":", "\xff", "{'http':{}}"}) {
    const auto file = http_rule_file::parse(json);
    EXPECT_TRUE(file.status().message().starts_with("the HTTP rules are no valid JSON: ")) << file.status();
  }
}

}  // namespace
}  // namespace coracle::rest::http_rule_test
