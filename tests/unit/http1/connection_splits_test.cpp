// Every division of the bytes gives the same events and the same failure.
#include "unit/http1/messages.hpp"

#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace coracle::http1::connection_splits_test {
namespace {

using testing::client_transcript;
using testing::get;
using testing::post;
using testing::post_chunks;
using testing::server_transcript;

limits small_limits() {
  limits l;
  l.line_bytes = 60;
  l.header_bytes = 120;
  l.header_fields = 5;
  l.chunk_line_bytes = 20;
  l.chunk_extension_bytes = 30;
  l.trailer_bytes = 40;
  l.body_bytes = 100;
  l.interim_responses = 2;
  l.remembered_head_bytes = 80;
  return l;
}

const std::vector<std::string>& requests() {
  static const std::vector<std::string> all{
      get(""),
      "\r\n\r\n" + get("A: b\r\n"),
      get("A: b\r\n") + get("A: b\r\n") + get("A: c\r\n") + get("A: b\r\n"),
      post("Content-Length: 11\r\n", "hello\r\nworld") + get("Connection: close\r\n") + get(""),
      post_chunks("5\r\nhello\r\nA;x=\"y\\\"\" ;z\r\n0123456789\r\n0;q\r\nT: v\r\nU: w\r\n\r\n") + get(""),
      post_chunks("5\r\nhello\r\n0\r\n\r\n") + post_chunks("5\r\nworld\r\n0\r\n\r\n"),
      "GET http://h:80/p?q HTTP/1.1\r\nhost: H\r\nConnection: x\r\nX: 1\r\nY: 2\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost:\r\n\r\n",
      "GET / HTTP/1.0\r\n\r\n",
      post("Expect: 100-continue\r\nContent-Length: 2\r\n", "hi"),
      // The limits.
      "GET /" + std::string(80, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n",
      get("A: " + std::string(120, 'x') + "\r\n"),
      get("A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\nE: 5\r\n"),
      get("X: " + std::string(70, 'y') + "\r\n") + get("X: " + std::string(70, 'y') + "\r\n"),
      post_chunks("1;" + std::string(20, 'x') + "\r\n"),
      post_chunks("1;aaaaaaaaaaaaaa\r\nx\r\n1;aaaaaaaaaaaaaa\r\nx\r\n1;aaa\r\nx\r\n0\r\n\r\n"),
      post_chunks("0\r\nA: " + std::string(50, 'x') + "\r\n\r\n"),
      post_chunks("40\r\n" + std::string(64, 'x') + "\r\n40\r\nxxx"),
      post("Content-Length: 101\r\n"),
      // What is refused.
      "INVALID CONNECTION PREFACE\r\n\r\n",
      "\x16\x03\x01\x02",
      "GET / HTTP/1.1\nHost: h\r\n\r\n",
      "\r\n\r\n\r\n" + get(""),
      "\n",
      get("A: b\rc\r\n"),
      get("A : b\r\n"),
      get(": b\r\n"),
      get(" a: b\r\n"),
      get("Content-Length: 5\r\nContent-Length: 5\r\n"),
      post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
      post("Transfer-Encoding: gzip, chunked\r\n"),
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/2.0\r\n\r\n",
      "CONNECT h:1 HTTP/1.1\r\n\r\n",
      "GET  / HTTP/1.1\r\n\r\n",
      get("Expect: x\r\n"),
      post_chunks("5\r\nhello0\r\n\r\n"),
      post_chunks("5 \r\nhello\r\n"),
      post_chunks("0\r\nHost: x\r\n\r\n"),
      post_chunks("5\r\nhello\r\n0\r\n\n"),
      get("", "garbage\r\n"),
      get("") + "GET / HTTP/1.1\r\nHost: g\n\r\n",
  };
  return all;
}

const std::vector<std::string>& responses() {
  static const std::vector<std::string> all{
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 204\r\n\r\n",
      "HTTP/1.0 200 OK\r\n\r\nuntil the end",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nGrpc-Status: 0\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\nLink: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
      "0\r\n\r\n",
      "HTTP/1.1 100 a\r\n\r\nHTTP/1.1 100 a\r\n\r\nHTTP/1.1 100 a\r\n\r\n",
      "HTTP/1.1 101 x\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more",
      "HTTP/1.1 200 OK\r\n\r\n" + std::string(110, 'x'),
      "SSH-2.0-OpenSSH_9\r\n",
      "\r\nHTTP/1.1 200 OK\r\n\r\n",
      "HTTP/1.1 200 OK\nA: b\n\n",
      "HTTP/1.1 2000 OK\r\n\r\n",
      "HTTP/1.1 204 x\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx",
  };
  return all;
}

// The transcript of the bytes in pieces that end at `cuts`, then the end of the connection.
template <class Transcript>
std::string divided(std::string_view bytes, const std::vector<std::size_t>& cuts, bool ends) {
  Transcript t(small_limits());
  std::size_t from = 0;
  for (const std::size_t to : cuts) {
    t.feed(bytes.substr(from, to - from));
    from = to;
  }
  t.feed(bytes.substr(from));
  if (ends) t.feed_end();
  return t.log;
}

template <class Transcript>
void check_every_division(const std::vector<std::string>& corpus) {
  std::mt19937 dice(17);
  for (const std::string& bytes : corpus)
    for (const bool ends : {false, true}) {
      const std::string whole = divided<Transcript>(bytes, {}, ends);
      for (std::size_t a = 0; a <= bytes.size(); ++a) {
        EXPECT_EQ(divided<Transcript>(bytes, {a}, ends), whole) << bytes << "\ncut at " << a;
        for (std::size_t b = a; b <= bytes.size() && b <= a + 4; ++b)
          EXPECT_EQ(divided<Transcript>(bytes, {a, b}, ends), whole)
              << bytes << "\ncut at " << a << " and " << b;
      }
      for (int i = 0; i < 50; ++i) {
        std::vector<std::size_t> cuts;
        for (std::size_t at = 0; at < bytes.size(); at += 1 + dice() % 9) cuts.push_back(at);
        EXPECT_EQ(divided<Transcript>(bytes, cuts, ends), whole) << bytes;
      }
      if (::testing::Test::HasFailure()) return;
    }
}

TEST(Http1Splits, OfRequestsChangeNothing) { check_every_division<server_transcript>(requests()); }

TEST(Http1Splits, OfResponsesChangeNothing) { check_every_division<client_transcript>(responses()); }

// A prefix never says more than the whole: what an engine has reported stays true.
TEST(Http1Splits, APrefixHasAPrefixOfTheTranscript) {
  for (const std::string& bytes : requests()) {
    std::string whole = divided<server_transcript>(bytes, {}, false);
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      std::string part = divided<server_transcript>(std::string_view(bytes).substr(0, n), {}, false);
      if (part.ends_with('>')) part.pop_back();  // of data that goes on
      EXPECT_TRUE(whole.starts_with(part)) << bytes << n << part;
    }
  }
}

}  // namespace
}  // namespace coracle::http1::connection_splits_test
