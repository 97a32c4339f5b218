#include "http1/start_line.hpp"

#include "unit/http1/messages.hpp"

#include <gtest/gtest.h>
#include <string>

namespace coracle::http1::start_line_test {
namespace {

refusal read(std::string_view line) {
  request_line into;
  return read_request_line(line, into);
}
refusal read_status(std::string_view line) {
  status_line into;
  return read_status_line(line, into);
}
bool is_authority(std::string_view text) {
  authority into;
  return read_authority(text, into);
}

TEST(Http1RequestLine, HasAMethodATargetAndAVersion) {
  request_line line;
  ASSERT_FALSE(read_request_line("POST /a.B/C?x=%20&y HTTP/1.1", line));
  EXPECT_EQ(line.method, "POST");
  EXPECT_EQ(line.path, "/a.B/C?x=%20&y");
  EXPECT_EQ(line.scheme, "");
  EXPECT_FALSE(line.is_1_0);
  ASSERT_FALSE(read_request_line("x!y / HTTP/1.0", line));
  EXPECT_EQ(line.method, "x!y");
  EXPECT_TRUE(line.is_1_0);
}

TEST(Http1RequestLine, HasExactlyOneSpaceOnEachSideOfTheTarget) {
  for (const char* line :
       {"GET  / HTTP/1.1", "GET /  HTTP/1.1", " GET / HTTP/1.1", "GET / HTTP/1.1 ", "GET\t/ HTTP/1.1",
        "GET /\tHTTP/1.1", "GET /a b HTTP/1.1", "GET HTTP/1.1", "GET  HTTP/1.1", "HTTP/1.1", " HTTP/1.1"})
    EXPECT_EQ(read(line).status, 400) << line;
}

TEST(Http1RequestLine, OfAnotherVersionIsRefusedWith505) {
  for (const char* line :
       {"GET / HTTP/2.0", "PRI * HTTP/2.0", "GET / HTTP/1.2", "GET / HTTP/0.9", "GET / HTTP/9.9"})
    EXPECT_EQ(read(line).status, 505) << line;
}

TEST(Http1RequestLine, WithAMalformedVersionIsABadRequest) {
  for (const char* line :
       {"GET / HTTP/1", "GET / HTTP/11", "GET / HTTP/1.11", "GET / HTTP/1,1", "GET / http/1.1", "GET / HTTP/",
        "GET / HTTP/1.x", "GET / XHTTP/1.1", "GET / HTTP/1.1\r", "GET / HTTP/ 1.1"})
    EXPECT_EQ(read(line).status, 400) << line;
}

TEST(Http1RequestLine, WithoutAVersionIsAnotherProtocolAndGetsNoResponse) {
  for (const char* line : {"INVALID CONNECTION PREFACE", "GET /", "GET", "SSH-2.0-x", "", "GET / FTP/1.1"}) {
    const refusal r = read(line);
    EXPECT_TRUE(r) << line;
    EXPECT_EQ(r.status, 0) << line;
  }
}

TEST(Http1RequestLine, HasAMethodThatIsAToken) {
  for (const char* line :
       {"G(T / HTTP/1.1", "G\"T / HTTP/1.1", "GET: / HTTP/1.1", "G\x01T / HTTP/1.1", "G\x80T / HTTP/1.1"})
    EXPECT_EQ(read(line).status, 400) << line;
  EXPECT_FALSE(read("get / HTTP/1.1"));
}

TEST(Http1RequestLine, OfConnectIsNotImplemented) {
  EXPECT_EQ(read("CONNECT host:443 HTTP/1.1").status, 501);
  EXPECT_EQ(read("CONNECT / HTTP/1.1").status, 501);
}

TEST(Http1RequestLine, HasATargetOfOriginOrAbsoluteForm) {
  for (const char* line :
       {"GET a HTTP/1.1", "GET host:80 HTTP/1.1", "GET ftp://h/ HTTP/1.1", "GET http:/h HTTP/1.1",
        "GET http:h HTTP/1.1", "GET https//h HTTP/1.1", "GET ?x HTTP/1.1", "GET urn:x HTTP/1.1"})
    EXPECT_EQ(read(line).status, 400) << line;
}

TEST(Http1RequestLine, HasATargetOfPrintableCharactersWithoutAFragment) {
  for (const std::string target : {"/a#b", "/\x01", "/\x7f", "/\xc3\xa4", "/a\rb"})
    EXPECT_EQ(read("GET " + target + " HTTP/1.1").status, 400) << target;
  EXPECT_EQ(read(std::string_view("GET /\0 HTTP/1.1", 15)).status, 400);
}

TEST(Http1RequestLine, HasAnAsteriskForOptionsOnly) {
  request_line line;
  ASSERT_FALSE(read_request_line("OPTIONS * HTTP/1.1", line));
  EXPECT_EQ(line.path, "*");
  EXPECT_EQ(read("GET * HTTP/1.1").status, 400);
  EXPECT_EQ(read("OPTIONS *x HTTP/1.1").status, 400);
}

TEST(Http1RequestLine, OfAbsoluteFormIsTakenApart) {
  request_line line;
  ASSERT_FALSE(read_request_line("GET HTTP://Host:81/p?q HTTP/1.1", line));
  EXPECT_EQ(line.scheme, "http");
  EXPECT_EQ(line.authority, "Host:81");
  EXPECT_EQ(line.path, "/p?q");
  ASSERT_FALSE(read_request_line("GET https://[::1]?q HTTP/1.1", line));
  EXPECT_EQ(line.scheme, "https");
  EXPECT_EQ(line.authority, "[::1]");
  EXPECT_TRUE(line.add_slash);
  ASSERT_FALSE(read_request_line("GET http://h HTTP/1.1", line));
  EXPECT_EQ(line.path, "/");
  ASSERT_FALSE(read_request_line("OPTIONS http://h HTTP/1.1", line));
  EXPECT_EQ(line.path, "*");
}

TEST(Http1RequestLine, OfAbsoluteFormHasAValidHostWithoutUserInformation) {
  for (const char* target : {"http://", "http:///x", "http://:80/", "http://u@h/", "http://u:p@h/",
                             "http://h:x/", "http://h:65536/", "http://[::1/", "http://h\\x/", "http://[h]/"})
    EXPECT_EQ(read("GET " + std::string(target) + " HTTP/1.1").status, 400) << target;
}

TEST(Http1Authority, IsAHostWithAnOptionalPort) {
  for (const char* text : {"", "h", "a.b-c_d~e", "127.0.0.1:80", "h:", "[::1]", "[::ffff:1.2.3.4]:443", "%41",
                           "a,b;c=d!$&'()*+"})
    EXPECT_TRUE(is_authority(text)) << text;
  for (const char* text : {"h:80:80", "h:+8", "h:65536", ":80", "h/x", "h?x", "h#x", "u@h", "h x", "[]",
                           "[::1", "[::1]x", "[g::]", "%4", "%zz", "h\\", "\xc3\xa4", "h:-1", "<h>"})
    EXPECT_FALSE(is_authority(text)) << text;
}

TEST(Http1Authority, IgnoresCaseAndTheDefaultPort) {
  const auto same = [](std::string_view a, std::string_view b, std::string_view scheme) {
    authority x, y;
    EXPECT_TRUE(read_authority(a, x) && read_authority(b, y));
    return same_authority(x, y, scheme);
  };
  EXPECT_TRUE(same("Host", "hOST:80", "http"));
  EXPECT_TRUE(same("h:", "h:443", "https"));
  EXPECT_TRUE(same("h:0080", "h", "http"));
  EXPECT_FALSE(same("h", "h:80", "https"));
  EXPECT_FALSE(same("h:81", "h:82", "http"));
  EXPECT_FALSE(same("h", "hh", "http"));
}

TEST(Http1StatusLine, HasAVersionAStatusAndAnOptionalReason) {
  status_line line;
  ASSERT_FALSE(read_status_line("HTTP/1.1 200 Connection established", line));
  EXPECT_EQ(line.code, 200);
  EXPECT_EQ(line.code_text, "200");
  EXPECT_EQ(line.reason, "Connection established");
  EXPECT_FALSE(line.is_1_0);
  ASSERT_FALSE(read_status_line("HTTP/1.0 407 ", line));
  EXPECT_TRUE(line.is_1_0);
  EXPECT_EQ(line.reason, "");
  ASSERT_FALSE(read_status_line("HTTP/1.1 999", line));
  EXPECT_EQ(line.reason, "");
}

TEST(Http1StatusLine, OfAnotherProtocolOrOfAnotherFormIsRefused) {
  for (const char* text :
       {"", "SSH-2.0-OpenSSH", "HTTP/2 200", "HTTP/2.0 200 OK", "HTTP/1.1 2", "HTTP/1.1 abc x",
        "HTTP/1.1 -12 x", "HTTP/1.1  20 x", "HTTP/1.1 099 x", "HTTP/1.1x200 OK", "HTTP/1.1\t200 OK",
        "HTTP/1.1 2000 OK", "http/1.1 200 OK", "HTTP/1.1 200 \x01"})
    EXPECT_TRUE(read_status(text)) << text;
}

}  // namespace
}  // namespace coracle::http1::start_line_test
