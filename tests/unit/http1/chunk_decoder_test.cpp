#include "http1/chunk_decoder.hpp"

#include "unit/http1/messages.hpp"

#include <gtest/gtest.h>
#include <string>

namespace coracle::http1::chunk_decoder_test {
namespace {

using testing::post_chunks;
using testing::posted;
using testing::serve;

// What a server says about a body in chunks, without the headers.
std::string body(std::string_view chunks, const limits& l = {}) {
  const std::string said = serve(post_chunks(chunks), l);
  const std::string head = std::string(posted) + "]";
  EXPECT_TRUE(said.starts_with(head)) << said;
  return said.substr(head.size());
}

TEST(Http1Chunks, AreOneBody) {
  EXPECT_EQ(body("5\r\nhello\r\n1\r\n,\r\n6\r\n world\r\n0\r\n\r\n"), "<hello, world>end[]");
  EXPECT_EQ(body("0\r\n\r\n"), "end[]");
  EXPECT_EQ(body("000a\r\n0123456789\r\n00\r\n\r\n"), "<0123456789>end[]");
  EXPECT_EQ(body("7\r\n0\r\n\r\n\r\n\r\n0\r\n\r\n"), "<0\r\n\r\n\r\n>end[]");
}

TEST(Http1Chunks, HaveASizeOfHexadecimalDigits) {
  EXPECT_EQ(body("\r\n"), "failed[400 a chunk without a size]");
  EXPECT_EQ(body(";x\r\n"), "failed[400 a chunk without a size]");
  EXPECT_EQ(body(" 5\r\n"), "failed[400 a chunk without a size]");
  EXPECT_EQ(body("+5\r\n"), "failed[400 a chunk without a size]");
  EXPECT_EQ(body("-5\r\n"), "failed[400 a chunk without a size]");
  EXPECT_EQ(body("0x5\r\n"), "failed[400 the size of a chunk is not hexadecimal]");
  EXPECT_EQ(body("5_0\r\n"), "failed[400 the size of a chunk is not hexadecimal]");
  EXPECT_EQ(body("5g\r\n"), "failed[400 the size of a chunk is not hexadecimal]");
}

TEST(Http1Chunks, HaveASizeThatDoesNotOverflow) {
  EXPECT_EQ(body("7fffffffffffffff\r\nx"), "<x>");
  EXPECT_EQ(body("8000000000000000\r\n"), "failed[400 the size of a chunk overflows]");
  EXPECT_EQ(body("10000000000000005\r\n"), "failed[400 the size of a chunk overflows]");
}

TEST(Http1Chunks, HaveLinesThatEndWithCrlf) {
  EXPECT_EQ(body("5\nhello\r\n"), "failed[400 the size of a chunk is not hexadecimal]");
  EXPECT_EQ(body("5\rhello\r\n"), "failed[400 the line of a chunk has a CR without LF]");
  EXPECT_EQ(body("5\r\r\nhello\r\n"), "failed[400 the line of a chunk has a CR without LF]");
  EXPECT_EQ(body("5;a\nhello\r\n"), "failed[400 a malformed chunk extension]");
}

TEST(Http1Chunks, HaveDataThatEndsWithCrlf) {
  const std::string wrong = "failed[400 a chunk whose data does not end with CRLF]";
  EXPECT_EQ(body("5\r\nhello\n0\r\n\r\n"), "<hello>" + wrong);
  EXPECT_EQ(body("5\r\nhello0\r\n\r\n"), "<hello>" + wrong);
  EXPECT_EQ(body("5\r\nhello!\r\n0\r\n\r\n"), "<hello>" + wrong);
  EXPECT_EQ(body("5\r\nhello\r0\r\n\r\n"), "<hello>" + wrong);
  EXPECT_EQ(body("5\r\nhello\n\r0\r\n\r\n"), "<hello>" + wrong);
}

TEST(Http1Chunks, MayHaveExtensionsWhichAreIgnored) {
  for (const char* extension :
       {";a", ";a=b", ";a;b=c", ";a=\"b;\\\"\"", " ; a = b ;c", "\t;a=\"\"", ";a=\"x\" ;b", ";a ;b"})
    EXPECT_EQ(body("1" + std::string(extension) + "\r\nx\r\n0" + extension + "\r\n\r\n"), "<x>end[]")
        << extension;
}

TEST(Http1Chunks, HaveNoMalformedExtensions) {
  for (const char* extension :
       {";", ";;", ";=b", ";a=", ";a=b=c", ";a b", ";a=\"b", ";a=\"b\"c", ";a=\"\x01\"", ";a=\"\r\"",
        ";a=\"\n\"", " ", " x", ";a ", ";a= ", ";a=\"\\\r\"", ";a,b", ";a=b ", ";\x80"})
    EXPECT_EQ(body("1" + std::string(extension) + "\r\nx\r\n0\r\n\r\n"),
              "failed[400 a malformed chunk extension]")
        << extension;
}

TEST(Http1Chunks, HaveALineOfAtMostChunkLineBytes) {
  limits l;
  l.chunk_line_bytes = 8;  // with CRLF
  EXPECT_EQ(body("1;abcd\r\nx\r\n0\r\n\r\n", l), "<x>end[]");
  EXPECT_EQ(body("1;abcde\r\nx\r\n0\r\n\r\n", l), "failed[400 the line of a chunk is too long]");
  EXPECT_EQ(body("000000000000000000000", l), "failed[400 the line of a chunk is too long]");
  EXPECT_EQ(limits().chunk_line_bytes, 256u);
}

TEST(Http1Chunks, HaveAtMostChunkExtensionBytesTogether) {
  limits l;
  l.chunk_extension_bytes = 12;
  const std::string chunk = "1;abc\r\nx\r\n";
  EXPECT_EQ(body(chunk + chunk + chunk + "0\r\n\r\n", l), "<xxx>end[]");
  EXPECT_EQ(body(chunk + chunk + chunk + "0;a\r\n\r\n", l),
            "<xxx>failed[400 too many octets of chunk extensions]");
}

TEST(Http1Chunks, HaveAtMostBodyBytesTogether) {
  limits l;
  l.body_bytes = 4;
  EXPECT_EQ(body("2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n", l), "<abcd>end[]");
  EXPECT_EQ(body("2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n", l), "<ab>failed[413 the body is too long]");
  EXPECT_EQ(body("7fffffffffffffff\r\n", l), "failed[413 the body is too long]");
}

TEST(Http1Trailers, FollowTheLastChunk) {
  EXPECT_EQ(body("1\r\nx\r\n0\r\nGrpc-Status: 0\r\nB:  c \r\n\r\n"), "<x>end[grpc-status=0, b=c]");
}

TEST(Http1Trailers, AreThoseOfTheirMessageOnly) {
  const std::string head = std::string(posted) + "]";
  EXPECT_EQ(serve(post_chunks("0\r\na: b\r\n\r\n") + post_chunks("0\r\n\r\n")),
            head + "end[a=b]" + head + "end[]");
}

TEST(Http1Trailers, HaveNoFieldsOfTheFraming) {
  for (const char* line : {"Content-Length: 1", "Transfer-Encoding: chunked", "Host: x", "content-length: 0"})
    EXPECT_EQ(body("0\r\n" + std::string(line) + "\r\n\r\n"),
              "failed[400 a field of the framing or of the target in trailers]")
        << line;
}

TEST(Http1Trailers, LeaveOutHopByHopFields) {
  EXPECT_EQ(body("0\r\nConnection: x\r\nTE: y\r\nUpgrade: z\r\nKeep-Alive: 1\r\nExpect: 100-continue\r\nA: "
                 "b\r\n\r\n"),
            "end[a=b]");
}

TEST(Http1Trailers, AreCheckedAsHeadersAre) {
  EXPECT_EQ(body("0\r\na : b\r\n\r\n"), "failed[400 white space within or after a field name]");
  EXPECT_EQ(body("0\r\n a: b\r\n\r\n"), "failed[400 a field line that begins with white space (obs-fold)]");
  EXPECT_EQ(body("0\r\na: b\n\r\n"), "failed[400 a line that ends with LF without CR]");
  EXPECT_EQ(body("0\r\n\n"), "failed[400 a line that ends with LF without CR]");
}

TEST(Http1Trailers, AreAtMostTrailerBytesLong) {
  limits l;
  l.trailer_bytes = 12;
  EXPECT_EQ(body("0\r\nabc: def\r\n\r\n", l), "end[abc=def]");
  EXPECT_EQ(body("0\r\nabc: defg\r\n\r\n", l), "failed[431 the trailers are too long]");
  EXPECT_EQ(body("0\r\n" + std::string(100, 'x'), l), "failed[431 the trailers are too long]");
  EXPECT_EQ(limits().trailer_bytes, 8192u);
}

TEST(Http1Trailers, HaveAtMostHeaderFields) {
  limits l;
  l.header_fields = 2;
  EXPECT_EQ(body("0\r\na: b\r\nc: d\r\n\r\n", l), "end[a=b, c=d]");
  EXPECT_EQ(body("0\r\na: b\r\nc: d\r\ne: f\r\n\r\n", l), "failed[431 too many fields in the trailers]");
}

}  // namespace
}  // namespace coracle::http1::chunk_decoder_test
