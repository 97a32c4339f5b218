// A server describes what it answers over plain HTTP.
#include "support/echo_fixture.hpp"
#include "support/raw_http.hpp"

#include "coracle/base/usage_error.hpp"

#include <google/protobuf/descriptor.pb.h>
#include <nlohmann/json.hpp>

#include <gmock/gmock.h>

#include <string>

namespace coracle::openapi_route_test {
namespace {

using namespace testing_support;
using ::testing::HasSubstr;

constexpr const char* rules = R"({"http": {"rules": [
  {"selector": "echo.Echo.Say", "get": "/v1/say/{text}"},
  {"selector": "echo.Echo.Repeat", "get": "/v1/repeat/{text}"}]}})";

class openapi_routes : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
  }
  // A server that is not listening yet: routes follow.
  void make(const server_options& options = {}) {
    channel_.reset();
    server_.emplace(rt(), options);
    server_->add(served());
  }
  void add_rest() {
    rest_options o;
    o.http_rules = rules;
    o.proto_field_names = true;
    ASSERT_EQ(server_->add_rest(o), status());
  }
  raw_http::response get(const std::string& path) {
    return raw_http::parse(run(raw_http::exchange(address_, raw_http::request("GET " + path, {}, {}))));
  }
  nlohmann::json document(const std::string& path = "/openapi.json") {
    const auto response = get(path);
    EXPECT_EQ(response.status(), 200) << response.head;
    return nlohmann::json::parse(response.body, nullptr, false);
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, openapi_routes, every_world_over_tcp, echo_fixture::case_name);

TEST_P(openapi_routes, TheDocumentHasWhatTheServerAnswers) {
  make();
  ASSERT_EQ(server_->add_openapi({}, "/before.json"), status());
  add_rest();
  openapi_options o;
  o.title = "Echoes";
  ASSERT_EQ(server_->add_openapi(o), status());
  ASSERT_EQ(server_->add_openapi(o, "/docs/openapi.yaml"), status());
  link();
  EXPECT_EQ(document("/before.json")["paths"], nlohmann::json::object());
  const auto d = document();
  EXPECT_EQ(d["info"]["title"], "Echoes");
  EXPECT_EQ(d["paths"].size(), 2u) << d["paths"].dump();
  EXPECT_EQ(d["paths"]["/v1/say/{text}"]["get"]["operationId"], "Echo_Say");
  EXPECT_EQ(get("/openapi.json").field("content-type"), "application/json");
  const auto yaml = get("/docs/openapi.yaml");
  EXPECT_EQ(yaml.field("content-type"), "application/yaml");
  EXPECT_THAT(yaml.body, HasSubstr("\"openapi\": \"3.1.0\"\n"));
}

TEST_P(openapi_routes, JsonMethodsAreDescribedWhereTheServerHasJson) {
  server_options o;
  o.codecs = {&json_codec()};
  make(o);
  openapi_options without;
  without.json_methods = false;
  ASSERT_EQ(server_->add_openapi(), status());
  ASSERT_EQ(server_->add_openapi(without, "/without.json"), status());
  link();
  EXPECT_TRUE(document()["paths"].contains("/echo.Echo/Say"));
  EXPECT_TRUE(document("/without.json")["paths"].empty());
}

TEST_P(openapi_routes, CommentsComeFromADescriptorSet) {
  google::protobuf::FileDescriptorSet set;
  echo::Text::descriptor()->file()->CopyTo(set.add_file());
  auto& location = *set.mutable_file(0)->mutable_source_code_info()->add_location();
  for (const int step : {6, 0}) location.add_path(step);  // the first service
  for (int i = 0; i < 3; ++i) location.add_span(1);
  location.set_leading_comments(" Echoes.\n");
  openapi_options o;
  o.descriptor_set = set.SerializeAsString() + set.SerializeAsString();
  make();
  add_rest();
  ASSERT_EQ(server_->add_openapi(o), status());
  link();
  EXPECT_EQ(document()["tags"][0]["description"], "Echoes.");
}

TEST_P(openapi_routes, WhatIsNoDescriptorSetOrATakenPathAddsNothing) {
  make();
  openapi_options o;
  o.descriptor_set = "\xff";
  const status failed = server_->add_openapi(o);
  EXPECT_EQ(failed.code(), status_code::invalid_argument);
  EXPECT_THAT(std::string(failed.message()), HasSubstr("descriptor_set"));
  ASSERT_EQ(server_->add_openapi({}, "/a.json"), status());
  EXPECT_THROW(static_cast<void>(server_->add_openapi({}, "/a.json")), usage_error);
  link();
  EXPECT_EQ(get("/openapi.json").status(), 404);
}

}  // namespace
}  // namespace coracle::openapi_route_test
