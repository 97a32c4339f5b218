// What a connection accepts and what it refuses, in both roles. Each text is also read octet by octet.
#include "http1/connection.hpp"

#include "unit/http1/messages.hpp"

#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace coracle::http1::connection_test {
namespace {

using testing::client_transcript;
using testing::get;
using testing::got;
using testing::post;
using testing::post_chunks;
using testing::posted;
using testing::receive;
using testing::serve;
using testing::server_transcript;

std::string failed(int status, std::string_view reason) {
  return "failed[" + std::to_string(status) + " " + std::string(reason) + "]";
}

// --- requests

TEST(Http1Request, HasItsTargetFirstAndNamesInLowerCase) {
  EXPECT_EQ(serve("GET /a?b HTTP/1.1\r\nAccept: x\r\nHost: H:1\r\nX-Long-Name: Y\r\naccept: z\r\n\r\n"),
            "headers[:method=GET, :authority=H:1, :path=/a?b, accept=x, x-long-name=Y, accept=z]end[]");
}

TEST(Http1Request, KeepsANameOfAnyLength) {
  const std::string name(300, 'N');
  EXPECT_EQ(serve(get(name + ": v\r\n")), std::string(got) + ", " + std::string(300, 'n') + "=v]end[]");
}

TEST(Http1Request, WithoutAFramingHasNoBody) { EXPECT_EQ(serve(post("")), std::string(posted) + "]end[]"); }

TEST(Http1Request, HasACountedBody) {
  EXPECT_EQ(serve(post("Content-Length: 5\r\n", "hello")),
            std::string(posted) + ", content-length=5]<hello>end[]");
  EXPECT_EQ(serve(post("Content-Length: 0\r\n")), std::string(posted) + ", content-length=0]end[]");
  EXPECT_EQ(serve(post("Content-Length: 0005\r\n", "hello")),
            std::string(posted) + ", content-length=0005]<hello>end[]");
}

TEST(Http1Request, HasABodyInChunksInAnyCase) {
  EXPECT_EQ(serve(post("TRANSFER-encoding:  Chunked\t\r\n", "2\r\nhi\r\n0\r\n\r\n")),
            std::string(posted) + "]<hi>end[]");
}

TEST(Http1Request, LeavesOutHopByHopFields) {
  EXPECT_EQ(
      serve(get("Connection: keep-alive, X-Mine ,y\r\nKeep-Alive: 1\r\nProxy-Connection: a\r\nTrailer: b\r\n"
                "Upgrade: h2c\r\nx-mine: 1\r\nY: 2\r\nz: 3\r\nTE: gzip\r\n")),
      std::string(got) + ", z=3]end[]");
}

TEST(Http1Request, KeepsTeOfTrailersOnly) {
  EXPECT_EQ(serve(get("TE: trailers\r\nConnection: TE\r\n")), std::string(got) + ", te=trailers]end[]");
  EXPECT_EQ(serve(get("TE: trailers, deflate\r\n")), std::string(got) + "]end[]");
}

TEST(Http1Request, IgnoresAnUpgrade) {
  EXPECT_EQ(serve(get("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n")),
            std::string(got) + "]end[]");
  EXPECT_EQ(serve(get("Connection: Upgrade\r\nUpgrade: websocket\r\n")), std::string(got) + "]end[]");
}

TEST(Http1Request, MayFollowTwoEmptyLines) {
  EXPECT_EQ(serve("\r\n" + get("")), std::string(got) + "]end[]");
  EXPECT_EQ(serve("\r\n\r\n" + get("")), std::string(got) + "]end[]");
  EXPECT_EQ(serve("\r\n\r\n\r\n" + get("")), failed(400, "too many empty lines before a request"));
  EXPECT_EQ(serve(get("") + "\r\n\r\n" + get("")), std::string(got) + "]end[]" + std::string(got) + "]end[]");
}

TEST(Http1Request, MayBePipelined) {
  EXPECT_EQ(serve(get("A: 1\r\n") + post("Content-Length: 2\r\n", "hi") + post_chunks("1\r\nx\r\n0\r\n\r\n") +
                  get("")),
            std::string(got) + ", a=1]end[]" + std::string(posted) + ", content-length=2]<hi>end[]" +
                std::string(posted) + "]<x>end[]" + std::string(got) + "]end[]");
}

TEST(Http1Request, IsReadOnlyWhenTheResponseBeforeItIsComplete) {
  connection c(role::server, {}, {});
  const std::string two = get("") + post("");
  c.feed(as_bytes(two), {});
  EXPECT_EQ(c.next().type, event::kind::headers);
  EXPECT_EQ(c.next().type, event::kind::end);
  EXPECT_EQ(c.next().type, event::kind::none);
  EXPECT_TRUE(c.busy());
  EXPECT_FALSE(c.exchange_done());
  EXPECT_EQ(as_text(c.take_unread()), post(""));
  c.begin_response(200, {framing::kind::counted, 2});
  c.end_headers();
  testing::send(c, "ok");
  EXPECT_FALSE(c.exchange_done());
  c.end_body(nullptr);
  EXPECT_TRUE(c.exchange_done());
  EXPECT_FALSE(c.busy());
  c.feed(as_bytes(std::string_view(two).substr(get("").size())), {});
  EXPECT_EQ(c.next().type, event::kind::headers);
  EXPECT_FALSE(c.exchange_done());
  EXPECT_EQ(c.fields()[0].value, "POST");
}

// Hundreds of requests may be in one feed.
TEST(Http1Request, IsNotReadWhileItIsHeld) {
  connection c(role::server, {}, {});
  const std::string two = get("") + post("");
  c.feed(as_bytes(two), {});
  EXPECT_EQ(c.next().type, event::kind::headers);
  c.begin_response(200, {framing::kind::counted, 0});
  c.end_headers();
  c.end_body(nullptr);
  c.hold_next_request(true);
  EXPECT_EQ(c.next().type, event::kind::none);
  EXPECT_TRUE(c.exchange_done());
  EXPECT_EQ(as_text(c.take_unread()), post(""));
  c.hold_next_request(false);
  c.feed(as_bytes(std::string_view(two).substr(get("").size())), {});
  EXPECT_EQ(c.next().type, event::kind::headers);
}

TEST(Http1Request, OfHeadIsKnown) {
  server_transcript t;
  t.feed("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(t.engine.is_head_request());
  t.feed(get(""));
  EXPECT_FALSE(t.engine.is_head_request());
}

TEST(Http1Request, MayHaveAnAbsoluteTarget) {
  EXPECT_EQ(serve("GET http://h/p HTTP/1.1\r\nHost: H:80\r\n\r\n"),
            "headers[:method=GET, :scheme=http, :authority=h, :path=/p]end[]");
  EXPECT_EQ(serve("GET https://h?q HTTP/1.0\r\n\r\n"),
            "headers[:method=GET, :scheme=https, :authority=h, :path=/?q]end[]");
  EXPECT_EQ(serve("OPTIONS * HTTP/1.1\r\nHost:\r\n\r\n"), "headers[:method=OPTIONS, :path=*]end[]");
}

TEST(Http1Request, HasATargetThatDoesNotContradictHost) {
  for (const char* target : {"http://g/", "http://h:81/", "https://h:80/", "http://h.x/"})
    EXPECT_EQ(serve("GET " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n\r\n"),
              failed(400, "Host contradicts the target"))
        << target;
  EXPECT_EQ(serve("GET http://h/ HTTP/1.1\r\nHost:\r\n\r\n"), failed(400, "Host contradicts the target"));
}

TEST(Http1Request, HasOneValidHost) {
  EXPECT_EQ(serve("GET / HTTP/1.1\r\n\r\n"), failed(400, "a request without Host"));
  EXPECT_EQ(serve(get("Host: h\r\n")), failed(400, "Host occurs twice"));
  EXPECT_EQ(serve(get("hOST: g\r\n")), failed(400, "Host occurs twice"));
  EXPECT_EQ(serve("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"), failed(400, "Host occurs twice"));
  for (const char* host : {"u@h", "h/x", "a b", "a, b", "h:x", "http://h"})
    EXPECT_EQ(serve("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n"),
              failed(400, "Host is not valid"))
        << host;
}

TEST(Http1Request, OfHttp10NeedsNoHost) {
  EXPECT_EQ(serve("GET / HTTP/1.0\r\n\r\n"), "headers[:method=GET, :path=/]end[]");
}

TEST(Http1Request, OfAnotherVersionIsRefused) {
  EXPECT_EQ(serve("GET / HTTP/2.0\r\n\r\n"), failed(505, "a version other than HTTP/1.0 and HTTP/1.1"));
  EXPECT_EQ(serve("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
            failed(505, "a version other than HTTP/1.0 and HTTP/1.1"));
}

TEST(Http1Request, OfAnotherProtocolGetsNoResponse) {
  constexpr const char* tls = "the peer speaks TLS, and this side plaintext";
  constexpr const char* unknown = "the first line is not one of HTTP/1.x";
  for (const auto& [bytes, reason] :
       {std::pair{"INVALID CONNECTION PREFACE\r\n\r\n", unknown},
        std::pair{"SSH-2.0-x\n", "the peer speaks SSH"},
        std::pair{"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n",
                  "the peer begins with the PROXY protocol, which is not supported"},
        std::pair{"\x16\x03\x01", tls}, std::pair{"\x15\x03\x01", tls}, std::pair{"\x80\x2e", unknown},
        std::pair{"GET /\r\n", unknown}})
    EXPECT_EQ(serve(bytes), failed(0, reason)) << bytes;
}

TEST(Http1Request, HasNoBareLineFeedAndNoBareCarriageReturn) {
  const std::string line_feed = failed(400, "a line that ends with LF without CR");
  EXPECT_EQ(serve("GET / HTTP/1.1\nHost: h\r\n\r\n"), line_feed);
  EXPECT_EQ(serve("GET / HTTP/1.1\r\nHost: h\n\r\n"), line_feed);
  EXPECT_EQ(serve("GET / HTTP/1.1\r\nHost: h\r\n\n"), line_feed);
  EXPECT_EQ(serve("\n" + get("")), line_feed);
  EXPECT_EQ(serve(get("A: b\rC: d\r\n")), failed(400, "a field value with a control character"));
  EXPECT_EQ(serve(get("A: b\r\r\n")), failed(400, "a field value with a control character"));
  EXPECT_EQ(serve(get("A\r: b\r\n")), failed(400, "a field name with a forbidden character"));
  EXPECT_EQ(serve("GET / HTTP/1.1\r\r\nHost: h\r\n\r\n"), failed(400, "a malformed version"));
  EXPECT_EQ(serve("GET /\r HTTP/1.1\r\nHost: h\r\n\r\n"),
            failed(400, "a target with a character that must be percent-encoded"));
}

TEST(Http1Request, HasNoControlCharacters) {
  EXPECT_EQ(serve(get(std::string("A: b\0c\r\n", 8))), failed(400, "a field value with a control character"));
  EXPECT_EQ(serve(get(std::string("A\0: b\r\n", 7))), failed(400, "a field name with a forbidden character"));
  EXPECT_EQ(serve(get("A: \x0b\r\n")), failed(400, "a field value with a control character"));
  EXPECT_EQ(serve(get("A: \x7f\r\n")), failed(400, "a field value with a control character"));
  EXPECT_EQ(serve(get("A: \xc3\xa4\r\n")), std::string(got) + ", a=\xc3\xa4]end[]");
}

TEST(Http1Request, HasNoFoldedLines) {
  EXPECT_EQ(serve(get("A: b\r\n c\r\n")),
            failed(400, "a field line that begins with white space (obs-fold)"));
  EXPECT_EQ(serve("GET / HTTP/1.1\r\n Host: h\r\n\r\n"),
            failed(400, "a field line that begins with white space (obs-fold)"));
}

TEST(Http1Request, HasNoSpaceBeforeAColonAndNoEmptyName) {
  EXPECT_EQ(serve(get("Content-Length : 5\r\n")), failed(400, "white space within or after a field name"));
  EXPECT_EQ(serve(get(": x\r\n")), failed(400, "a field with an empty name"));
  EXPECT_EQ(serve(get("GET / HTTP/1.1\r\n")), failed(400, "white space within or after a field name"));
}

// --- the framing of requests

TEST(Http1Framing, RefusesBothLengths) {
  const std::string wrong = failed(400, "both Content-Length and Transfer-Encoding");
  EXPECT_EQ(serve(post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")), wrong);
  EXPECT_EQ(serve(post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n")), wrong);
  EXPECT_EQ(serve(post("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n")), wrong);
}

TEST(Http1Framing, RefusesASecondLengthEvenIfItIsEqual) {
  EXPECT_EQ(serve(post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello")),
            failed(400, "Content-Length occurs twice"));
  EXPECT_EQ(serve(post("Content-Length: 5\r\nContent-length: 6\r\n", "hello")),
            failed(400, "Content-Length occurs twice"));
}

TEST(Http1Framing, RefusesALengthThatIsNoNumber) {
  for (const char* length :
       {"", "+5", "-5", "5,5", "5, 5", "5 5", "0x5", "5.0", "five", "\"5\"", "5;", "1e3"})
    EXPECT_EQ(serve(post("Content-Length: " + std::string(length) + "\r\n", "hello")),
              failed(400, "Content-Length is not a valid number"))
        << length;
}

TEST(Http1Framing, RefusesALengthThatOverflows) {
  const std::string wrong = failed(400, "Content-Length is not a valid number");
  EXPECT_EQ(serve(post("Content-Length: 9223372036854775807\r\n", "x")),
            std::string(posted) + ", content-length=9223372036854775807]<x>");
  for (const char* length :
       {"9223372036854775808", "18446744073709551615", "18446744073709551621", "99999999999999999999999"})
    EXPECT_EQ(serve(post("Content-Length: " + std::string(length) + "\r\n")), wrong) << length;
}

TEST(Http1Framing, RefusesATransferEncodingInHttp10) {
  EXPECT_EQ(serve("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            failed(400, "Transfer-Encoding in HTTP/1.0"));
}

TEST(Http1Framing, RefusesATransferEncodingWithoutChunked) {
  for (const char* coding : {"gzip", "identity", "chunke", "chunked2", "xchunked", "gzip;q=chunked"})
    EXPECT_EQ(serve(post("Transfer-Encoding: " + std::string(coding) + "\r\n")),
              failed(400, "a Transfer-Encoding without chunked"))
        << coding;
}

TEST(Http1Framing, RefusesChunkedThatIsRepeatedOrNotLast) {
  const std::string wrong = failed(400, "a transfer coding after chunked");
  EXPECT_EQ(serve(post("Transfer-Encoding: chunked, gzip\r\n")), wrong);
  EXPECT_EQ(serve(post("Transfer-Encoding: chunked, chunked\r\n")), wrong);
  EXPECT_EQ(serve(post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")), wrong);
  EXPECT_EQ(serve(post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n")), wrong);
  EXPECT_EQ(serve(post("Transfer-Encoding: chunked,\r\n")), wrong);
}

TEST(Http1Framing, RefusesAnUnknownTransferCodingWith501) {
  const std::string wrong = failed(501, "a transfer coding that is not supported");
  EXPECT_EQ(serve(post("Transfer-Encoding: gzip, chunked\r\n")), wrong);
  EXPECT_EQ(serve(post("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n")), wrong);
}

TEST(Http1Framing, RefusesAMalformedTransferEncoding) {
  for (const char* coding : {"", ",chunked", "\"chunked\"", " , chunked", "chunked;q=1 chunked",
                             "ch\xc3\xbcnked, chunked", "gzip;,chunked"}) {
    const std::string said = serve(post("Transfer-Encoding: " + std::string(coding) + "\r\n", "0\r\n\r\n"));
    EXPECT_TRUE(said.starts_with("failed[400 ") || said.starts_with("failed[501 ")) << coding << said;
  }
  EXPECT_EQ(serve(post("Transfer-Encoding:\r\n", "0\r\n\r\n")), failed(400, "a malformed transfer coding"));
  EXPECT_EQ(serve(post("Transfer-Encoding: \x0b"
                       "chunked\r\n",
                       "0\r\n\r\n")),
            failed(400, "a field value with a control character"));
}

TEST(Http1Framing, OfAGetIsObeyed) {
  EXPECT_EQ(serve(get("Content-Length: 32\r\n", "GET /admin HTTP/1.1\r\nHost: h\r\n\r\n" + get(""))),
            std::string(got) + ", content-length=32]<GET /admin HTTP/1.1\r\nHost: h\r\n\r\n>end[]" +
                std::string(got) + "]end[]");
}

TEST(Http1Framing, IsNotChangedByConnection) {
  EXPECT_EQ(serve(post("Connection: Content-Length\r\nContent-Length: 2\r\n", "hi")),
            std::string(posted) + "]<hi>end[]");
  EXPECT_EQ(serve(post("Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")),
            std::string(posted) + "]end[]");
}

// --- expectations

TEST(Http1Expectation, OfContinueIsKnownUntilTheBodyBegins) {
  connection c(role::server, {}, {});
  const std::string head = post("Expect: 100-Continue\r\nContent-Length: 2\r\n");
  c.feed(as_bytes(head), {});
  EXPECT_EQ(c.next().type, event::kind::headers);
  EXPECT_FALSE(c.fields().contains("expect"));
  EXPECT_TRUE(c.expects_continue());
  EXPECT_EQ(c.next().type, event::kind::none);
  EXPECT_TRUE(c.expects_continue());
  c.feed(as_bytes("hi"), {});
  EXPECT_EQ(c.next().type, event::kind::data);
  EXPECT_FALSE(c.expects_continue());
  c.send_continue();
  EXPECT_TRUE(c.output().empty());
}

TEST(Http1Expectation, IsAnsweredOnce) {
  connection c(role::server, {}, {});
  const std::string head = post("Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n");
  c.feed(as_bytes(head), {});
  EXPECT_EQ(c.next().type, event::kind::headers);
  EXPECT_TRUE(c.expects_continue());
  c.send_continue();
  c.send_continue();
  EXPECT_EQ(as_text(c.output().pending()), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_FALSE(c.expects_continue());
}

TEST(Http1Expectation, WithoutABodyOrInHttp10IsIgnored) {
  for (const std::string& head :
       {get("Expect: 100-continue\r\n"), post("Expect: 100-continue\r\nContent-Length: 0\r\n"),
        std::string("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"),
        std::string("POST / HTTP/1.0\r\nExpect: x\r\nContent-Length: 2\r\n\r\n")}) {
    connection c(role::server, {}, {});
    c.feed(as_bytes(head), {});
    EXPECT_EQ(c.next().type, event::kind::headers) << head;
    EXPECT_FALSE(c.expects_continue()) << head;
  }
}

TEST(Http1Expectation, OfAnythingElseFails) {
  const std::string wrong = failed(417, "an expectation other than 100-continue");
  EXPECT_EQ(serve(get("Expect: magic\r\n")), wrong);
  EXPECT_EQ(serve(get("Expect: 100-continue, magic\r\n")), wrong);
  EXPECT_EQ(serve(get("Expect: 100-continue\r\nExpect:\r\n")), wrong);
}

// --- limits

TEST(Http1Limits, LineBytesLimitsTheRequestLine) {
  limits l;
  l.line_bytes = 20;  // with CRLF
  EXPECT_EQ(serve("GET /1234 HTTP/1.1\r\nHost: h\r\n\r\n", l),
            "headers[:method=GET, :authority=h, :path=/1234]end[]");
  EXPECT_EQ(serve("GET /12345 HTTP/1.1\r\nHost: h\r\n\r\n", l), failed(414, "the first line is too long"));
  EXPECT_EQ(serve("GET /" + std::string(100, 'x'), l), failed(414, "the first line is too long"));
  EXPECT_EQ(limits().line_bytes, 8192u);
}

TEST(Http1Limits, HeaderBytesLimitsTheFieldLines) {
  limits l;
  l.header_bytes = 20;  // "Host: h" and the empty line take 11
  EXPECT_EQ(serve("GET / HTTP/1.1\r\nHost: h\r\na: bcdef\r\n\r\n", {}), std::string(got) + ", a=bcdef]end[]");
  EXPECT_EQ(serve("GET / HTTP/1.1\r\nHost: h\r\na: bcdef\r\n\r\n", l),
            failed(431, "the headers are too long"));
  EXPECT_EQ(serve("GET / HTTP/1.1\r\nHost: h\r\na: bcde\r\n\r\n", l), std::string(got) + ", a=bcde]end[]");
  EXPECT_EQ(serve("GET / HTTP/1.1\r\nHost: h\r\na:" + std::string(100, 'x'), l),
            failed(431, "the headers are too long"));
  EXPECT_EQ(limits().header_bytes, 16384u);
}

TEST(Http1Limits, HeaderFieldsLimitsTheirNumber) {
  limits l;
  l.header_fields = 3;
  EXPECT_EQ(serve(get("a: b\r\nc: d\r\n"), l), std::string(got) + ", a=b, c=d]end[]");
  EXPECT_EQ(serve(get("a: b\r\nc: d\r\ne: f\r\n"), l), failed(431, "too many fields in the headers"));
  EXPECT_EQ(limits().header_fields, 128u);
}

TEST(Http1Limits, EmptyLinesLimitsThoseBeforeARequest) {
  limits l;
  l.empty_lines = 0;
  EXPECT_EQ(serve("\r\n" + get(""), l), failed(400, "too many empty lines before a request"));
  EXPECT_EQ(limits().empty_lines, 2u);
}

TEST(Http1Limits, BodyBytesLimitsACountedBody) {
  limits l;
  l.body_bytes = 4;
  EXPECT_EQ(serve(post("Content-Length: 4\r\n", "body"), l),
            std::string(posted) + ", content-length=4]<body>end[]");
  EXPECT_EQ(serve(post("Content-Length: 5\r\n", "hello"), l), failed(413, "the body is too long"));
}

TEST(Http1Limits, BodyBytesLimitsTheBodyOfAResponse) {
  limits l;
  l.body_bytes = 4;
  const std::string head = "headers[:status=200";
  EXPECT_EQ(receive("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", l),
            failed(0, "the body is too long"));
  EXPECT_EQ(receive("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello", l),
            head + "]" + failed(0, "the body is too long"));
  EXPECT_EQ(receive("HTTP/1.1 200 OK\r\n\r\nbody", l), head + "]<body>");
  EXPECT_EQ(receive("HTTP/1.1 200 OK\r\n\r\nhello", l), head + "]<hell>" + failed(0, "the body is too long"));
}

TEST(Http1Limits, InterimResponsesLimitsThoseBeforeAResponse) {
  limits l;
  l.interim_responses = 2;
  const std::string hint = "HTTP/1.1 103 Early Hints\r\n\r\n", said = "interim[:status=103]";
  EXPECT_EQ(receive(hint + hint + "HTTP/1.1 204 x\r\n\r\n", l), said + said + "headers[:status=204]end[]");
  EXPECT_EQ(receive(hint + hint + hint, l), said + said + failed(0, "too many interim responses (1xx)"));
  client_transcript t(l);
  for (int i = 0; i < 3; ++i) {
    t.feed(hint + hint + "HTTP/1.1 204 x\r\n\r\n");
    EXPECT_FALSE(t.engine.failed());
    t.request("GET");
  }
}

TEST(Http1Limits, HeaderTimeoutRunsFromTheFirstOctetToTheEndOfTheHeaders) {
  const time_point start{};
  connection c(role::server, {}, start);
  EXPECT_EQ(c.next_timeout(), never);
  c.feed(as_bytes("G"), start + 5s);
  EXPECT_EQ(c.next().type, event::kind::none);
  EXPECT_TRUE(c.busy());
  EXPECT_EQ(c.next_timeout(), start + 25s);
  const std::string rest = get("").substr(1);
  for (std::size_t i = 0; i + 1 < rest.size(); ++i) {
    c.feed(as_bytes(rest).subspan(i, 1), start + 6s);
    EXPECT_EQ(c.next().type, event::kind::none);
  }
  c.on_timeout(start + 24s);
  EXPECT_EQ(c.next().type, event::kind::none);
  EXPECT_EQ(c.next_timeout(), start + 25s);
  connection late(role::server, {}, start);
  late.feed(as_bytes("\r\nG"), start + 5s);
  EXPECT_EQ(late.next().type, event::kind::none);
  late.on_timeout(start + 25s);
  const event e = late.next();
  EXPECT_EQ(e.type, event::kind::failed);
  EXPECT_EQ(e.status, 408);
  EXPECT_EQ(late.next_timeout(), never);
  c.feed(as_bytes("\n"), start + 24s);
  EXPECT_EQ(c.next().type, event::kind::headers);
  EXPECT_EQ(c.next_timeout(), never);
}

TEST(Http1Limits, HeaderTimeoutAfterAnEmptyLineGetsNoResponse) {
  connection c(role::server, {}, {});
  c.feed(as_bytes("\r\n"), {});
  EXPECT_EQ(c.next().type, event::kind::none);
  c.on_timeout(time_point() + 20s);
  const event e = c.next();
  EXPECT_EQ(e.type, event::kind::failed);
  EXPECT_EQ(e.status, 0);
}

TEST(Http1Limits, BodyTimeoutEndsABodyThatArrivesTooSlowly) {
  const time_point start{};
  limits l;
  l.body_timeout = 10s;
  l.body_bytes_per_second = 10;
  connection c(role::server, l, start);
  const std::string head = post("Content-Length: 1000\r\n");
  c.feed(as_bytes(head), start);
  EXPECT_EQ(c.next().type, event::kind::headers);
  EXPECT_EQ(c.next().type, event::kind::none);
  EXPECT_EQ(c.next_timeout(), start + 10s);
  c.on_timeout(start + 10s);  // begins the first period
  EXPECT_EQ(c.next_timeout(), start + 20s);
  const std::string piece(100, 'x');
  c.feed(as_bytes(piece), start + 15s);
  EXPECT_EQ(c.next().type, event::kind::data);
  EXPECT_EQ(c.next().type, event::kind::none);
  c.on_timeout(start + 20s);
  EXPECT_EQ(c.next().type, event::kind::none);
  c.feed(as_bytes(piece).first(99), start + 25s);
  EXPECT_EQ(c.next().type, event::kind::data);
  EXPECT_EQ(c.next().type, event::kind::none);
  c.on_timeout(start + 30s);
  const event e = c.next();
  EXPECT_EQ(e.type, event::kind::failed);
  EXPECT_EQ(e.status, 408);
  EXPECT_EQ(limits().body_timeout, 60s);
  EXPECT_EQ(limits().body_bytes_per_second, 256u);
}

TEST(Http1Limits, BodyTimeoutDoesNotRunWhileItIsNotEnforced) {
  const time_point start{};
  connection c(role::server, {}, start);
  const std::string head = post("Content-Length: 1000\r\n");
  c.feed(as_bytes(head), start);
  EXPECT_EQ(c.next().type, event::kind::headers);
  c.enforce_body_timeout(false, start);
  EXPECT_EQ(c.next_timeout(), never);
  c.enforce_body_timeout(true, start + 100s);
  EXPECT_EQ(c.next_timeout(), start + 160s);
}

TEST(Http1Limits, BodyTimeoutDoesNotRunWhileTheClientWaitsForContinue) {
  const time_point start{};
  connection c(role::server, {}, start);
  const std::string head = post("Expect: 100-continue\r\nContent-Length: 1000\r\n");
  c.feed(as_bytes(head), start);
  EXPECT_EQ(c.next().type, event::kind::headers);
  EXPECT_EQ(c.next_timeout(), never);
  c.send_continue();
  EXPECT_NE(c.next_timeout(), never);
}

TEST(Http1Limits, BodyTimeoutDoesNotRunInAClient) {
  client_transcript t;
  t.feed("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(t.engine.next_timeout(), never);
}

TEST(Http1Limits, RememberedHeadBytesLimitsWhatHasAnId) {
  limits l;
  l.remembered_head_bytes = static_cast<std::uint32_t>(get("a: b\r\n").size());
  server_transcript t(l);
  t.feed(get("a: b\r\n"));
  const std::uint32_t id = t.engine.headers_id();
  t.feed(get("a: b\r\n"));
  EXPECT_EQ(t.engine.headers_id(), id);
  t.feed(get("a: bc\r\n"));
  const std::uint32_t longer = t.engine.headers_id();
  EXPECT_NE(longer, id);
  t.feed(get("a: bc\r\n"));
  EXPECT_NE(t.engine.headers_id(), longer);
}

// --- ids

TEST(Http1HeadersId, IsTheSameForTheSameOctetsHoweverTheyAreDivided) {
  server_transcript t;
  const std::string one = get("a: b\r\n"), other = get("A: b\r\n");
  t.feed(one);
  const std::uint32_t first = t.engine.headers_id();
  EXPECT_NE(first, 0u);
  t.feed(one + "\r\n" + one);
  EXPECT_EQ(t.engine.headers_id(), first);
  for (const char c : one) t.feed({&c, 1});
  EXPECT_EQ(t.engine.headers_id(), first);
  t.feed(one.substr(0, 20));
  t.feed(one.substr(20) + one);
  EXPECT_EQ(t.engine.headers_id(), first);
  t.feed(other);
  const std::uint32_t second = t.engine.headers_id();
  EXPECT_NE(second, first);
  t.feed(one);
  EXPECT_NE(t.engine.headers_id(), second);
  const std::string event = std::string(got) + ", a=b]end[]";
  std::string all;
  for (int i = 0; i < 8; ++i) all += event;
  EXPECT_EQ(t.log, all);
}

TEST(Http1HeadersId, BelongsToTheHeadersAndNotToTheBody) {
  server_transcript t;
  t.feed(post("Content-Length: 2\r\n", "ab"));
  const std::uint32_t id = t.engine.headers_id();
  t.feed(post("Content-Length: 2\r\n", "cd"));
  EXPECT_EQ(t.engine.headers_id(), id);
  EXPECT_TRUE(t.log.ends_with("<cd>end[]"));
  t.feed(post("Content-Length: 3\r\n", "efg"));
  EXPECT_NE(t.engine.headers_id(), id);
}

TEST(Http1HeadersId, IsNewAfterMemoryWasReleased) {
  server_transcript t;
  t.feed(get(""));
  const std::uint32_t id = t.engine.headers_id();
  t.engine.release_idle_memory();
  t.feed(get(""));
  EXPECT_NE(t.engine.headers_id(), id);
  EXPECT_EQ(t.log, std::string(got) + "]end[]" + std::string(got) + "]end[]");
}

// --- keep-alive

TEST(Http1KeepAlive, IsTheDefaultOfHttp11) {
  server_transcript t;
  t.feed(get(""));
  EXPECT_FALSE(t.engine.closes());
  t.feed(get("Connection: close\r\n"));
  EXPECT_TRUE(t.engine.closes());
  t.feed(get(""));
  EXPECT_EQ(t.log, std::string(got) + "]end[]" + std::string(got) + "]end[]");  // the third is not read
}

TEST(Http1KeepAlive, OfHttp10IsAskedFor) {
  const std::string old = "GET / HTTP/1.0\r\nHost: h\r\n", keeps = old + "Connection: Keep-Alive\r\n\r\n";
  server_transcript t;
  t.feed(keeps);
  EXPECT_FALSE(t.engine.closes());
  t.feed(keeps + old + "\r\n");
  EXPECT_TRUE(t.engine.closes());
}

TEST(Http1KeepAlive, EndsWithCloseAmongOtherOptions) {
  for (const char* lines : {"Connection: x, CLOSE\r\n", "Connection: keep-alive\r\nConnection: close\r\n",
                            "Connection: close, keep-alive\r\n"}) {
    server_transcript t;
    t.feed(get(lines));
    EXPECT_TRUE(t.engine.closes()) << lines;
  }
}

TEST(Http1KeepAlive, OfAResponseFollowsTheSameRules) {
  const auto closes = [](std::string_view response) {
    client_transcript t;
    t.feed(response);
    EXPECT_TRUE(t.engine.exchange_done()) << response << t.log;
    return t.engine.closes();
  };
  EXPECT_FALSE(closes("HTTP/1.1 204 x\r\n\r\n"));
  EXPECT_TRUE(closes("HTTP/1.1 204 x\r\nConnection: Close\r\n\r\n"));
  EXPECT_TRUE(closes("HTTP/1.0 204 x\r\n\r\n"));
  EXPECT_FALSE(closes("HTTP/1.0 204 x\r\nconnection: keep-alive\r\n\r\n"));
}

// --- the end of the peer's bytes

TEST(Http1EndOfBytes, BetweenRequestsIsNoFailure) {
  server_transcript t;
  t.feed(get(""));
  t.feed_end();
  EXPECT_EQ(t.log, std::string(got) + "]end[]");
  EXPECT_FALSE(t.engine.failed());
  EXPECT_TRUE(t.engine.closes());
}

TEST(Http1EndOfBytes, AfterAnEmptyLineIsNoFailure) {
  server_transcript t;
  t.feed(get("", "\r\n"));
  t.feed_end();
  EXPECT_EQ(t.log, std::string(got) + "]end[]");
  EXPECT_TRUE(t.engine.closes());
  EXPECT_EQ(t.engine.next_timeout(), never);
}

TEST(Http1EndOfBytes, LeavesTimeForTheResponse) {
  connection c(role::server, {}, {});
  const std::string request = get("");
  c.feed(as_bytes(request), {});
  EXPECT_EQ(c.next().type, event::kind::headers);
  EXPECT_EQ(c.next().type, event::kind::end);
  c.feed_end({});
  EXPECT_EQ(c.next().type, event::kind::none);
  EXPECT_TRUE(c.busy());
  EXPECT_TRUE(c.closes());
  c.begin_response(200, {});
  c.end_headers();
  EXPECT_EQ(as_text(c.output().pending()),
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
  EXPECT_TRUE(c.exchange_done());
  EXPECT_FALSE(c.busy());
}

TEST(Http1EndOfBytes, WithinARequestIsAFailure) {
  const std::string request = post_chunks("2\r\nhi\r\n0\r\na: b\r\n\r\n");
  const std::size_t line = request.find('\n') + 1;
  for (std::size_t n = 1; n < request.size(); ++n) {
    server_transcript t;
    t.feed(std::string_view(request).substr(0, n));
    t.feed_end();
    EXPECT_TRUE(t.log.ends_with(n < line          ? failed(0, "the connection ended within headers")
                                : t.log[0] == 'f' ? failed(400, "the connection ended within headers")
                                                  : failed(400, "the connection ended within a body")))
        << n << t.log;
  }
}

TEST(Http1EndOfBytes, EndsABodyWithoutALength) {
  client_transcript t;
  t.feed("HTTP/1.1 200 OK\r\n\r\nall of");
  EXPECT_FALSE(t.engine.exchange_done());
  t.feed(" this");
  t.feed_end();
  EXPECT_EQ(t.log, "headers[:status=200]<all of this>end[]");
  EXPECT_TRUE(t.engine.exchange_done());
  EXPECT_TRUE(t.engine.closes());
}

TEST(Http1EndOfBytes, WithinAResponseIsAFailure) {
  for (const std::string& response :
       {std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")})
    for (std::size_t n = 0; n < response.size(); ++n) {
      client_transcript t;
      t.feed(std::string_view(response).substr(0, n));
      EXPECT_EQ(t.engine.response_begun(), n > 0);
      t.feed_end();
      EXPECT_TRUE(t.engine.failed()) << n << t.log;
      EXPECT_EQ(t.engine.response_begun(), n > 0);
    }
}

TEST(Http1EndOfBytes, BetweenResponsesFailsTheNextRequest) {
  client_transcript t;
  t.feed("HTTP/1.1 204 x\r\n\r\n");
  t.feed_end();
  EXPECT_FALSE(t.engine.failed());
  EXPECT_TRUE(t.engine.closes());
  t.request("GET");
  EXPECT_EQ(t.engine.next().type, event::kind::failed);
  EXPECT_FALSE(t.engine.response_begun());
}

// --- responses

TEST(Http1Responses, HasAStatusFirstAndAReasonPhrase) {
  client_transcript t;
  t.feed("HTTP/1.1 404 Not here\r\nA: b\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_EQ(t.log, "headers[:status=404, a=b, content-length=2]<no>end[]");
  EXPECT_EQ(t.engine.reason_phrase(), "Not here");
}

TEST(Http1Responses, MayComeInChunksWithTrailers) {
  EXPECT_EQ(
      receive("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nGrpc-Status: 0\r\n\r\n"),
      "headers[:status=200]<hi>end[grpc-status=0]");
}

TEST(Http1Responses, ToHeadHasNoBody) {
  EXPECT_EQ(receive("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", {}, "HEAD"),
            "headers[:status=200, content-length=5]end[]");
  EXPECT_EQ(receive("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", {}, "HEAD"),
            "headers[:status=200]end[]");
  EXPECT_EQ(receive("HTTP/1.1 200 OK\r\n\r\n", {}, "HEAD"), "headers[:status=200]end[]");
}

TEST(Http1Responses, Of204And304HasNoBody) {
  EXPECT_EQ(receive("HTTP/1.1 204 x\r\n\r\n"), "headers[:status=204]end[]");
  EXPECT_EQ(receive("HTTP/1.1 204 x\r\nContent-Length: 0\r\n\r\n"),
            "headers[:status=204, content-length=0]end[]");
  EXPECT_EQ(receive("HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n"),
            "headers[:status=304, content-length=5]end[]");
  EXPECT_EQ(receive("HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\nhello"),
            failed(0, "a response of 204 with a body"));
  EXPECT_EQ(receive("HTTP/1.1 204 x\r\nTransfer-Encoding: chunked\r\n\r\n"),
            failed(0, "a response of 204 with a body"));
}

TEST(Http1Responses, MayFollowInterimOnes) {
  EXPECT_EQ(receive("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nLink: y\r\n\r\nHTTP/1.1 204 x\r\n\r\n"),
            "interim[:status=100]interim[:status=103, link=y]headers[:status=204]end[]");
}

TEST(Http1Responses, Of101IsRefused) {
  EXPECT_EQ(receive("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
            failed(0, "101 (Switching Protocols) without a request for it"));
}

TEST(Http1Responses, InterimHasNoBody) {
  EXPECT_EQ(receive("HTTP/1.1 100 x\r\nContent-Length: 5\r\n\r\n"),
            failed(0, "an interim response with a body"));
  EXPECT_EQ(receive("HTTP/1.1 100 x\r\nTransfer-Encoding: chunked\r\n\r\n"),
            failed(0, "an interim response with a body"));
}

TEST(Http1Responses, HasTheSameStrictFraming) {
  const auto refused = [](std::string_view lines) {
    return receive("HTTP/1.1 200 OK\r\n" + std::string(lines) + "\r\n");
  };
  EXPECT_EQ(refused("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
            failed(0, "both Content-Length and Transfer-Encoding"));
  EXPECT_EQ(refused("Content-Length: 5\r\nContent-Length: 5\r\n"), failed(0, "Content-Length occurs twice"));
  EXPECT_EQ(refused("Content-Length: +5\r\n"), failed(0, "Content-Length is not a valid number"));
  EXPECT_EQ(refused("Transfer-Encoding: gzip\r\n"), failed(0, "a Transfer-Encoding without chunked"));
  EXPECT_EQ(refused("Transfer-Encoding: gzip, chunked\r\n"),
            failed(0, "a transfer coding that is not supported"));
  EXPECT_EQ(refused("A : b\r\n"), failed(0, "white space within or after a field name"));
  EXPECT_EQ(receive("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            failed(0, "Transfer-Encoding in HTTP/1.0"));
  EXPECT_EQ(receive("HTTP/1.1 200 OK\nContent-Length: 0\n\n"),
            failed(0, "a line that ends with LF without CR"));
  EXPECT_EQ(receive("\r\nHTTP/1.1 200 OK\r\n\r\n"), failed(0, "the first line is not one of HTTP/1.x"));
}

TEST(Http1Responses, WithoutARequestIsAFailure) {
  EXPECT_EQ(receive("HTTP/1.1 204 x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"),
            "headers[:status=204]end[]" + failed(0, "bytes that belong to no request"));
}

TEST(Http1Responses, ThatArrivesBeforeItsRequestIsNotTakenForItsResponse) {
  connection c(role::client, {}, {});
  EXPECT_TRUE(c.begin_request("GET", "/", "h", {}));
  c.end_headers();
  const std::string two = "HTTP/1.1 204 x\r\n\r\nHTTP/1.1 204 y\r\n\r\n";
  c.feed(as_bytes(two), {});
  EXPECT_EQ(c.next().type, event::kind::headers);
  EXPECT_EQ(c.next().type, event::kind::end);
  EXPECT_TRUE(c.begin_request("GET", "/", "h", {}));
  EXPECT_EQ(c.next().type, event::kind::failed);
  EXPECT_TRUE(c.closes());
}

TEST(Http1Responses, ToConnectOpensATunnel) {
  client_transcript t({}, "CONNECT");
  t.feed("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nPRI *");
  EXPECT_EQ(t.log, "headers[:status=200, content-length=5]end[]");
  EXPECT_EQ(t.unread, "PRI *");
  EXPECT_TRUE(t.engine.exchange_done());
  client_transcript refused({}, "CONNECT");
  refused.feed("HTTP/1.1 407 x\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_EQ(refused.log, "headers[:status=407, content-length=2]<no>end[]");
}

TEST(Http1Responses, BeforeTheRequestIsCompleteClosesTheConnection) {
  connection c(role::client, {}, {});
  EXPECT_TRUE(c.begin_request("POST", "/", "h", {framing::kind::chunked}));
  c.end_headers();
  c.feed(as_bytes("HTTP/1.1 413 x\r\nContent-Length: 0\r\n\r\n"), {});
  EXPECT_EQ(c.next().type, event::kind::headers);
  EXPECT_EQ(c.next().type, event::kind::end);
  EXPECT_FALSE(c.exchange_done());
  EXPECT_TRUE(c.closes());
  c.end_body(nullptr);
  EXPECT_TRUE(c.exchange_done());
}

// --- state

TEST(Http1Connection, SaysWhatTheHeadersTellOfTheBody) {
  const auto first = [](const std::string& request) {
    connection c(role::server, {}, {});
    c.feed(as_bytes(request), {});
    EXPECT_EQ(c.next().type, event::kind::headers);
    return std::pair(c.has_body(), c.content_length());
  };
  EXPECT_EQ(first(get("")), std::pair(false, std::optional<std::uint64_t>()));
  EXPECT_EQ(first(post("Content-Length: 0\r\n")), std::pair(false, std::optional<std::uint64_t>(0)));
  EXPECT_EQ(first(post("Content-Length: 7\r\n")), std::pair(true, std::optional<std::uint64_t>(7)));
  EXPECT_EQ(first(post_chunks("")), std::pair(true, std::optional<std::uint64_t>()));
}

TEST(Http1Connection, ReadsNothingAfterAFailure) {
  server_transcript t;
  t.feed(get(": x\r\n") + get(""));
  t.feed(get(""));
  EXPECT_EQ(t.log, failed(400, "a field with an empty name"));
  EXPECT_TRUE(t.engine.failed());
  EXPECT_TRUE(t.engine.closes());
  EXPECT_FALSE(t.engine.busy());
}

TEST(Http1Connection, FailsWithoutAStatusOnceTheResponseHasBegun) {
  connection c(role::server, {}, {});
  const std::string request = post_chunks("x");
  c.feed(as_bytes(request), {});
  EXPECT_EQ(c.next().type, event::kind::headers);
  c.begin_response(200, {framing::kind::chunked});
  c.end_headers();
  const event e = c.next();
  EXPECT_EQ(e.type, event::kind::failed);
  EXPECT_EQ(e.status, 0);
}

TEST(Http1Connection, FreesItsMemoryWhenIdle) {
  server_transcript t;
  const std::size_t fresh = t.engine.memory_bytes();
  t.feed(get("a: " + std::string(3000, 'x') + "\r\n").substr(0, 2000));
  const std::size_t busy = t.engine.memory_bytes();
  EXPECT_GT(busy, fresh + 1900);
  t.engine.release_idle_memory();
  EXPECT_EQ(t.engine.memory_bytes(), busy);
  t.feed(get("a: " + std::string(3000, 'x') + "\r\n").substr(2000));
  EXPECT_EQ(t.log, std::string(got) + ", a=" + std::string(3000, 'x') + "]end[]");
  t.engine.release_idle_memory();
  EXPECT_LT(t.engine.memory_bytes(), fresh + 400);
}

}  // namespace
}  // namespace coracle::http1::connection_test
