#include "coracle/http1/impl/response_reader.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace coracle::http1::response_reader_test {
namespace {

// Fed in pieces of `step` bytes.
response_reader read(std::string_view text, std::size_t step) {
  response_reader r;
  for (std::size_t at = 0; at < text.size() && r.broken().empty() && !r.complete(); at += step)
    r.feed(text.substr(at, step));
  return r;
}

// The same in pieces of every size.
template <class Check>
void in_all_pieces(std::string_view text, const Check& check) {
  for (std::size_t step = 1; step <= text.size(); ++step) {
    response_reader r = read(text, step);
    check(r);
  }
}

TEST(Http1Response, WithALength) {
  in_all_pieces("HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello",
                [](const response_reader& r) {
                  ASSERT_TRUE(r.complete()) << r.broken();
                  EXPECT_EQ(r.code(), 200);
                  EXPECT_EQ(r.reason(), "OK");
                  EXPECT_EQ(r.body_bytes(), 5u);
                  EXPECT_TRUE(r.keeps_alive());
                });
}

TEST(Http1Response, InChunks) {
  in_all_pieces(
      "HTTP/1.1 500 Oh no\r\ntransfer-encoding: "
      "Chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n",
      [](const response_reader& r) {
        ASSERT_TRUE(r.complete()) << r.broken();
        EXPECT_EQ(r.code(), 500);
        EXPECT_EQ(r.reason(), "Oh no");
        EXPECT_EQ(r.body_bytes(), 15u);
        EXPECT_TRUE(r.keeps_alive());
      });
}

TEST(Http1Response, WithoutABody) {
  for (const char* text : {"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"})
    in_all_pieces(text, [](const response_reader& r) {
      ASSERT_TRUE(r.complete()) << r.broken();
      EXPECT_EQ(r.body_bytes(), 0u);
    });
}

TEST(Http1Response, UntilTheConnectionEnds) {
  in_all_pieces("HTTP/1.0 200 OK\r\n\r\nall of this", [](response_reader& r) {
    EXPECT_FALSE(r.complete());
    r.end_of_stream();
    ASSERT_TRUE(r.complete()) << r.broken();
    EXPECT_EQ(r.body_bytes(), 11u);
    EXPECT_FALSE(r.keeps_alive());
  });
}

TEST(Http1Response, AfterAnInterimOne) {
  in_all_pieces("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx",
                [](const response_reader& r) {
                  ASSERT_TRUE(r.complete()) << r.broken();
                  EXPECT_EQ(r.code(), 201);
                });
}

TEST(Http1Response, AfterAtMostSixteenInterimOnes) {
  const auto after_sixteen = [] {
    response_reader r;
    for (int i = 0; i < 16; ++i) r.feed("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
    EXPECT_EQ(r.broken(), "");
    return r;
  };
  response_reader r = after_sixteen();
  r.feed("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(r.complete());
  response_reader one_more = after_sixteen();
  one_more.feed("HTTP/1.1 103 Early Hints\r\n\r\n");
  EXPECT_EQ(one_more.broken(), "too many interim responses (1xx)");
}

TEST(Http1Response, SaysWhetherItKeepsTheConnection) {
  const auto keeps = [](std::string_view text) { return read(text, text.size()).keeps_alive(); };
  EXPECT_FALSE(keeps("HTTP/1.1 204 x\r\nConnection: Close\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.0 204 x\r\n\r\n"));
  EXPECT_TRUE(keeps("HTTP/1.0 204 x\r\nconnection: keep-alive\r\n\r\n"));
  EXPECT_FALSE(keeps("HTTP/1.1 204 x\r\n\r\nmore than was asked for"));
}

TEST(Http1Response, BreaksOnWhatIsNone) {
  for (const char* text : {"SSH-2.0-x\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
                           "HTTP/1.1 200 x\r\nContent-Length: ten\r\n\r\n",
                           "HTTP/1.1 200 x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"})
    in_all_pieces(text, [&](const response_reader& r) { EXPECT_NE(r.broken(), "") << text; });
  EXPECT_NE(read(std::string(70'000, 'x'), 4096).broken(), "");
}

TEST(Http1Response, BreaksWhenItIsCutShort) {
  const std::string text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  for (std::size_t size = 0; size < text.size(); ++size) {
    response_reader r = read(text.substr(0, size), 7);
    r.end_of_stream();
    EXPECT_NE(r.broken(), "") << size;
    EXPECT_EQ(r.begun(), size > 0);
  }
}

}  // namespace
}  // namespace coracle::http1::response_reader_test
