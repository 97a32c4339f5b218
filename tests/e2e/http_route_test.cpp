// Plain HTTP routes beside the protocols of calls, over HTTP/1.1 and HTTP/2.
#include "support/echo_fixture.hpp"
#include "support/kept_log.hpp"
#include "support/raw_frames.hpp"
#include "support/raw_http.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/stop_on.hpp"

#include "coracle/server/access_log.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

namespace coracle::http_route_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace testing_support;
using ::testing::HasSubstr;

class http_routes : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    make({});
  }
  // A server that is not listening yet: routes follow.
  void make(const server_options& options) {
    channel_.reset();
    server_.emplace(rt(), options);
    server_->add(served());
  }
  raw_http::response ask(const std::string& line, const std::string& fields = {},
                         const std::string& body = {}) {
    return raw_http::parse(run(raw_http::exchange(address_, raw_http::request(line, fields, body))));
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, http_routes, every_world_over_tcp, echo_fixture::case_name);

task<http_response> describe(http_request r) {
  std::string text(r.method());
  text.append(" ").append(r.path()).append(" query=").append(r.query());
  text.append(" id=").append(r.path_parameter("id"));
  text.append(" q=").append(r.parameter("q").value_or("(none)"));
  text.append(" x=").append(r.header("X-Word").value_or("(none)"));
  text.append(" cookie=").append(r.header("cookie").value_or("(none)"));
  text.append(" host=").append(r.authority());
  text.append(" body=").append(r.body());
  text.append(r.auth() ? " secure" : " plain");
  EXPECT_NE(r.peer().to_string(), "");
  co_return http_response::text(text);
}

