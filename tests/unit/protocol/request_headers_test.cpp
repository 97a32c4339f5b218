// The meaning of request headers, with fields as text and as entries that were seen before.
#include "server/router.hpp"
#include "transport/exchange_handler.hpp"

#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace coracle::protocol::grpc::request_headers_test {
namespace {

using namespace http2::test;
using namespace http2::test::frames;
using http2::event;

struct read_request {
  request_headers headers;
  metadata received;
  std::string authority;
};

std::vector<read_request> read(const std::vector<std::string>& blocks) {
  server_internal::router routes;
  std::unique_ptr<std::string> authority;  // of the connection
  std::vector<read_request> all;
  session s(http2::role::server, {}, [&](session& at, const event& e) {
    if (e.type != event::kind::headers) return;
    transport::header_source fields(at.engine);
    read_request& one = all.emplace_back();
    request_reader reader(routes, one.headers, one.received, &authority);
    EXPECT_TRUE(reader.read(fields));
    one.authority = one.headers.authority();
  });
  s.pulls_fields = false;
  s.feed(from_client());
  http2::stream_id id = 1;
  for (const std::string& block : blocks) {
    s.feed(headers(id, block, end_both));
    id += 2;
  }
  EXPECT_EQ(all.size(), blocks.size());
  return all;
}

// Fields of the static table: ":method: GET", ":scheme: http", ":path: /", "accept-encoding: gzip, deflate".
constexpr const char *get = "\x82", *http = "\x86", *root = "\x84", *encodings = "\x90";

TEST(RequestHeaders, WhatAStaticFieldMeansIsNotLeftAtTheFieldBeforeIt) {
  const std::string authority = "\x41\x01h";  // entered
  const std::string other = "\x04\x06/other";
  const auto requests = read({get + (http + authority) + root, get + std::string(http) + "\xbe" + other});
  EXPECT_TRUE(requests[0].headers.root_path);
  EXPECT_FALSE(requests[1].headers.root_path);
}

// RFC 9113 8.3.1.
TEST(RequestHeaders, HostIsTheAuthorityOfARequestWithoutOne) {
  const std::string start = get + (http + std::string(root));
  const std::string a = "\x41\x01"
                        "a",
                    b = "\x41\x01"
                        "b",
                    host =
                        "\x66\x01"
                        "h";  // entered
  const auto requests = read({start + host, start + "\xbe", start + a + "\xbf", start + "\xbf", start + b});
  const char* const expected[] = {"h", "h", "a", "h", "b"};
  for (std::size_t i = 0; i != requests.size(); ++i) {
    EXPECT_EQ(requests[i].authority, expected[i]) << i;
    EXPECT_FALSE(requests[i].received.find("host")) << "metadata of " << i;
  }
}

TEST(RequestHeaders, ATimeoutThatComesAgainAsAnEntryIsReadAgain) {
  const std::string start = get + (http + std::string(root));
  const std::string timeout =
      "\x40\x0cgrpc-timeout\x03"
      "50m";
  const auto requests =
      read({start + timeout + encodings, start + "\xbe" + encodings, start + "\xbe" + encodings});
  for (const read_request& one : requests) {
    EXPECT_EQ(one.headers.timeout, std::chrono::milliseconds(50));
    EXPECT_EQ(one.received.find("accept-encoding"), "gzip, deflate");
    EXPECT_FALSE(one.received.find("grpc-timeout"));
  }
}

TEST(RequestHeaders, ABinaryValueThatComesAgainAsAnEntryIsDecodedAgain) {
  const std::string start = get + (http + std::string(root));
  const std::string binary = "\x40\x05x-bin\x04QUJD";
  const auto requests = read({start + binary + encodings, start + "\xbe" + encodings});
  for (const read_request& one : requests) EXPECT_EQ(one.received.find("x-bin"), "ABC");
}

}  // namespace
}  // namespace coracle::protocol::grpc::request_headers_test
