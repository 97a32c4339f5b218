#include "protocol/connect/content_type.hpp"

#include "protocol/connect/header_names.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace coracle::protocol::connect::content_type_test {
namespace {

TEST(ConnectContentType, TellsTheCodecAndWhetherItIsAStream) {
  struct row {
    std::string_view value;
    content expected;
  };
  for (const auto& [value, expected] :
       {row{"application/proto", {false, "proto"}}, row{"application/json", {false, "json"}},
        row{"application/connect+proto", {true, "proto"}}, row{"application/connect+json", {true, "json"}},
        row{"application/json; charset=utf-8", {false, "json"}},
        row{"application/json;charset=\"UTF-8\"", {false, "json"}}, row{"APPLICATION/JSON", {false, "json"}},
        row{"Application/Connect+Proto", {true, "proto"}}, row{"application/cbor", {false, "cbor"}},
        row{"application/connect+cbor ; x=y", {true, "cbor"}},
        row{"application/proto;charset=x", {false, "proto"}}, row{"application/grpcish", {false, "grpcish"}},
        row{"application/connect", {false, "connect"}},
        row{"application/x-www-form-urlencoded", {false, "x-www-form-urlencoded"}}}) {
    EXPECT_EQ(parse_content_type(value), expected) << value;
  }
}

TEST(ConnectContentType, IsNotThatOfAnotherProtocolOrCharset) {
  for (const std::string_view value :
       {"", "json", "text/json", "text/plain", "application/", "application/connect+", "application/grpc",
        "application/grpc+proto", "application/gRPC-web", "application/grpc-web-text+proto",
        "application/json; charset=latin1", "application/connect+json; charset=utf-16", "application/json;x",
        "application/js on"})
    EXPECT_EQ(parse_content_type(value), std::nullopt) << value;
}

TEST(ConnectContentType, IsWrittenAsItIsRead) {
  for (const bool stream : {false, true})
    for (const std::string_view codec : {"proto", "json", "thrift"})
      EXPECT_EQ(parse_content_type(content_type_of(stream, codec)), (content{stream, codec}));
}

TEST(ConnectHeaders, BelongToTheProtocolOrAreMetadata) {
  for (const std::string_view name : {"connect-protocol-version", "connect-timeout-ms", "connect-future",
                                      "content-encoding", "accept-encoding", "accept", "content-type",
                                      "content-length", "host", "user-agent", "grpc-timeout", ":path", ""})
    EXPECT_TRUE(is_reserved_key(name)) << name;
  for (const std::string_view name : {"connection-id", "x-custom", "trailer-x", "authorization", "connect"})
    EXPECT_FALSE(is_reserved_key(name)) << name;
}

TEST(ConnectHeaders, OfTrailersHaveAPrefix) {
  EXPECT_TRUE(is_trailer("trailer-x"));
  EXPECT_TRUE(is_trailer("Trailer-X"));
  EXPECT_EQ(trailer_name("trailer-x-bin"), "x-bin");
  for (const std::string_view name : {"trailer-", "trailer", "x-trailer-y", ""})
    EXPECT_FALSE(is_trailer(name)) << name;
}

TEST(ConnectHeaders, OfEncodingsDependOnTheKindOfCall) {
  EXPECT_EQ(encoding_header(false), "content-encoding");
  EXPECT_EQ(encoding_header(true), "connect-content-encoding");
  EXPECT_EQ(accept_encoding_header(false), "accept-encoding");
  EXPECT_EQ(accept_encoding_header(true), "connect-accept-encoding");
}

}  // namespace
}  // namespace coracle::protocol::connect::content_type_test
