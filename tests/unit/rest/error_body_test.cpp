#include "rest/error_body.hpp"

#include "coracle/rpc/status_details.hpp"
#include "rest/error_detail_types.hpp"
#include "rest_kinds.pb.h"
#include "rpc/json_syntax.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>

#include <gtest/gtest.h>

namespace coracle::rest::error_body_test {
namespace {

std::string body(const status& s, const google::protobuf::DescriptorPool* pool = nullptr) {
  std::string to;
  write_error_body(s, to, pool);
  EXPECT_TRUE(rpc::check_json(to).ok()) << to;
  return to;
}

TEST(ErrorBody, HoldsCodeAndMessage) {
  EXPECT_EQ(body(status::not_found("no \"such\" movie")),
            R"({"code":5,"message":"no \"such\" movie","details":[]})");
  EXPECT_EQ(body(status::internal()), R"({"code":13,"message":"","details":[]})");
  EXPECT_EQ(body(status::unknown("a\xff\n")), "{\"code\":2,\"message\":\"a\xef\xbf\xbd\\n\",\"details\":[]}");
}

TEST(ErrorBody, HoldsDetailsThatTheProgramHasTypesOf) {
  rest_kinds::Author author;
  author.set_given_name("n");
  google::protobuf::Duration second;
  second.set_seconds(1);
  EXPECT_EQ(body(with_details(status::aborted("m"), author, rest_kinds::Author(), second)),
            R"({"code":10,"message":"m","details":[)"
            R"({"@type":"type.googleapis.com/rest_kinds.Author","givenName":"n"},)"
            R"({"@type":"type.googleapis.com/rest_kinds.Author"},)"
            R"({"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}]})");
}

TEST(ErrorBody, HoldsTheDetailsOfErrorDetails) {
  EXPECT_EQ(
      body(with_details(status::aborted("m"), error_info("R", "d.example").with("k", "v"),
                        retry_info(std::chrono::milliseconds(1500)), bad_request().field("f", "x"))),
      R"({"code":10,"message":"m","details":[)"
      R"({"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"R","domain":"d.example","metadata":{"k":"v"}},)"
      R"({"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.500s"},)"
      R"({"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"f","description":"x"}]}]})");
}

TEST(ErrorBody, HoldsUnknownDetailsAsBase64) {
  const google::protobuf::DescriptorPool empty;
  rest_kinds::Author author;
  author.set_given_name("n");
  EXPECT_EQ(
      body(with_details(status::aborted("m"), author), &empty),
      R"({"code":10,"message":"m","details":[{"@type":"type.googleapis.com/rest_kinds.Author","value":"CgFu"}]})");
  EXPECT_EQ(
      body(rpc::add_detail(status::aborted("m"), "rest_kinds.Author", "\xff")),
      R"({"code":10,"message":"m","details":[{"@type":"type.googleapis.com/rest_kinds.Author","value":"/w=="}]})")
      << "bytes that are not a message of the type";
  EXPECT_EQ(body(rpc::add_detail(status::aborted("m"), "a\"b", "")),
            R"({"code":10,"message":"m","details":[{"@type":"type.googleapis.com/a\"b","value":""}]})");
}

TEST(ErrorBody, LeavesOutDetailsThatAreBroken) {
  EXPECT_EQ(body(status(status_code::aborted, "m", "\xff\xff")), R"({"code":10,"message":"m","details":[]})");
  EXPECT_EQ(body(status(status_code::aborted, "m", "\x1a\x02\x12\x7f")),
            R"({"code":10,"message":"m","details":[]})");
}

TEST(ErrorDetailTypes, AreThoseOfGoogleRpc) {
  for (const char* name :
       {"ErrorInfo", "RetryInfo", "DebugInfo", "QuotaFailure", "QuotaFailure.Violation",
        "PreconditionFailure", "PreconditionFailure.Violation", "BadRequest", "BadRequest.FieldViolation",
        "RequestInfo", "ResourceInfo", "Help", "Help.Link", "LocalizedMessage"})
    EXPECT_NE(find_error_detail_type("google.rpc." + std::string(name)), nullptr) << name;
  EXPECT_EQ(find_error_detail_type("google.rpc.Nothing"), nullptr);
  EXPECT_EQ(google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName("google.rpc.ErrorInfo"),
            nullptr);
}

}  // namespace
}  // namespace coracle::rest::error_body_test
