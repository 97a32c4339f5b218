#include "tools/load/http_response.hpp"

#include "tools/failure.hpp"
#include "tools/load/http_url.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace coracle::tools::load {
namespace {

// Fed in pieces of `step` bytes.
http_response read(std::string_view text, std::size_t step) {
  http_response r;
  for (std::size_t at = 0; at < text.size() && r.broken().empty() && !r.complete(); at += step)
    r.feed(text.substr(at, step));
  return r;
}

// The same in pieces of every size.
template <class Check>
void in_all_pieces(std::string_view text, const Check& check) {
  for (std::size_t step = 1; step <= text.size(); ++step) check(read(text, step));
}

TEST(HttpResponse, WithALength) {
  in_all_pieces("HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello", [](const http_response& r) {
    ASSERT_TRUE(r.complete()) << r.broken();
    EXPECT_EQ(r.code(), 200);
    EXPECT_EQ(r.reason(), "OK");
    EXPECT_EQ(r.body_bytes(), 5u);
    EXPECT_TRUE(r.keeps_alive());
  });
}

TEST(HttpResponse, InChunks) {
  in_all_pieces(
      "HTTP/1.1 500 Oh no\r\ntransfer-encoding: gzip, "
      "chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n",
      [](const http_response& r) {
        ASSERT_TRUE(r.complete()) << r.broken();
        EXPECT_EQ(r.code(), 500);
        EXPECT_EQ(r.reason(), "Oh no");
        EXPECT_EQ(r.body_bytes(), 15u);
        EXPECT_TRUE(r.keeps_alive());
      });
}

TEST(HttpResponse, WithoutABody) {
  for (const char* text : {"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"})
    in_all_pieces(text, [](const http_response& r) {
      ASSERT_TRUE(r.complete()) << r.broken();
      EXPECT_EQ(r.body_bytes(), 0u);
    });
}

TEST(HttpResponse, UntilTheConnectionEnds) {
  in_all_pieces("HTTP/1.0 200 OK\r\n\r\nall of this", [](http_response r) {
    EXPECT_FALSE(r.complete());
    r.end_of_stream();
    ASSERT_TRUE(r.complete()) << r.broken();
    EXPECT_EQ(r.body_bytes(), 11u);
    EXPECT_FALSE(r.keeps_alive());
  });
}

TEST(HttpResponse, AfterAnInterimOne) {
  in_all_pieces("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx",
                [](const http_response& r) {
                  ASSERT_TRUE(r.complete()) << r.broken();
                  EXPECT_EQ(r.code(), 201);
                });
}

TEST(HttpResponse, AfterAtMostSixteenInterimOnes) {
  http_response r;
  for (int i = 0; i < 16; ++i) r.feed("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
  EXPECT_EQ(r.broken(), "");
  http_response one_more = r;
  r.feed("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(r.complete());
  one_more.feed("HTTP/1.1 103 Early Hints\r\n\r\n");
  EXPECT_EQ(one_more.broken(), "more than 16 interim responses (1xx) come before it");
}

TEST(HttpResponse, SaysWhetherItKeepsTheConnection) {
  const auto keeps = [](std::string_view text) { return read(text, text.size()).keeps_alive(); };
  EXPECT_FALSE(keeps("HTTP/1.1 204 x\r\nConnection: Close\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0 204 x\r\n\r\n"));
  EXPECT_TRUE(keeps("HTTP/1.0 204 x\r\nconnection: keep-alive\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1 204 x\r\n\r\nmore than was asked for"));
}

TEST(HttpResponse, BreaksOnWhatIsNone) {
  for (const char* text : {"SSH-2.0-x\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
                           "HTTP/1.1 200 x\r\nContent-Length: ten\r\n\r\n",
                           "HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"})
    in_all_pieces(text, [&](const http_response& r) { EXPECT_NE(r.broken(), "") << text; });
  EXPECT_NE(read(std::string(70'000, 'x'), 4096).broken(), "");
}

TEST(HttpResponse, BreaksWhenItIsCutShort) {
  const std::string text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t size = 0; size < text.size(); ++size) {
    http_response r = read(text.substr(0, size), 7);
    r.end_of_stream();
    EXPECT_NE(r.broken(), "") << size;
    EXPECT_EQ(r.begun(), size > 0);
  }
}

TEST(HttpUrl, HasItsParts) {
  const http_url plain("http://127.0.0.1:5000/movies?x=1#y");
  EXPECT_EQ(plain.host(), "127.0.0.1");
  EXPECT_EQ(plain.port(), 5000);
  EXPECT_EQ(plain.authority(), "127.0.0.1:5000");
  EXPECT_EQ(plain.path(), "/movies?x=1");
  const http_url shortest("http://example.org");
  EXPECT_EQ(shortest.port(), 80);
  EXPECT_EQ(shortest.path(), "/");
  const http_url v6("http://[::1]:81/a");
  EXPECT_EQ(v6.host(), "::1");
  EXPECT_EQ(v6.port(), 81);
}

TEST(HttpUrl, RefusesWhatIsNone) {
  for (const char* text :
       {"", "localhost:5000", "https://x", "http://", "http:///x", "http://a:b", "http://a:0",
        "http://a:65536", "http://a/b c", "http://u:p@h/", "http://a/\r\nX: y"})
    EXPECT_THROW(http_url{text}, usage_failure) << text;
}

}  // namespace
}  // namespace coracle::tools::load