TEST_P(http_routes, AHandlerReadsTheRequestAndAnswers) {
  server_->add_http("GET", "/movies/{id}/poster", describe);
  server_->add_http("POST", "/movies/{id}", describe);
  link();
  const auto get = ask("GET /movies/a%20b%2Fc/poster?q=x+y&q=z", "x-word: one\r\n");
  EXPECT_EQ(get.status(), 200) << get.head;
  EXPECT_EQ(get.field("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(get.body,
            "GET /movies/a%20b%2Fc/poster query=q=x+y&q=z id=a b/c q=x y x=one cookie=(none) host=localhost "
            "body= plain");
  EXPECT_EQ(get.field("content-length"), std::to_string(get.body.size()));
  const auto post = ask("POST /movies/7", "content-type: application/json\r\n", "{}");
  EXPECT_EQ(post.body,
            "POST /movies/7 query= id=7 q=(none) x=(none) cookie=(none) host=localhost body={} plain");
}

TEST_P(http_routes, CallsAndThePageAreServedBesideThem) {
  server_->add_http("GET", "/{name=**}", [](http_request r) -> task<http_response> {
    co_return http_response::html("<p>" + std::string(r.path_parameter("name")));
  });
  link();
  EXPECT_EQ(ask("GET /").body, "<p>");
  EXPECT_EQ(ask("GET /a/b").body, "<p>a/b");
  const auto say = [](echo_stub to) -> task<result<echo::Text>> {
    const echo::Text request = text("hello");
    co_return co_await to.Say(request);
  };
  EXPECT_EQ(run(say(stub())).value().text(), "hello");
  // Connect, and a method's path that no method answers to this request.
  EXPECT_EQ(ask("POST /echo.Echo/Say", "content-type: application/proto\r\n", "\n\1a").body, "\n\1a");
  EXPECT_EQ(ask("GET /echo.Echo/Say").status(), 405);
}

TEST_P(http_routes, TheMostSpecificRouteAnswers) {
  for (const char* path : {"/a/b", "/a/{id}", "/{id=**}"})
    server_->add_http("GET", path,
                      [path](http_request) -> task<http_response> { co_return http_response::text(path); });
  link();
  EXPECT_EQ(ask("GET /a/b").body, "/a/b");
  EXPECT_EQ(ask("GET /a/c").body, "/a/{id}");
  EXPECT_EQ(ask("GET /a/c/d").body, "/{id=**}");
  EXPECT_EQ(ask("GET /a/%zz").status(), 400);
}

TEST_P(http_routes, HeadAndOptionsAreAnsweredForEveryRoute) {
  server_->add_http("GET", "/a", [](http_request r) -> task<http_response> {
    co_return http_response::text("hello").header("x-method", r.method());
  });
  server_->add_http("PUT", "/a", [](http_request) -> task<http_response> { co_return http_response(204); });
  link();
  const auto head = ask("HEAD /a");
  EXPECT_EQ(head.status(), 200);
  EXPECT_EQ(head.field("content-length"), "5");
  EXPECT_EQ(head.field("x-method"), "HEAD");
  EXPECT_EQ(head.body, "");
  const auto options = ask("OPTIONS /a");
  EXPECT_EQ(options.status(), 204);
  EXPECT_EQ(options.field("allow"), "GET, PUT, HEAD, OPTIONS");
  const auto other = ask("DELETE /a");
  EXPECT_EQ(other.status(), 405);
  EXPECT_EQ(other.field("allow"), "GET, PUT, HEAD, OPTIONS");
  EXPECT_EQ(ask("PUT /a").status(), 204);
  EXPECT_EQ(ask("GET /b").status(), 404);
}

TEST_P(http_routes, ABodyNeedsATypeThatTheRouteTakes) {
  const auto echo = [](http_request r) -> task<http_response> {
    co_return http_response::text(std::string(r.body()));
  };
  server_->add_http("POST", "/any", echo);
  http_route csv("POST", "/csv", echo);
  csv.content_types = {"text/csv", "text/plain"};
  server_->add_http(csv);
  link();
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded",
                           "multipart/form-data; boundary=x", "TEXT/PLAIN; charset=utf-8", "nonsense"})
    EXPECT_EQ(ask("POST /any", "content-type: "s + type + "\r\n", "x").status(), 415) << type;
  EXPECT_EQ(ask("POST /any", {}, "x").status(), 415) << "without a type";
  EXPECT_EQ(ask("POST /any", "content-type: image/png\r\n", "x").body, "x");
  EXPECT_EQ(ask("POST /any").status(), 200) << "without a body";
  EXPECT_EQ(ask("POST /csv", "content-type: text/plain\r\n", "x").body, "x");
  EXPECT_EQ(ask("POST /csv", "content-type: Text/CSV; header=absent\r\n", "x").body, "x");
  EXPECT_EQ(ask("POST /csv", "content-type: application/json\r\n", "x").status(), 415);
}

