// What a request's head says, when its fields come as text and when they come as entries that were seen before.
#include "server/request_reader.hpp"

#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace coracle::serving {
namespace {

using namespace http2::test;
using namespace http2::test::frames;
using http2::event;

struct read_head {
  calls::request_head head;
  metadata received;
};

std::vector<read_head> read(const std::vector<std::string>& blocks) {
  router routes;
  std::vector<read_head> all;
  session s(http2::role::server, {}, [&](session& at, const event& e) {
    if (e.what != event::kind::headers) return;
    transport::header_source fields(at.engine);
    read_head& one = all.emplace_back();
    EXPECT_TRUE(read_request(fields, routes, one.head, one.received));
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

TEST(RequestReader, WhatAStaticFieldMeansIsNotLeftAtTheFieldBeforeIt) {
  const std::string authority = "\x41\x01h";  // entered
  const std::string other = "\x04\x06/other";
  const auto heads = read({get + (http + authority) + root, get + std::string(http) + "\xbe" + other});
  EXPECT_TRUE(heads[0].head.root_path);
  EXPECT_FALSE(heads[1].head.root_path);
}

TEST(RequestReader, ATimeoutThatComesAgainAsAnEntryIsReadAgain) {
  const std::string start = get + (http + std::string(root));
  const std::string timeout =
      "\x40\x0cgrpc-timeout\x03"
      "50m";
  const auto heads =
      read({start + timeout + encodings, start + "\xbe" + encodings, start + "\xbe" + encodings});
  for (const read_head& one : heads) {
    EXPECT_EQ(one.head.timeout, std::chrono::milliseconds(50));
    EXPECT_EQ(one.received.find("accept-encoding"), "gzip, deflate");
    EXPECT_FALSE(one.received.find("grpc-timeout"));
  }
}

TEST(RequestReader, ABinaryValueThatComesAgainAsAnEntryIsDecodedAgain) {
  const std::string start = get + (http + std::string(root));
  const std::string binary = "\x40\x05x-bin\x04QUJD";
  const auto heads = read({start + binary + encodings, start + "\xbe" + encodings});
  for (const read_head& one : heads) EXPECT_EQ(one.received.find("x-bin"), "ABC");
}

}  // namespace
}  // namespace coracle::serving
