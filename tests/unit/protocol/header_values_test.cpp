// The other texts of gRPC's wire format: grpc-message, -bin values, content types, and statuses derived from
// other codes.
#include "base/percent.hpp"
#include "coracle/base/impl/base64.hpp"
#include "protocol/envelope.hpp"
#include "protocol/grpc/content_type.hpp"
#include "protocol/grpc/status_headers.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace coracle::protocol::header_values_test {
namespace {

std::string encoded(std::string_view text) {
  std::string out;
  grpc::encode_message(text, out);
  return out;
}

TEST(GrpcMessage, EscapesWhatIsNotPrintableAscii) {
  EXPECT_EQ(encoded("plain text, ~!"), "plain text, ~!");
  EXPECT_EQ(encoded("100%"), "100%25");
  EXPECT_EQ(encoded("\t\r\n\x7f"), "%09%0D%0A%7F");
  EXPECT_EQ(encoded("\xc3\xbc"), "%C3%BC");
}

TEST(GrpcMessage, EscapesBlanksAtItsEdgesWhichHttp2WouldNotCarry) {
  EXPECT_EQ(encoded(" both "), "%20both%20");
  EXPECT_EQ(encoded(" "), "%20");
  EXPECT_EQ(encoded("in between"), "in between");
}

TEST(GrpcMessage, IsDecodedLeniently) {
  EXPECT_EQ(base::percent_decode("a%C3%BCb%c3%bc"),
            "a\xc3\xbc"
            "b\xc3\xbc");
  EXPECT_EQ(base::percent_decode("100%"), "100%");
  EXPECT_EQ(base::percent_decode("%4"), "%4");
  EXPECT_EQ(base::percent_decode("%zz%41"), "%zzA");
}

TEST(GrpcMessage, ComesBackWhole) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  EXPECT_EQ(base::percent_decode(encoded(all)), all);
}

TEST(BinaryMetadata, IsWrittenWithoutPadding) {
  std::string out;
  for (const auto& [bytes, text] :
       {std::pair{"", ""}, {"f", "Zg"}, {"fo", "Zm8"}, {"foo", "Zm9v"}, {"foob", "Zm9vYg"}}) {
    out.clear();
    base::base64_encode(bytes, out);
    EXPECT_EQ(out, text);
  }
}

TEST(BinaryMetadata, IsReadWithOrWithoutPadding) {
  std::string out;
  for (const auto& [text, bytes] :
       {std::pair{"Zg", "f"}, {"Zg==", "f"}, {"Zm8", "fo"}, {"Zm8=", "fo"}, {"Zm9v", "foo"}, {"", ""}}) {
    EXPECT_TRUE(base::base64_decode(text, out)) << text;
    EXPECT_EQ(out, bytes);
  }
  for (const std::string_view text : {"Z", "Zg=", "Zm8==", "Zm9v=", "Z!==", "Zm 9", "===="})
    EXPECT_FALSE(base::base64_decode(text, out)) << text;
}

TEST(BinaryMetadata, ComesBackWhole) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    std::string text;
    std::string back;
    base::base64_encode(bytes, text);
    ASSERT_TRUE(base::base64_decode(text, back));
    EXPECT_EQ(back, bytes);
    bytes.push_back(static_cast<char>(i * 37));
  }
}

TEST(ContentType, OfGrpcIsRecognisedAndItsSubtypeTold) {
  using some = std::optional<std::string_view>;
  for (const auto& [text, what] : {std::pair{"application/grpc", some("")},
                                   {"application/grpc+proto", some("proto")},
                                   {"application/grpc;charset=utf-8", some("")},
                                   {"application/grpc+proto ; q=1", some("proto")},
                                   {"application/grpc+json", some("json")},
                                   {"application/grpc+thrift", some("thrift")},
                                   {"APPLICATION/GRPC", some("")},
                                   {"Application/gRPC+Proto", some("Proto")},
                                   {"application/grpc-web", some()},
                                   {"application/grpc-web+proto", some()},
                                   {"application/json", some()},
                                   {"", some()}}) {
    EXPECT_EQ(grpc::content_subtype(text), what) << text;
  }
}

TEST(StatusMapping, FollowsTheDocumentsTables) {
  for (const auto& [http, code] : {std::pair{400, status_code::internal},
                                   {401, status_code::unauthenticated},
                                   {403, status_code::permission_denied},
                                   {404, status_code::unimplemented},
                                   {429, status_code::unavailable},
                                   {431, status_code::unknown},
                                   {502, status_code::unavailable},
                                   {503, status_code::unavailable},
                                   {504, status_code::unavailable},
                                   {200, status_code::unknown},
                                   {500, status_code::unknown},
                                   {302, status_code::unknown}}) {
    EXPECT_EQ(grpc::from_http_status(http), code) << http;
  }
  for (const auto& [reset, code] : {std::pair{0u, status_code::internal},
                                    {1u, status_code::internal},
                                    {3u, status_code::internal},
                                    {7u, status_code::unavailable},
                                    {8u, status_code::cancelled},
                                    {11u, status_code::resource_exhausted},
                                    {12u, status_code::permission_denied},
                                    {13u, status_code::internal},
                                    {99u, status_code::internal}}) {
    EXPECT_EQ(grpc::from_reset_code(reset), code) << reset;
  }
  EXPECT_EQ(grpc::parse_status_code("0"), status_code::ok);
  EXPECT_EQ(grpc::parse_status_code("16"), status_code::unauthenticated);
  for (const std::string_view text : {"", "17", "-1", "x", "100", "1x"})
    EXPECT_EQ(grpc::parse_status_code(text), status_code::unknown) << text;
}

TEST(Envelope, ComesBackWhole) {
  for (const std::uint32_t length : {0u, 1u, 255u, 256u, 65'536u, 0xffff'ffffu}) {
    std::uint8_t bytes[envelope_prefix_bytes];
    write_envelope_prefix(bytes, 7, length);
    EXPECT_EQ(read_envelope_prefix(bytes).flags, 7);
    EXPECT_EQ(read_envelope_prefix(bytes).length_bytes, length);
  }
}

}  // namespace
}  // namespace coracle::protocol::header_values_test
