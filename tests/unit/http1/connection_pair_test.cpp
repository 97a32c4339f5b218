// Both roles against each other: what one writes the other reads.
#include "support/allocation_counter.hpp"
#include "unit/http1/messages.hpp"

#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace coracle::http1::connection_pair_test {
namespace {

using coracle::test::allocation_count;
using testing::send;

// A client and a server that echoes the body of a request, connected by swapped buffers in place of sockets.
class pair {
 public:
  // Makes one exchange with bodies of this framing. `piece`: how many bytes arrive at once.
  void exchange(framing f, std::string_view body, std::size_t piece = ~std::size_t{0}) {
    framing_ = f;
    if (f.type == framing::kind::counted) f.length_bytes = body.size();
    ASSERT_TRUE(client_.begin_request("POST", "/echo.Echo/Say", "localhost:80", f));
    client_.add_field("content-type", "application/proto");
    client_.add_field("connect-protocol-version", "1");
    client_.end_headers();
    send(client_, body);
    client_.end_body(f.type == framing::kind::chunked ? &trailers_ : nullptr);
    while (!client_.exchange_done() && !client_.failed()) {
      move(client_, server_, piece);
      move(server_, client_, piece);
    }
    ASSERT_TRUE(client_.exchange_done());
    ASSERT_TRUE(server_.exchange_done());
    ASSERT_FALSE(server_.closes());
    ASSERT_FALSE(client_.closes());
  }
  void set_trailer(std::string_view name, std::string_view value) { trailers_.add(name, value); }
  std::size_t received = 0;
  std::size_t trailers_received = 0;
  connection& server() { return server_; }

 private:
  void move(connection& from, connection& to, std::size_t piece) {
    wire_.swap(from.output());
    for (bytes_view rest = wire_.pending(); !rest.empty();) {
      const bytes_view now = rest.first(std::min(piece, rest.size()));
      rest = rest.subspan(now.size());
      to.feed(now, {});
      for (event e; (e = to.next()).type != event::kind::none;) &to == &server_ ? serve(e) : take(e);
    }
    wire_.clear();
  }
  void serve(const event& e) {
    ASSERT_NE(e.type, event::kind::failed) << e.reason;
    if (e.type == event::kind::headers) held_.clear();
    if (e.type == event::kind::data) held_.append(as_text(e.data));
    if (e.type != event::kind::end) return;
    framing f = framing_;
    if (f.type == framing::kind::counted) f.length_bytes = held_.size();
    server_.begin_response(200, f);
    server_.add_field("content-type", "application/proto");
    server_.end_headers();
    send(server_, held_);
    server_.end_body(&server_.trailers());
  }
  void take(const event& e) {
    ASSERT_NE(e.type, event::kind::failed) << e.reason;
    received += e.data.size();
    if (e.type == event::kind::end) trailers_received += client_.trailers().size();
  }

  connection client_{role::client, {}, {}};
  connection server_{role::server, {}, {}};
  base::output_buffer wire_;
  framing framing_;
  std::string held_;
  http::header_list trailers_;
};

TEST(Http1Pair, ExchangesCountedBodies) {
  pair p;
  for (std::size_t n : {0, 1, 5, 4096, 100'000}) {
    p.received = 0;
    p.exchange({framing::kind::counted}, std::string(n, 'x'));
    EXPECT_EQ(p.received, n);
  }
}

TEST(Http1Pair, ExchangesChunkedBodiesAndTrailers) {
  pair p;
  p.set_trailer("grpc-status", "0");
  for (std::size_t n : {0, 1, 15, 16, 17, 100'000})
    for (std::size_t piece : {1, 7, 100'000'000}) {
      p.received = p.trailers_received = 0;
      p.exchange({framing::kind::chunked}, std::string(n, 'x'), piece);
      EXPECT_EQ(p.received, n);
      EXPECT_EQ(p.trailers_received, 1u);
    }
}

TEST(Http1Pair, ExchangesMessagesWithoutABody) {
  pair p;
  for (int i = 0; i < 3; ++i) p.exchange({}, "");
  EXPECT_EQ(p.received, 0u);
}

TEST(Http1Allocation, AThousandSteadyExchangesAllocateNothing) {
  pair p;
  p.set_trailer("grpc-status", "0");
  const std::string body(100, 'x');
  const auto all_kinds = [&] {
    p.exchange({framing::kind::counted}, body);
    p.exchange({framing::kind::counted}, std::string_view(body).substr(1));  // other headers
    p.exchange({framing::kind::chunked}, body);
    p.exchange({}, "");
    p.exchange({framing::kind::counted}, body, 50);
  };
  for (int i = 0; i < 10; ++i) all_kinds();
  const std::size_t before = allocation_count;
  for (int i = 0; i < 200; ++i) all_kinds();
  EXPECT_EQ(allocation_count - before, 0u);
}

}  // namespace
}  // namespace coracle::http1::connection_pair_test
