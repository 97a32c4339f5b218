// Steady conversations do not allocate.
#include "support/allocation_counter.hpp"

#include "hpack/encoder.hpp"
#include "http2/connection.hpp"

#include <gtest/gtest.h>
#include <cstring>
#include <vector>

namespace coracle::http2::connection_allocation_test {
namespace {

using coracle::test::allocation_count;
using kind = event::kind;

// Two engines, connected by swapped buffers in place of sockets.
class steady_pair {
 public:
  steady_pair() : client_(role::client, {}, now_), server_(role::server, {}, now_) { exchange(); }

  // `streams` concurrent unary calls, each with the given number of octets of DATA in each direction.
  void call(int streams, std::size_t bytes, bool through_the_queue) {
    for (int i = 0; i < streams; ++i) {
      const stream_ref s = client_.open(nullptr);
      ASSERT_TRUE(client_.begin_headers(s));
      client_.add_field(":method", "POST");
      client_.add_field(":scheme", "http");
      client_.add_field(":path", "/echo.Echo/Say");
      client_.add_field(":authority", "localhost");
      client_.add_field("te", "trailers");
      client_.add_field("content-type", "application/grpc");
      client_.add_field("grpc-timeout", "1S");
      client_.end_headers(false);
      send(client_, s, bytes, true, through_the_queue);
    }
    exchange();
    ASSERT_EQ(client_.open_streams(), 0u);
    ASSERT_EQ(server_.open_streams(), 0u);
  }
  std::size_t received = 0;

 private:
  static void send(connection& c, stream_ref s, std::size_t n, bool end, bool through_the_queue) {
    if (through_the_queue) {
      std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[n]);
      std::memset(bytes.get(), 'x', n);
      ASSERT_TRUE(c.queue_data(s, std::move(bytes), n, end));
      return;
    }
    std::uint8_t* const to = c.reserve_data(s, n);
    ASSERT_NE(to, nullptr);
    std::memset(to, 'x', n);
    c.commit_data(s, n, end);
  }
  void exchange() {
    do {
      move(client_, server_);
      move(server_, client_);
    } while (!client_.output().empty() || client_.has_queued() || server_.has_queued());
  }
  void move(connection& from, connection& to) {
    from.produce();
    wire_.swap(from.output());
    to.feed(wire_.pending(), now_);
    for (event e = to.next(); e.type != kind::none; e = to.next()) &to == &server_ ? serve(e) : take(e);
    wire_.clear();
  }
  void serve(const event& e) {
    if (e.type == kind::headers)
      for (field f; server_.next_field(f);) continue;
    if (e.type == kind::data) server_.consume(e.stream, e.data.size());
    if (!e.end_stream) return;
    server_.send_block(e.stream, head_, false);
    send(server_, e.stream, 20, false, false);
    server_.send_block(e.stream, trailers_, true);
    server_.release(e.stream);
  }
  void take(const event& e) {
    if (e.type == kind::headers)
      for (field f; client_.next_field(f);) continue;
    if (e.type == kind::data) {
      received += e.data.size();
      client_.consume(e.stream, e.data.size());
    }
    if (e.end_stream) client_.release(e.stream);
  }

  time_point now_{};
  connection client_, server_;
  base::output_buffer wire_;
  std::vector<std::uint8_t> head_ =
      hpack::stateless_encoder::encode_block({{":status", "200"}, {"content-type", "application/grpc"}});
  std::vector<std::uint8_t> trailers_ = hpack::stateless_encoder::encode_block({{"grpc-status", "0"}});
};

TEST(Http2Allocation, AThousandSteadyCallsAllocateNothing) {
  steady_pair pair;
  for (int i = 0; i < 300; ++i) pair.call(1, 20, false);
  const std::size_t before = allocation_count;
  for (int i = 0; i < 1000; ++i) pair.call(1, 20, false);
  EXPECT_EQ(allocation_count - before, 0u);
  EXPECT_EQ(pair.received, 1300u * 20);
}

TEST(Http2Allocation, ManyCallsAtOnceAllocateNothingEither) {
  steady_pair pair;
  for (int i = 0; i < 10; ++i) pair.call(90, 100, false);
  const std::size_t before = allocation_count;
  for (int i = 0; i < 112; ++i) pair.call(90, 100, false);
  EXPECT_EQ(allocation_count - before, 0u);
}

TEST(Http2Allocation, QueuedDataCostsTheUsersBufferOnly) {
  steady_pair pair;
  for (int i = 0; i < 300; ++i) pair.call(2, 50000, true);
  const std::size_t before = allocation_count;
  for (int i = 0; i < 100; ++i) pair.call(2, 50000, true);
  EXPECT_EQ(allocation_count - before, 200u);
}

}  // namespace
}  // namespace coracle::http2::connection_allocation_test
