// What a connection writes, in both roles, and when it must be closed.
#include "http1/connection.hpp"

#include "unit/http1/messages.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace coracle::http1::connection_send_test {
namespace {

using testing::client_transcript;
using testing::get;
using testing::post;
using testing::post_chunks;
using testing::send;

constexpr framing counted(std::uint64_t n) { return {framing::kind::counted, n}; }
constexpr framing chunked{framing::kind::chunked};
constexpr framing until_close{framing::kind::until_close};

std::string output(connection& c) {
  std::string text(as_text(c.output().pending()));
  c.output().clear();
  return text;
}

// A server that has read `request`, up to the end of what is in it.
std::unique_ptr<connection> asked(const std::string& request, const limits& l = {}) {
  auto c = std::make_unique<connection>(role::server, l, time_point());
  c->feed(as_bytes(request), {});
  EXPECT_EQ(c->next().type, event::kind::headers);
  while (c->next().type != event::kind::none) continue;
  return c;
}
std::string respond(connection& c, int status, framing f, std::string_view body = {}) {
  c.begin_response(status, f);
  c.end_headers();
  send(c, body);
  c.end_body(nullptr);
  return output(c);
}
void read_all(connection& c, std::string_view bytes) {
  c.feed(as_bytes(bytes), {});
  while (c.next().type != event::kind::none) continue;
}

// --- responses

TEST(Http1ResponseWriter, CountsABody) {
  const auto c = asked(get(""));
  c->begin_response(200, counted(5));
  EXPECT_TRUE(c->add_field("content-type", "text/plain"));
  c->end_headers();
  send(*c, "hel");
  send(*c, "lo");
  c->end_body(nullptr);
  EXPECT_EQ(output(*c), "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello");
  EXPECT_TRUE(c->exchange_done());
  EXPECT_FALSE(c->closes());
}

TEST(Http1ResponseWriter, WritesChunksAndTrailers) {
  const auto c = asked(get(""));
  c->begin_response(200, chunked);
  c->end_headers();
  send(*c, "hello");
  send(*c, std::string(300, 'x'));
  http::header_list trailers;
  trailers.add("grpc-status", "0");
  trailers.add("bad", "a\r\nb");
  trailers.add("content-length", "5");
  c->end_body(&trailers);
  EXPECT_EQ(output(*c), "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n12c\r\n" +
                            std::string(300, 'x') + "\r\n0\r\ngrpc-status: 0\r\n\r\n");
}

TEST(Http1ResponseWriter, WritesLessThanWasReserved) {
  const auto c = asked(get(""));
  c->begin_response(200, chunked);
  c->end_headers();
  output(*c);
  std::uint8_t* const to = c->reserve_body(1000);
  std::memcpy(to, "abc", 3);
  c->commit_body(3);
  c->reserve_body(10);
  c->commit_body(0);
  c->end_body(nullptr);
  EXPECT_EQ(output(*c), "003\r\nabc\r\n0\r\n\r\n");
}

TEST(Http1ResponseWriter, SaysThatABodyIsEmpty) {
  EXPECT_EQ(respond(*asked(get("")), 200, {}), "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
  EXPECT_EQ(respond(*asked(get("")), 200, counted(0)), "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
  EXPECT_EQ(respond(*asked(get("")), 200, chunked),
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n");
}

TEST(Http1ResponseWriter, SendsNoBodyInResponseToHead) {
  const std::string head = "HEAD / HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(respond(*asked(head), 200, counted(5), "hello"), "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
  EXPECT_EQ(respond(*asked(head), 200, chunked, "hello"),
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
  EXPECT_EQ(respond(*asked(head), 200, until_close, "hello"), "HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(respond(*asked(head), 404, {}), "HTTP/1.1 404 Not Found\r\n\r\n");
  const auto c = asked(head);
  respond(*c, 200, counted(5));
  EXPECT_FALSE(c->closes());
}

TEST(Http1ResponseWriter, SendsNoBodyWith204And304) {
  EXPECT_EQ(respond(*asked(get("")), 204, {}), "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(respond(*asked(get("")), 204, chunked, "hello"), "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(respond(*asked(get("")), 204, counted(5), "hello"), "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(respond(*asked(get("")), 304, counted(5), "hello"),
            "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n");
}

TEST(Http1ResponseWriter, ClosesAfterABodyWithoutALength) {
  const auto c = asked(get(""));
  EXPECT_EQ(respond(*c, 200, until_close, "all"), "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nall");
  EXPECT_TRUE(c->exchange_done());
  EXPECT_TRUE(c->closes());
}

TEST(Http1ResponseWriter, ClosesAfterABodyThatIsShorterThanItsLength) {
  const auto c = asked(get(""));
  EXPECT_EQ(respond(*c, 200, counted(5), "hel"), "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel");
  EXPECT_TRUE(c->exchange_done());
  EXPECT_TRUE(c->closes());
}

TEST(Http1ResponseWriter, SendsNoChunksToHttp10) {
  const auto c = asked("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(respond(*c, 200, chunked, "all"), "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nall");
  EXPECT_TRUE(c->closes());
}

TEST(Http1ResponseWriter, KeepsAConnectionOfHttp10Alive) {
  const auto c = asked("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(respond(*c, 200, counted(2), "ok"),
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok");
  EXPECT_FALSE(c->closes());
  EXPECT_EQ(respond(*asked("GET / HTTP/1.0\r\n\r\n"), 200, counted(2), "ok"),
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
}

TEST(Http1ResponseWriter, SaysThatItCloses) {
  const auto c = asked(get("Connection: close\r\n"));
  EXPECT_EQ(respond(*c, 200, counted(2), "ok"),
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
  const auto drained = asked(get(""));
  drained->close_after_response();
  EXPECT_EQ(respond(*drained, 200, counted(2), "ok"),
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
  EXPECT_TRUE(drained->closes());
}

TEST(Http1ResponseWriter, SendsInterimResponses) {
  const auto c = asked(get(""));
  c->begin_response(103, {});
  c->add_field("link", "x");
  c->end_headers();
  EXPECT_FALSE(c->message_begun());
  EXPECT_EQ(output(*c), "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n");
  EXPECT_EQ(respond(*c, 204, {}), "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(Http1ResponseWriter, SendsNoInterimResponsesToHttp10) {
  const auto c = asked("GET / HTTP/1.0\r\n\r\n");
  c->begin_response(103, {});
  EXPECT_TRUE(c->add_field("link", "x"));
  c->end_headers();
  EXPECT_EQ(output(*c), "");
  EXPECT_EQ(respond(*c, 204, {}), "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
}

TEST(Http1ResponseWriter, AnswersAFailure) {
  connection c(role::server, {}, {});
  c.feed(as_bytes("GET / HTTP/1.1\r\n\r\n"), {});
  EXPECT_EQ(c.next().status, 400);
  EXPECT_EQ(respond(c, 400, counted(3), "no\n"),
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 3\r\nconnection: close\r\n\r\nno\n");
  EXPECT_TRUE(c.exchange_done());
  EXPECT_TRUE(c.closes());
}

TEST(Http1ResponseWriter, KnowsNoPhraseForUnregisteredCodes) {
  EXPECT_EQ(respond(*asked(get("")), 599, {}), "HTTP/1.1 599 \r\ncontent-length: 0\r\n\r\n");
}

TEST(Http1ResponseWriter, DropsFieldsThatWouldDivideTheMessage) {
  const auto c = asked(get(""));
  c->begin_response(200, {});
  for (const auto& [name, value] : {std::pair<std::string_view, std::string_view>{"a", "b\r\nc: d"},
                                    {"a", "b\n"},
                                    {"a", std::string_view("b\0", 2)},
                                    {"a b", "c"},
                                    {"A", "b"},
                                    {"", "x"},
                                    {"a:", "b"},
                                    {"content-length", "5"},
                                    {"transfer-encoding", "chunked"},
                                    {"connection", "close"},
                                    {"host", "h"},
                                    {"upgrade", "x"},
                                    {"keep-alive", "1"}})
    EXPECT_FALSE(c->add_field(name, value)) << name;
  EXPECT_TRUE(c->add_field("trailer", "grpc-status"));
  c->end_headers();
  EXPECT_EQ(output(*c), "HTTP/1.1 200 OK\r\ntrailer: grpc-status\r\ncontent-length: 0\r\n\r\n");
}

// --- a response before the end of the request

TEST(Http1EarlyResponse, KeepsTheConnectionIfTheRestIsSmallAndArrives) {
  const auto c = asked(post("Content-Length: 10\r\n", "hello"));
  EXPECT_EQ(respond(*c, 404, {}), "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
  EXPECT_FALSE(c->exchange_done());
  EXPECT_FALSE(c->closes());
  EXPECT_TRUE(c->busy());
  const std::string rest = "world" + get("");
  c->feed(as_bytes(rest), {});
  EXPECT_EQ(c->next().type, event::kind::headers);  // of the next request
  EXPECT_EQ(c->fields()[0].value, "GET");
}

// The length of the rest is not known. A connection that was closed later, without notice, would lose the
// next request.
TEST(Http1EarlyResponse, SaysThatItClosesIfTheRestIsInChunks) {
  const auto c = asked(post_chunks("2\r\nhi\r\n"));
  EXPECT_EQ(respond(*c, 404, {}), "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
  EXPECT_TRUE(c->exchange_done());
  EXPECT_TRUE(c->closes());
  c->feed(as_bytes("2\r\nhi\r\n"), {});
  EXPECT_EQ(c->next().type, event::kind::none);
}

TEST(Http1EarlyResponse, SaysThatItClosesIfTheRestIsLong) {
  const auto c = asked(post("Content-Length: 70000\r\n"));
  EXPECT_EQ(respond(*c, 404, {}), "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
  EXPECT_TRUE(c->exchange_done());
  EXPECT_TRUE(c->closes());
  c->feed(as_bytes("rest"), {});
  EXPECT_EQ(c->next().type, event::kind::none);
}

TEST(Http1EarlyResponse, DropsUpToDrainBytes) {
  limits l;
  l.drain_bytes = 100;
  EXPECT_EQ(limits().drain_bytes, 65536u);
  for (const auto& [length, closes] : {std::pair{100, false}, std::pair{101, true}}) {
    const auto c = asked(post("Content-Length: " + std::to_string(length) + "\r\n"), l);
    respond(*c, 404, {});
    EXPECT_EQ(c->closes(), closes) << length;
    EXPECT_EQ(c->exchange_done(), closes) << length;
    if (closes) continue;
    read_all(*c, std::string(100, 'x'));
    EXPECT_TRUE(c->exchange_done());
    EXPECT_FALSE(c->closes());
  }
}

TEST(Http1EarlyResponse, ClosesIfTheClientStillWaitsForContinue) {
  const auto c = asked(post("Expect: 100-continue\r\nContent-Length: 10\r\n"));
  EXPECT_EQ(respond(*c, 401, {}),
            "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
  EXPECT_TRUE(c->closes());
  EXPECT_TRUE(c->exchange_done());
}

TEST(Http1EarlyResponse, EndsWhenTheRestDoesNotArriveInTime) {
  const time_point start{};
  const auto c = asked(post("Content-Length: 10\r\n", "hello"));
  c->enforce_body_timeout(false, start);
  respond(*c, 404, {});
  EXPECT_EQ(c->next_timeout(), start + 60s);
  c->on_timeout(start + 60s);
  EXPECT_FALSE(c->exchange_done());
  c->on_timeout(start + 120s);
  EXPECT_TRUE(c->exchange_done());
  EXPECT_TRUE(c->closes());
  EXPECT_EQ(c->next().status, 0);
}

TEST(Http1EarlyResponse, MayBeSentWhileTheRequestIsRead) {
  const auto c = asked(post_chunks("1\r\na\r\n"));
  c->begin_response(200, chunked);
  c->end_headers();
  send(*c, "A");
  c->feed(as_bytes("1\r\nb\r\n0\r\n\r\n"), {});
  EXPECT_EQ(c->next().type, event::kind::data);
  EXPECT_EQ(c->next().type, event::kind::end);
  EXPECT_EQ(c->next().type, event::kind::none);
  EXPECT_FALSE(c->exchange_done());
  send(*c, "B");
  c->end_body(nullptr);
  EXPECT_TRUE(c->exchange_done());
  EXPECT_TRUE(c->closes());
  EXPECT_EQ(output(*c),
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: "
            "close\r\n\r\n1\r\nA\r\n1\r\nB\r\n0\r\n\r\n");
}

TEST(Http1EarlyResponse, WithinTheHeadersEventDropsTheEndOfTheRequest) {
  connection c(role::server, {}, {});
  const std::string two = get("") + post("");
  c.feed(as_bytes(two), {});
  EXPECT_EQ(c.next().type, event::kind::headers);
  respond(c, 204, {});
  EXPECT_EQ(c.next().type, event::kind::headers);
  EXPECT_EQ(c.fields()[0].value, "POST");
}

// --- requests

TEST(Http1RequestWriter, WritesATargetAndAHost) {
  connection c(role::client, {}, {});
  EXPECT_TRUE(c.begin_request("POST", "/a.B/C", "h:1", counted(2)));
  EXPECT_TRUE(c.add_field("content-type", "application/json"));
  c.end_headers();
  send(c, "{}");
  c.end_body(nullptr);
  EXPECT_EQ(
      output(c),
      "POST /a.B/C HTTP/1.1\r\nhost: h:1\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
}

TEST(Http1RequestWriter, SaysThatABodyIsEmptyWhereOneIsUsual) {
  const auto request = [](std::string_view method) {
    connection c(role::client, {}, {});
    EXPECT_TRUE(c.begin_request(method, "/", "h", {}));
    c.end_headers();
    return output(c);
  };
  EXPECT_EQ(request("GET"), "GET / HTTP/1.1\r\nhost: h\r\n\r\n");
  EXPECT_EQ(request("DELETE"), "DELETE / HTTP/1.1\r\nhost: h\r\n\r\n");
  for (const std::string method : {"POST", "PUT", "PATCH"})
    EXPECT_EQ(request(method), method + " / HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n\r\n");
}

TEST(Http1RequestWriter, RefusesWhatWouldDivideTheMessage) {
  connection c(role::client, {}, {});
  EXPECT_FALSE(c.begin_request("GE T", "/", "h", {}));
  EXPECT_FALSE(c.begin_request("", "/", "h", {}));
  EXPECT_FALSE(c.begin_request("GET", "", "h", {}));
  EXPECT_FALSE(c.begin_request("GET", "/ HTTP/1.1\r\nx: y", "h", {}));
  EXPECT_FALSE(c.begin_request("GET", "/", "h\r\nx: y", {}));
  EXPECT_TRUE(c.output().empty());
  EXPECT_TRUE(c.begin_request("GET", "/", "h", {}));
}

TEST(Http1RequestWriter, SaysThatItCloses) {
  connection c(role::client, {}, {});
  EXPECT_TRUE(c.begin_request("GET", "/", "h", {}));
  c.close_after_response();
  c.end_headers();
  EXPECT_EQ(output(c), "GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n");
}

TEST(Http1RequestWriter, KnowsWhenItsExchangeIsComplete) {
  client_transcript t;
  EXPECT_TRUE(t.engine.busy());
  EXPECT_FALSE(t.engine.exchange_done());
  t.feed("HTTP/1.1 204 x\r\n\r\n");
  EXPECT_FALSE(t.engine.busy());
  EXPECT_TRUE(t.engine.exchange_done());
  EXPECT_FALSE(t.engine.closes());
}

TEST(Http1WriterDeathTest, ABodyBeyondItsLengthIsADefectOfTheCaller) {
  const auto c = asked(get(""));
  c->begin_response(200, counted(2));
  c->end_headers();
  EXPECT_DEATH(send(*c, "abc"), "a body exceeds its length");
}

}  // namespace
}  // namespace coracle::http1::connection_send_test
