#include "protocol/grpc_web/content_type.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace coracle::protocol::grpc_web::content_type_test {
namespace {

TEST(GrpcWebContentType, IsRecognisedInBothFormsWithItsSubtype) {
  struct row {
    std::string_view value;
    content expected;
  };
  for (const auto& [value, expected] :
       {row{"application/grpc-web", {false, ""}}, row{"application/grpc-web+proto", {false, "proto"}},
        row{"application/grpc-web-text", {true, ""}}, row{"application/grpc-web-text+json", {true, "json"}},
        row{"Application/gRPC-Web-Text+proto", {true, "proto"}},
        row{" application/grpc-web+proto ; charset=utf-8", {false, "proto"}},
        row{"application/grpc-web-text;q=1", {true, ""}}}) {
    EXPECT_EQ(parse_content_type(value), expected) << value;
  }
}

TEST(GrpcWebContentType, IsNotThatOfAnotherProtocol) {
  for (const std::string_view value :
       {"", "application/grpc", "application/grpc+proto", "application/grpc-we", "application/grpc-web+",
        "application/grpc-web-text+", "application/grpc-webx", "application/grpc-web-tex",
        "application/grpc-web/x", "application/grpc-web-textx", "application/grpc-web-text-base64",
        "text/plain", "application/json"})
    EXPECT_EQ(parse_content_type(value), std::nullopt) << value;
}

TEST(GrpcWebContentType, IsWrittenAsItIsRead) {
  for (const bool text : {false, true})
    for (const std::string_view subtype : {"", "proto", "json"})
      EXPECT_EQ(parse_content_type(content_type_of(text, subtype)), (content{text, subtype}));
  EXPECT_EQ(content_type_of(true, "proto"), "application/grpc-web-text+proto");
}

}  // namespace
}  // namespace coracle::protocol::grpc_web::content_type_test
