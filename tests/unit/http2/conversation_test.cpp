// Complete exchanges between the two roles.
#include "hpack/encoder.hpp"
#include "http2/connection.hpp"
#include "support/http2/engine_pair.hpp"

#include <gtest/gtest.h>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace coracle::http2::conversation_test {
namespace {

using kind = event::kind;

// A unary call as gRPC makes it, with the frames of both sides written out.
class Http2Conversation : public ::testing::Test {
 protected:
  void send_request(stream_ref s, std::string_view body) {
    ASSERT_TRUE(pair.client.begin_headers(s));
    pair.client.add_field(":method", "POST");
    pair.client.add_field(":scheme", "http");
    pair.client.add_field(":path", "/echo.Echo/Say");
    pair.client.add_field(":authority", "localhost");
    pair.client.add_field("te", "trailers");
    pair.client.add_field("content-type", "application/grpc");
    pair.client.end_headers(false);
    std::uint8_t* const to = pair.client.reserve_data(s, body.size());
    ASSERT_NE(to, nullptr);
    std::memcpy(to, body.data(), body.size());
    pair.client.commit_data(s, body.size(), true);
  }
  void answer(stream_ref s, std::string_view body) {
    const auto head =
        hpack::stateless_encoder::encode_block({{":status", "200"}, {"content-type", "application/grpc"}});
    const auto trailers = hpack::stateless_encoder::encode_block({{"grpc-status", "0"}});
    ASSERT_TRUE(pair.server.send_block(s, head, false));
    std::uint8_t* const to = pair.server.reserve_data(s, body.size());
    ASSERT_NE(to, nullptr);
    std::memcpy(to, body.data(), body.size());
    pair.server.commit_data(s, body.size(), false);
    ASSERT_TRUE(pair.server.send_block(s, trailers, true));
  }
  static std::string fields(connection& c) {
    std::string text;
    for (field f; c.next_field(f);) text.append(f.name).append("=").append(f.value).append(";");
    return text;
  }

  test::engine_pair pair;
};

TEST_F(Http2Conversation, AUnaryCallGoesThereAndBack) {
  std::string request, request_body, response, response_body, trailers;
  bool client_done = false;
  pair.on_server = [&](const event& e) {
    if (e.type == kind::headers) {
      request = fields(pair.server);
      EXPECT_TRUE(pair.server.headers_ok());
    } else if (e.type == kind::data) {
      request_body.append(as_text(e.data));
      pair.server.consume(e.stream, e.data.size());
      if (e.end_stream) {
        answer(e.stream, request_body);
        pair.server.release(e.stream);
      }
    } else {
      EXPECT_EQ(e.type, kind::settings);
    }
  };
  pair.on_client = [&](const event& e) {
    if (e.type == kind::headers) {
      (e.trailers ? trailers : response) = fields(pair.client);
      EXPECT_TRUE(pair.client.headers_ok());
      if (e.end_stream) {
        client_done = true;
        pair.client.release(e.stream);
      }
    } else if (e.type == kind::data) {
      response_body.append(as_text(e.data));
      pair.client.consume(e.stream, e.data.size());
    } else {
      EXPECT_EQ(e.type, kind::settings);
    }
  };
  for (int i = 0; i < 3; ++i) {
    request_body.clear();
    response_body.clear();
    client_done = false;
    const stream_ref s = pair.client.open(nullptr);
    ASSERT_NE(s, no_stream);
    send_request(s, "ping");
    pair.run();
    EXPECT_EQ(request,
              ":method=POST;:scheme=http;:path=/echo.Echo/"
              "Say;:authority=localhost;te=trailers;content-type=application/grpc;");
    EXPECT_EQ(response, ":status=200;content-type=application/grpc;");
    EXPECT_EQ(response_body, "ping");
    EXPECT_EQ(trailers, "grpc-status=0;");
    EXPECT_TRUE(client_done);
    EXPECT_EQ(pair.client.open_streams(), 0u);
    EXPECT_EQ(pair.server.open_streams(), 0u);
    // The next call reuses the memory that an idle connection releases.
    const std::size_t busy_bytes = pair.server.memory_bytes();
    pair.client.release_idle_memory();
    pair.server.release_idle_memory();
    EXPECT_LT(pair.server.memory_bytes(), busy_bytes);
  }
}

TEST_F(Http2Conversation, MemoryIsReleasedWhileAStreamIsOpenAndABlockHasComeInPart) {
  std::string request;
  pair.on_server = [&](const event& e) {
    if (e.type == kind::headers) request = fields(pair.server);
  };
  const stream_ref s = pair.client.open(this);
  send_request(s, "ping");
  pair.client.produce();
  const std::string bytes(as_text(pair.client.output().pending()));
  for (const char& c : bytes) {
    pair.server.release_idle_memory();
    pair.server.feed(as_bytes(std::string_view(&c, 1)), pair.now);
    test::engine_pair::drain(pair.server, pair.on_server);
  }
  EXPECT_NE(request, "");
  EXPECT_EQ(pair.server.open_streams(), 1u);
}

// Trailers are shorter than headers: the accounting must not fall below zero.
TEST_F(Http2Conversation, TrailersOfARequestDoNotGrowTheMemoryAccount) {
  const std::size_t idle_bytes = pair.server.memory_bytes();
  stream_ref served = no_stream;
  pair.on_server = [&](const event& e) {
    if (e.type == kind::headers) served = e.stream;
  };
  const stream_ref s = pair.client.open(this);
  ASSERT_TRUE(pair.client.begin_headers(s));
  pair.client.add_field(":method", "POST");
  pair.client.add_field(":scheme", "http");
  pair.client.add_field(":path", "/echo.Echo/Say");
  pair.client.add_field(":authority", "localhost");
  pair.client.add_field("x-long", std::string(1000, 'l'));
  pair.client.end_headers(false);
  pair.run();
  const std::size_t with_head_bytes = pair.server.memory_bytes();
  EXPECT_GT(with_head_bytes, idle_bytes);
  ASSERT_TRUE(pair.client.send_block(s, hpack::stateless_encoder::encode_block({{"x-end", "1"}}), true));
  pair.run();
  EXPECT_LE(pair.server.memory_bytes(), with_head_bytes + 4096);
  pair.server.release(served);
}

}  // namespace
}  // namespace coracle::http2::conversation_test
