// The connections of channels over HTTP/1.1: their pool, its limits, and connections that the server closes.
#include "support/server_by_hand.hpp"

namespace coracle::testing_support::http1_pool_test {
namespace {

using namespace std::chrono_literals;

channel_options over_http1() {
  channel_options options;
  options.protocol = call_protocol::connect;
  options.http_version = http_version::http1;
  return options;
}

class a_pool : public server_fleet {
 protected:
  a_pool() { start("a"); }
  // Makes calls that take 100 ms each, or `each_ms`, all at once. Returns how long they took.
  duration calls_at_once(const channel& c, int n, const call_options& o = {}, int expected_ok = -1,
                         int each_ms = 100) {
    const auto all = [](const channel& by, int calls, const call_options& options, int* ok,
                        int ms) -> task<> {
      scope work(co_await coro::this_environment());
      const auto single = [](const channel& to, call_options with, int* good, int pause) -> task<> {
        *good += co_await ask(to, with, "", pause) == "a";
      };
      for (int i = 0; i < calls; ++i) work.spawn(single(by, options, ok, ms));
      co_await work.join();
    };
    int ok = 0;
    const time_point began = world_.now();
    run(all(c, n, o, &ok, each_ms));
    EXPECT_EQ(ok, expected_ok < 0 ? n : expected_ok);
    return world_.now() - began;
  }
};

TEST_F(a_pool, UsesOneConnectionForCallsInSequence) {
  channel c(client_, address("a"), insecure(), over_http1());
  EXPECT_EQ(calls(c, 5)["a"], 5);
  EXPECT_EQ(service("a").peers.size(), 1u);
}

TEST_F(a_pool, HasAConnectionForEachCallInProgress) {
  channel c(client_, address("a"), insecure(), over_http1());
  EXPECT_LT(calls_at_once(c, 8), 190ms);
  EXPECT_EQ(service("a").peers.size(), 8u);
}

TEST_F(a_pool, LetsCallsWaitAtItsLimit) {
  channel_options options = over_http1();
  options.http1_connections_per_server = 2;
  channel c(client_, address("a"), insecure(), options);
  const duration took = calls_at_once(c, 6);
  EXPECT_GE(took, 300ms);
  EXPECT_LT(took, 400ms);
  EXPECT_EQ(service("a").peers.size(), 2u);
}

TEST_F(a_pool, LetsCallsWaitUntilTheirDeadlines) {
  channel_options options = over_http1();
  options.http1_connections_per_server = 1;
  channel c(client_, address("a"), insecure(), options);
  EXPECT_EQ(call(c), "a");
  EXPECT_LT(calls_at_once(c, 3, within(150ms), 1), 160ms);
}

TEST_F(a_pool, HasThirtyTwoConnectionsByDefault) {
  channel c(client_, address("a"), insecure(), over_http1());
  EXPECT_GE(calls_at_once(c, 40), 200ms);
  EXPECT_EQ(service("a").peers.size(), 32u);
}

TEST_F(a_pool, HasAnUpperLimit) {
  channel_options options = over_http1();
  options.http1_connections_per_server = 1'000'000;
  channel c(client_, address("a"), insecure(), options);
  constexpr std::uint32_t limit = channel_options::http1_connections_limit;
  EXPECT_GE(calls_at_once(c, limit + 5, {}, -1, 60'000), 120s);
  EXPECT_EQ(service("a").peers.size(), limit);
}

TEST_F(a_pool, ClosesIdleConnections) {
  channel_options options = over_http1();
  options.http1_idle_time = 5s;
  channel c(client_, address("a"), insecure(), options);
  EXPECT_EQ(call(c), "a");
  wait(4s);
  EXPECT_EQ(call(c), "a");
  EXPECT_EQ(service("a").peers.size(), 1u);
  wait(6s);
  EXPECT_EQ(call(c), "a");
  EXPECT_EQ(service("a").peers.size(), 2u);
}

// --- connections that the server closes

using script = server_by_hand::script;

std::string reply_of(std::string_view more_headers = {}) {
  std::string text = "HTTP/1.1 200 OK\r\ncontent-type: application/proto\r\ncontent-length: 3\r\n";
  return text.append(more_headers).append("\r\n\x0a\x01z");
}

class a_connection_of_http1 : public a_server_by_hand {};

TEST_F(a_connection_of_http1, ThatTheServerHasClosedIsReplaced) {
  server_by_hand& s = serve({{reply_of()}, {reply_of()}});
  channel c(client_, address("hand"), insecure(), over_http1());
  EXPECT_EQ(call(c), "z");
  wait(1s);
  EXPECT_EQ(call(c), "z");
  EXPECT_EQ(s.connections, 2);
}

// The server may have begun the call (RFC 9110 9.2.2): without a retry policy it is not made twice.
TEST_F(a_connection_of_http1, ThatEndsInPlaceOfAReplyFailsTheCall) {
  server_by_hand& s = serve({{reply_of(), ""}, {reply_of()}});
  channel c(client_, address("hand"), insecure(), over_http1());
  EXPECT_EQ(call(c), "z");
  EXPECT_EQ(call(c), "UNAVAILABLE");
  EXPECT_EQ(s.requests, 2);
  EXPECT_EQ(call(c), "z");
}

// A call of a method without side effects, which may be made twice.
task<std::string> get(const channel& by) {
  echo::Text request;
  const auto path = method_path("/echo.Echo/Say").without_side_effects();
  const auto reply = co_await generic_stub(by).unary<echo::Text>(path, request);
  co_return reply ? reply->text() : std::string(name_of(reply.status().code()));
}

TEST_F(a_connection_of_http1, ThatEndsInPlaceOfAReplyToAGetIsReplacedOnceIfItWasUsedBefore) {
  server_by_hand& s = serve({{reply_of(), ""}, {reply_of()}});
  channel_options options = over_http1();
  options.connect_get = true;
  channel c(client_, address("hand"), insecure(), options);
  EXPECT_EQ(run(get(c)), "z");
  EXPECT_EQ(run(get(c)), "z");
  EXPECT_EQ(s.connections, 2);
  EXPECT_EQ(s.requests, 3);
}

// Cancelled calls close their connections, and say nothing about the server.
TEST_F(a_connection_of_http1, ThatWasClosedByACancelledCallCausesNoPause) {
  server_by_hand& s = serve({{reply_of()}, {reply_of()}, {reply_of()}, {reply_of()}});
  s.pause = 100ms;
  channel c(client_, address("hand"), insecure(), over_http1());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call(c, within(50ms)), "DEADLINE_EXCEEDED");
  const time_point began = world_.now();
  EXPECT_EQ(call(c), "z");
  EXPECT_LT(world_.now() - began, 200ms);
}

TEST_F(a_connection_of_http1, ThatEndsInPlaceOfItsFirstReplyFailsTheCall) {
  server_by_hand& s = serve({{""}, {reply_of()}});
  channel c(client_, address("hand"), insecure(), over_http1());
  EXPECT_EQ(call(c), "UNAVAILABLE");
  EXPECT_EQ(s.requests, 1);
}

TEST_F(a_connection_of_http1, IsReplacedOnlyOnceForACall) {
  server_by_hand& s = serve({{reply_of(), ""}, {reply_of(), ""}, {reply_of()}});
  s.pause = 100ms;  // so that the second call does not use the connection of the first
  channel_options options = over_http1();
  options.connect_get = true;
  channel c(client_, address("hand"), insecure(), options);
  const auto two = [](const channel& by) -> task<> {
    scope work(co_await coro::this_environment());
    const auto single = [](const channel& to) -> task<> { EXPECT_EQ(co_await get(to), "z"); };
    work.spawn(single(by));
    work.spawn(single(by));
    co_await work.join();
  };
  run(two(c));
  ASSERT_EQ(s.connections, 2);
  EXPECT_EQ(run(get(c)), "UNAVAILABLE");
  EXPECT_EQ(s.requests, 4);
}

TEST_F(a_connection_of_http1, ThatEndsWithinAReplyFailsTheCall) {
  server_by_hand& s = serve({{reply_of(), "HTTP/1.1 200 OK\r\ncont"}, {reply_of()}});
  channel c(client_, address("hand"), insecure(), over_http1());
  EXPECT_EQ(call(c), "z");
  EXPECT_EQ(call(c), "UNAVAILABLE");
  EXPECT_EQ(s.requests, 2);
}

TEST_F(a_connection_of_http1, ThatIsClosedAfterEachReplyCausesNoPause) {
  std::vector<script> scripts;
  for (int i = 0; i < 6; ++i) scripts.push_back({reply_of("connection: close\r\n")});
  server_by_hand& s = serve(std::move(scripts));
  channel c(client_, address("hand"), insecure(), over_http1());
  const time_point began = world_.now();
  EXPECT_EQ(calls(c, 6)["z"], 6);
  EXPECT_LT(world_.now() - began, 500ms);
  EXPECT_EQ(s.connections, 6);
}

TEST_F(a_connection_of_http1, IsUsedAgainAfterAResponseWithoutABody) {
  const std::string empty = "HTTP/1.1 200 OK\r\ncontent-type: application/proto\r\ncontent-length: 0\r\n\r\n";
  server_by_hand& s = serve({{empty, empty, reply_of()}});
  channel_options options = over_http1();
  options.http1_connections_per_server = 1;
  channel c(client_, address("hand"), insecure(), options);
  EXPECT_EQ(call(c, within(1s)), "");
  EXPECT_EQ(call(c, within(1s)), "");
  EXPECT_EQ(call(c, within(1s)), "z");
  EXPECT_EQ(s.connections, 1);
}

TEST_F(a_connection_of_http1, ThatHasBytesBeforeItsRequestIsClosed) {
  server_by_hand& s = serve({{reply_of() + reply_of()}, {reply_of()}});
  channel c(client_, address("hand"), insecure(), over_http1());
  EXPECT_EQ(call(c), "z");
  wait(1s);
  EXPECT_EQ(call(c), "z");
  EXPECT_EQ(s.connections, 2);
}

}  // namespace
}  // namespace coracle::testing_support::http1_pool_test
