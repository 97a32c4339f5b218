#include "http1/response_head.hpp"

#include <gtest/gtest.h>

namespace coracle::http1 {
namespace {

TEST(Http1ResponseHead, HasAStatusLine) {
  const auto line = read_response_line("HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->code, 200);
  EXPECT_EQ(line->reason, "Connection established");
  EXPECT_FALSE(line->is_1_0);
  EXPECT_TRUE(read_response_line("HTTP/1.0 407 ")->is_1_0);
  EXPECT_EQ(read_response_line("HTTP/1.1 999")->reason, "");
}

TEST(Http1ResponseHead, HasNoStatusLineOfAnotherProtocolOrOfAnotherForm) {
  for (const char* text :
       {"", "SSH-2.0-OpenSSH\r\n", "HTTP/2 200\r\n", "HTTP/1.1 2\r\n", "HTTP/1.1 abc x", "HTTP/1.1 -12 x",
        "HTTP/1.1  20 x", "HTTP/1.1 099 x", "HTTP/1.1x200 OK", "HTTP/1.1\t200 OK"})
    EXPECT_FALSE(read_response_line(text)) << text;
}

TEST(Http1ResponseHead, EndsWithAnEmptyLineWhichIsNeverReadPast) {
  EXPECT_EQ(missing_bytes(""), 4u);
  EXPECT_EQ(missing_bytes("HTTP/1.1 200 OK"), 4u);
  EXPECT_EQ(missing_bytes("HTTP/1.1 200 OK\r"), 3u);
  EXPECT_EQ(missing_bytes("HTTP/1.1 200 OK\r\n"), 2u);
  EXPECT_EQ(missing_bytes("HTTP/1.1 200 OK\r\n\r"), 1u);
  EXPECT_EQ(missing_bytes("HTTP/1.1 200 OK\r\n\r\n"), 0u);
  EXPECT_EQ(missing_bytes("HTTP/1.1 200 OK\r\n\rx"), 4u);
  EXPECT_EQ(missing_bytes("HTTP/1.1 200 OK\r\n\r\r"), 3u);
}

}  // namespace
}  // namespace coracle::http1