TEST_P(http_routes, ABodyAboveTheLimitIsRejected) {
  http_route r("POST", "/a", [](http_request request) -> task<http_response> {
    co_return http_response::text(std::to_string(request.body().size()));
  });
  r.max_body_bytes = 100'000;
  server_->add_http(r);
  link();
  const std::string type = "content-type: image/png\r\n";
  EXPECT_EQ(ask("POST /a", type, std::string(100'000, 'x')).body, "100000");
  const auto large = ask("POST /a", type, std::string(100'001, 'x'));
  EXPECT_EQ(large.status(), 413);
  EXPECT_THAT(large.body, HasSubstr("http_route::max_body_bytes"));
}

TEST_P(http_routes, AnExceptionBecomes500WithoutItsText) {
  server_->add_http("GET", "/throws", [](http_request) -> task<http_response> {
    throw std::runtime_error("secret");
    co_return http_response();
  });
  server_->add_http("GET", "/throws/at/once",
                    [](http_request) -> task<http_response> { throw std::runtime_error("secret"); });
  server_->add_http("GET", "/field", [](http_request) -> task<http_response> {
    co_return http_response::text("x").header("x-a", "b\r\nset-cookie: c");
  });
  server_->add_http("GET", "/length", [](http_request) -> task<http_response> {
    co_return http_response::text("x").header("Content-Length", "1");
  });
  server_->add_http("GET", "/status",
                    [](http_request) -> task<http_response> { co_return http_response(101); });
  link();
  for (const char* path : {"/throws", "/throws/at/once", "/field", "/length", "/status"}) {
    const auto r = ask("GET "s + path);
    EXPECT_EQ(r.status(), 500) << path;
    EXPECT_EQ(r.body, "the server failed to answer the request\n") << path;
    EXPECT_EQ(r.field("set-cookie"), "");
  }
}

async_generator<std::string> count_to(int n) {
  for (int i = 1; i <= n; ++i) {
    co_await sleep_for(1ms);
    co_yield std::to_string(i) + "\n";
  }
}

TEST_P(http_routes, AStreamIsSentInPieces) {
  server_->add_http("GET", "/count", [](http_request) -> task<http_response> {
    co_return http_response::stream("text/plain", count_to(3)).header("X-Kind", "stream");
  });
  server_->add_http("GET", "/sized", [](http_request) -> task<http_response> {
    http_response r = http_response::stream("text/plain", count_to(3));
    r.content_length = 6;
    co_return r;
  });
  server_->add_http("GET", "/wrong", [](http_request) -> task<http_response> {
    http_response r = http_response::stream("text/plain", count_to(3));
    r.content_length = 7;
    co_return r;
  });
  link();
  const auto r = ask("GET /count");
  EXPECT_EQ(r.body, "1\n2\n3\n");
  EXPECT_EQ(r.field("x-kind"), "stream");
  EXPECT_TRUE(r.has("transfer-encoding: chunked"));
  const auto sized = ask("GET /sized");
  EXPECT_EQ(sized.body, "1\n2\n3\n");
  EXPECT_EQ(sized.field("content-length"), "6");
  EXPECT_EQ(ask("HEAD /sized").field("content-length"), "6");
  EXPECT_EQ(ask("GET /wrong").body, "1\n2\n3\n") << "and the connection ends before the seventh byte";
}

async_generator<std::string> fails_after_one() {
  co_yield std::string("1\n");
  throw std::runtime_error("secret");
}

TEST_P(http_routes, AStreamThatFailsIsCut) {
  server_->add_http("GET", "/", [](http_request) -> task<http_response> {
    co_return http_response::stream("text/plain", fails_after_one());
  });
  link();
  EXPECT_EQ(ask("GET /").body, "1\n(cut)");
}

// Sets the event when it is destroyed.
struct end_notice {
  explicit end_notice(event<>& e) : ended(e) {}
  end_notice(const end_notice&) = delete;
  end_notice& operator=(const end_notice&) = delete;
  ~end_notice() { ended.set(); }
  event<>& ended;
};

async_generator<std::string> endless(event<>& ended) {
  const end_notice notice(ended);
  while (true) {
    co_yield std::string("data: tick\n\n");
    co_await sleep_for(1ms);
  }
}

TEST_P(http_routes, AStreamEndsWhenItsClientGoesAway) {
  event<> ended(rt().at(0));
  server_->add_http("GET", "/events", [&](http_request) -> task<http_response> {
    co_return http_response::stream("text/event-stream", endless(ended));
  });
  link();
  const auto read_two = [](std::string address, event<>& over) -> task<> {
    {
      net::stream s = co_await raw_http::connect(address);
      co_await raw_http::send(s, "GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n");
      std::string all;
      const bool there = co_await raw_http::receive_until(s, all, "data: tick");
      EXPECT_TRUE(there) << all;
    }
    co_await over;
  };
  run(read_two(address_, ended));
}

TEST_P(http_routes, AHandlerIsStoppedWhenItsClientGoesAway) {
  event<> began(rt().at(0));
  event<> ended(rt().at(0));
  server_->add_http("GET", "/wait", [&](http_request) -> task<http_response> {
    const end_notice notice(ended);
    began.set();
    co_await sleep_for(1h);
    co_return http_response();
  });
  link();
  const auto leave = [](std::string address, event<>& there, event<>& over) -> task<> {
    {
      net::stream s = co_await raw_http::connect(address);
      co_await raw_http::send(s, "GET /wait HTTP/1.1\r\nhost: localhost\r\n\r\n");
      co_await there;
    }
    co_await over;
  };
  run(leave(address_, began, ended));
}

// The next request waits, so that the server receives nothing more.
TEST_P(http_routes, AHandlerIsStoppedWhenItsClientGoesAwayBehindTheNextRequest) {
  event<> began(rt().at(0));
  event<> ended(rt().at(0));
  server_->add_http("GET", "/wait", [&](http_request) -> task<http_response> {
    const end_notice notice(ended);
    began.set();
    co_await sleep_for(1h);
    co_return http_response();
  });
  link();
  const auto leave = [](std::string address, event<>& there, event<>& over) -> task<> {
    {
      net::stream s = co_await raw_http::connect(address);
      const std::string wait = "GET /wait HTTP/1.1\r\nhost: localhost\r\n\r\n";
      co_await raw_http::send(s, wait + wait);
      co_await there;
    }
    co_await over;
  };
  run(leave(address_, began, ended));
}

TEST_P(http_routes, TheAccessLogHasALineForEachRequest) {
  kept_log lines;
  server_->add_interceptor(std::make_shared<access_log>(lines));
  server_->add_http("POST", "/echo", [](http_request r) -> task<http_response> {
    co_return http_response::text(std::string(r.body()) + "!");
  });
  server_->add_http("GET", "/events", [](http_request) -> task<http_response> {
    co_return http_response::stream("text/plain", fails_after_one());
  });
  link();
  const std::string type = "content-type: application/octet-stream\r\n";
  EXPECT_EQ(ask("POST /echo?token=secret", type, "hello").status(), 200);
  EXPECT_EQ(ask("POST /echo", "content-type: text/plain\r\n", "hello").status(), 415);
  EXPECT_EQ(ask("HEAD /events").status(), 200);
  EXPECT_EQ(ask("GET /events").status(), 200);
  EXPECT_EQ(ask("GET /nowhere").status(), 404);
  server_.reset();
  const std::string output = lines.text();
  const std::string until_status = " peer=[^ ]+ status=";
  for (const std::string& line :
       {"http=POST path=/echo" + until_status + "200 duration_us=[0-9]+ received_bytes=5 sent_bytes=6\n",
        "http=POST path=/echo" + until_status +
            "415 duration_us=[0-9]+ received_bytes=0 sent_bytes=[0-9]+\n"s,
        "http=HEAD path=/events" + until_status + "200 duration_us=[0-9]+ received_bytes=0 sent_bytes=0\n",
        "http=GET path=/events" + until_status +
            "200 duration_us=[0-9]+ received_bytes=0 sent_bytes=[0-9]+ cut=yes\n"})
    EXPECT_THAT(output, ::testing::ContainsRegex(line));
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 4) << output;
}

async_generator<std::string> large_pieces(std::size_t& made) {
  const std::string piece(50'000, 'x');
  for (int i = 0; i < 1'000; ++i) {
    made += piece.size();
    co_yield piece;
  }
}

TEST_P(http_routes, AStreamWaitsForItsReader) {
  std::size_t made = 0;
  server_->add_http("GET", "/large", [&](http_request) -> task<http_response> {
    co_return http_response::stream("application/octet-stream", large_pieces(made));
  });
  link();
  const auto read = [](std::string address, std::size_t& so_far) -> task<> {
    net::stream s = co_await raw_http::connect(address);
    co_await raw_http::send(s, "GET /large HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    std::string all;
    co_await raw_http::receive_until(s, all, "\r\n\r\n");
    co_await sleep_for(50ms);
    EXPECT_LT(so_far, std::size_t{40'000'000}) << "the buffers of the sockets, and no more";
    std::size_t got = all.size();
    std::uint8_t bytes[65'536];
    while (true) {
      const auto n = co_await s.read(bytes);
      if (!n || *n == 0) break;
      got += *n;
    }
    EXPECT_GT(got, std::size_t{50'000'000});
  };
  run(read(address_, made));
}

TEST_P(http_routes, ADrainLetsRequestsEndAndStopsStreamsThatListen) {
  server_->add_http("GET", "/events", [](http_request r) -> task<http_response> {
    const auto events = [](http_request of) -> async_generator<std::string> {
      co_yield std::string("one");
      const auto wait = []() -> task<> { co_await sleep_for(1h); };
      const auto slept = co_await stop_on(of.drain_token(), wait());
      static_cast<void>(slept);
      co_yield std::string("two");
    };
    co_return http_response::stream("text/plain", events(r));
  });
  link();
  const auto drain_meanwhile = [](std::string address, server& s) -> task<std::string> {
    net::stream c = co_await raw_http::connect(address);
    co_await raw_http::send(c, "GET /events HTTP/1.1\r\nhost: localhost\r\n\r\n");
    std::string all;
    co_await raw_http::receive_until(c, all, "one");
    s.stop();
    co_await raw_http::receive_until(c, all, {});
    co_return all;
  };
  EXPECT_EQ(raw_http::parse(run(drain_meanwhile(address_, *server_))).body, "onetwo");
}

// --- HTTP/2

std::string head_of(const std::string& verb, const std::string& path, const std::string& more = {},
                    char flags = 0) {
  return raw_frames::frame(raw_frames::headers, static_cast<char>(raw_frames::end_headers | flags), 1,
                           raw_frames::literal(":method", verb) + raw_frames::literal(":scheme", "http") +
                               raw_frames::literal(":path", path) + raw_frames::literal(":authority", "h") +
                               more);
}

TEST_P(http_routes, RequestsOfHttp2AreAnswered) {
  server_->add_http("GET", "/movies/{id}", describe);
  server_->add_http("POST", "/movies/{id}", describe);
  link();
  const auto answer = [&](const std::string& frames, std::string until) {
    const auto go = [](std::string address, std::string content, std::string wanted) -> task<std::string> {
      net::stream s = co_await raw_http::connect(address);
      co_await raw_http::send(s, raw_frames::greeting() + content);
      std::string all;
      const bool there = co_await raw_http::receive_until(s, all, wanted);
      EXPECT_TRUE(there) << all;
      co_return all;
    };
    return run(go(address_, frames, until));
  };
  using raw_frames::literal;
  EXPECT_THAT(answer(head_of("GET", "/movies/7", literal("cookie", "a=1") + literal("cookie", "b=2"),
                             raw_frames::end_stream),
                     " plain"),
              HasSubstr("GET /movies/7 query= id=7 q=(none) x=(none) cookie=a=1; b=2 host=h body= plain"));
  const std::string body = raw_frames::frame(raw_frames::data, raw_frames::end_stream, 1, "{}");
  EXPECT_THAT(
      answer(head_of("POST", "/movies/7", literal("content-type", "application/json")) + body, " plain"),
      HasSubstr("body={} plain"));
  EXPECT_THAT(answer(head_of("POST", "/movies/7", literal("content-type", "text/plain")), "content-type\n"),
              HasSubstr("the route does not take a body of this content-type\n"));
}

// --- mistakes

TEST_P(http_routes, ARouteThatIsInvalidOrTakenIsAnError) {
  const auto handler = [](http_request) -> task<http_response> { co_return http_response(); };
  const auto error = [&](std::string_view method, std::string_view path, http_handler h) -> std::string {
    try {
      server_->add_http(method, path, std::move(h));
    } catch (const usage_error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(error("GET", "/movies/{id}", handler), "no error");
  EXPECT_EQ(error("DELETE", "/movies/{id}", handler), "no error");
  const std::string twice = error("GET", "/movies/{name}", handler);
  EXPECT_THAT(twice, HasSubstr("GET /movies/{id}"));
  EXPECT_THAT(twice, HasSubstr("GET /movies/{name}"));
  EXPECT_THAT(error("HEAD", "/a", handler), HasSubstr("answers HEAD and OPTIONS by itself"));
  EXPECT_THAT(error("GET", "a", handler), HasSubstr("position 0"));
  EXPECT_THAT(error("GET", "/a", nullptr), HasSubstr("GET /a has no handler"));
  EXPECT_THAT(error("POST", "/echo.Echo/Say", handler), HasSubstr("/echo.Echo/Say has the path of a method"));
  rest_options o;
  o.http_rules = R"({"http": {"rules": [{"selector": "echo.Echo.Say", "get": "/movies/{text}"}]}})";
  const status rest = server_->add_rest(o);
  EXPECT_EQ(rest.code(), status_code::already_exists);
  EXPECT_THAT(std::string(rest.message()), HasSubstr("GET /movies/{id} of server::add_http()"));
  EXPECT_THAT(std::string(rest.message()), HasSubstr("GET /movies/{text} of echo.Echo.Say"));
  o.http_rules = R"({"http": {"rules": [{"selector": "echo.Echo.Say", "get": "/say/{text}"}]}})";
  EXPECT_EQ(server_->add_rest(o), status());
  EXPECT_THAT(error("GET", "/say/{x}", handler), HasSubstr("GET /say/{text} of echo.Echo.Say"));
  EXPECT_EQ(error("PUT", "/say/{x}", handler), "no error");
  link();
  EXPECT_THAT(error("GET", "/late", handler), HasSubstr("before"));
  EXPECT_EQ(ask("GET /say/a").body, "{\"text\":\"a\"}");
  EXPECT_EQ(ask("PUT /say/a").status(), 200);
  EXPECT_EQ(ask("DELETE /say/a").field("allow"), "GET, PUT, HEAD, OPTIONS");
}

TEST_P(http_routes, PagesOfOtherOriginsAreRejectedBeforeTheHandler) {
  int handled = 0;
  server_options options;
  options.web.allowed_origins = {"https://app.example"};
  make(options);
  server_->add_http("GET", "/a", [&](http_request) -> task<http_response> {
    ++handled;
    co_return http_response::text("x").header("x-a", "b");
  });
  link();
  EXPECT_EQ(ask("GET /a", "origin: https://evil.example\r\n").status(), 403);
  EXPECT_EQ(ask("GET /a", "sec-fetch-site: cross-site\r\n").status(), 403);
  EXPECT_EQ(handled, 0);
  const auto r = ask("GET /a", "origin: https://app.example\r\n");
  EXPECT_EQ(r.status(), 200);
  EXPECT_EQ(r.field("access-control-allow-origin"), "https://app.example");
  EXPECT_THAT(r.field("access-control-expose-headers"), HasSubstr("x-a"));
}

TEST_P(http_routes, TheLimitOfCallsHoldsForThem) {
  server_options options;
  options.limits.calls = 1;
  make(options);
  event<> began(rt().at(0));
  event<> release(rt().at(0));
  server_->add_http("GET", "/wait", [&](http_request) -> task<http_response> {
    began.set();
    co_await release;
    co_return http_response::text("done");
  });
  link();
  const auto both = [](std::string address, event<>& there, event<>& go) -> task<> {
    net::stream first = co_await raw_http::connect(address);
    co_await raw_http::send(first, raw_http::request("GET /wait"));
    co_await there;
    const std::string second = co_await raw_http::exchange(address, raw_http::request("GET /wait"));
    EXPECT_EQ(raw_http::parse(second).status(), 503);
    go.set();
    std::string all;
    co_await raw_http::receive_until(first, all, {});
    EXPECT_EQ(raw_http::parse(all).body, "done");
  };
  run(both(address_, began, release));
}

class slow_bodies : public http_routes {};  // by the simulation's clock
INSTANTIATE_TEST_SUITE_P(Simulated, slow_bodies,
                         ::testing::Combine(::testing::Values(world_kind::sim),
                                            ::testing::Values(link_kind::tcp)),
                         echo_fixture::case_name);

TEST_P(slow_bodies, AreAnsweredWith408) {
  server_->add_http("POST", "/a", [](http_request) -> task<http_response> { co_return http_response(); });
  link();
  const auto slow = [](std::string address) -> task<std::string> {
    net::stream s = co_await raw_http::connect(address);
    co_await raw_http::send(s,
                            "POST /a HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: "
                            "image/png\r\ncontent-length: 100\r\n\r\nx");
    std::string all;
    co_await raw_http::receive_until(s, all, {});
    co_return all;
  };
  EXPECT_EQ(raw_http::parse(run(slow(address_))).status(), 408);
}

}  // namespace
}  // namespace coracle::http_route_test
