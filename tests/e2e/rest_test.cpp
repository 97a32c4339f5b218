// Methods that plain HTTP requests call, by rules of a configuration.
#include "support/echo_fixture.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/net/stream.hpp"

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace coracle::testing_support::rest_test {
namespace {

constexpr const char* rules = R"({"http": {"rules": [
  {"selector": "echo.Echo.Say", "get": "/v1/say/{text}",
   "additional_bindings": [{"post": "/v1/say", "body": "*"}]},
  {"selector": "echo.Echo.Repeat", "get": "/v1/repeat/{text}"},
  {"selector": "echo.Echo.Collect", "post": "/v1/collect", "body": "*"}]}})";

class rest_requests : public echo_fixture {
 protected:
  struct response {
    std::string head;  // up to the empty line
    std::string body;
    [[nodiscard]] int status() const { return std::stoi(head.substr(9, 3)); }
    [[nodiscard]] bool has(std::string_view field) const { return head.find(field) != std::string::npos; }
  };

  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    serve({});
  }
  void serve(const server_options& options) {
    channel_.reset();
    server_.emplace(rt(), options);
    server_->add(served());
    rest_options o;
    o.http_rules = rules;
    ASSERT_EQ(server_->add_rest(o), status());
    link();
  }

  static task<std::string> exchange(std::string address, std::string content) {
    auto connected = co_await net::stream::connect(net::address::parse(address).value());
    net::stream s = std::move(connected).value();
    const status written = co_await s.write(as_bytes(content));
    EXPECT_EQ(written, status());
    std::string all;
    std::uint8_t bytes[4096];
    while (true) {
      const auto got = co_await s.read(bytes);
      if (!got || *got == 0) break;
      all.append(reinterpret_cast<const char*>(bytes), *got);
    }
    co_return all;
  }
  static task<result<echo::Text>> say(echo_stub to) {
    const echo::Text request = text("a");
    co_return co_await to.Say(request);
  }
  // The body of a chunked response, without its framing.
  static std::string dechunked(std::string_view text) {
    std::string all;
    while (!text.empty()) {
      const std::size_t size = std::stoul(std::string(text.substr(0, text.find('\r'))), nullptr, 16);
      text.remove_prefix(text.find('\n') + 1);
      all.append(text.substr(0, size));
      text.remove_prefix(size + 2);
    }
    return all;
  }
  response ask(const std::string& line, const std::string& fields = {}, const std::string& body = {}) {
    std::string content = line + " HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n" + fields;
    if (!body.empty())
      content += "content-type: application/json\r\ncontent-length: " + std::to_string(body.size()) + "\r\n";
    const std::string all = run(exchange(address_, content + "\r\n" + body));
    const std::size_t end = all.find("\r\n\r\n");
    if (end == std::string::npos) return {"HTTP/1.1 000 " + all, {}};
    response r{all.substr(0, end), all.substr(end + 4)};
    if (r.has("transfer-encoding: chunked")) r.body = dechunked(r.body);
    return r;
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, rest_requests, every_world_over_tcp, echo_fixture::case_name);

TEST_P(rest_requests, AGetReadsThePathAndTheQuery) {
  const response r = ask("GET /v1/say/a%20b?count=3");
  EXPECT_EQ(r.status(), 200) << r.head;
  EXPECT_EQ(r.body, R"({"text":"a b","count":3})");
  EXPECT_TRUE(r.has("content-type: application/json")) << r.head;
}

TEST_P(rest_requests, APostReadsTheBody) {
  const response r = ask("POST /v1/say", {}, R"({"text": "hello", "count": 1})");
  EXPECT_EQ(r.status(), 200) << r.head;
  EXPECT_EQ(r.body, R"({"text":"hello","count":1})");
}

TEST_P(rest_requests, HeadHasTheHeadersOfGet) {
  const response r = ask("HEAD /v1/say/a?count=3");
  EXPECT_EQ(r.status(), 200) << r.head;
  EXPECT_TRUE(r.has("content-length: 22")) << r.head;
  EXPECT_EQ(r.body, "");
  const response missing = ask("HEAD /v1/say/a?nothing=1");
  EXPECT_EQ(missing.status(), 400);
  EXPECT_EQ(missing.body, "");
  const response stream = ask("HEAD /v1/repeat/x?count=2", "accept: text/event-stream\r\n");
  EXPECT_EQ(stream.status(), 200);
  EXPECT_TRUE(stream.has("content-type: text/event-stream")) << stream.head;
  EXPECT_EQ(ask("HEAD /v1/collect").status(), 405);
}

TEST_P(rest_requests, WhatIsWrongIsAnErrorThatNamesTheField) {
  const response wrong_type = ask("GET /v1/say/a?count=many");
  EXPECT_EQ(wrong_type.status(), 400);
  EXPECT_NE(wrong_type.body.find("count"), std::string::npos) << wrong_type.body;
  EXPECT_NE(wrong_type.body.find("\"code\":3"), std::string::npos) << wrong_type.body;
  EXPECT_EQ(ask("GET /v1/say/a?nothing=1").status(), 400);
  EXPECT_EQ(ask("GET /v1/say/%zz").status(), 400);
  EXPECT_EQ(ask("POST /v1/say", {}, "{\"text\": ").status(), 400);
  EXPECT_EQ(ask("POST /v1/say", {}, "{\"no\": 1}").status(), 400);
}

// Of REST, and of Connect with JSON: protobuf's mapping is read by the same rules.
TEST_P(rest_requests, JsonThatIsWrongIsAnErrorThatNamesThePlace) {
  server_options options;
  options.codecs.push_back(&json_codec());
  serve(options);
  for (const char* line : {"POST /v1/say", "POST /echo.Echo/Say"}) {
    for (const auto& [body, expected] :
         {std::pair<std::string, const char*>{R"({"text": )", "line 1, column 10"},
          {R"({"text":)" + std::string(101, '['), "nested deeper than 100"},
          {R"({"count": "many"})", "field count: "},
          {R"({"text": 1})", "field text: "},
          {"{\"text\": \"\xff\"}", "UTF-8"},
          {"{\"count\": 1,\n\"count\": 2}", "line 2, column 1: "}}) {
      const response r = ask(line, {}, body);
      EXPECT_EQ(r.status(), 400) << line << ": " << body;
      EXPECT_NE(r.body.find(expected), std::string::npos) << r.body;
    }
  }
  // A field that the server does not know: a newer client of Connect may send it, as in protobuf's binary
  // format.
  const response unknown = ask("POST /v1/say", {}, R"({"no": 1})");
  EXPECT_EQ(unknown.status(), 400);
  EXPECT_NE(unknown.body.find("field no: "), std::string::npos) << unknown.body;
  EXPECT_EQ(ask("POST /echo.Echo/Say", {}, R"({"no": 1})").status(), 200);
}

TEST_P(rest_requests, JsonWithTooManyValuesIsResourceExhausted) {
  server_options options;
  options.codecs.push_back(&json_codec());
  serve(options);
  std::string body = R"({"text":"a","nothing":[)";
  for (int i = 0; i < 100'000; ++i) body += "{},";
  body += "{}]}";
  for (const char* line : {"POST /v1/say", "POST /echo.Echo/Say"}) {
    const response r = ask(line, {}, body);
    EXPECT_EQ(r.status(), 429) << line;
    EXPECT_NE(r.body.find("a message in JSON has too many values"), std::string::npos) << r.body;
  }
}

TEST_P(rest_requests, AGetMayHaveAnEmptyObjectAsItsBody) {
  EXPECT_EQ(ask("GET /v1/say/a", {}, "{}").status(), 200);
  EXPECT_EQ(ask("GET /v1/say/a", {}, R"({"text":"b"})").status(), 400);
}

TEST_P(rest_requests, ARuleOfAMethodThatIsNotMatchedIsRefused) {
  server other(rt(), server_options());
  other.add(served());
  rest_options o;
  o.http_rules =
      R"({"http":{"rules":[{"selector":"echo.Echo.Say","custom":{"kind":"PURGE","path":"/v1/say"}}]}})";
  const status s = other.add_rest(o);
  EXPECT_EQ(s.code(), status_code::invalid_argument);
  EXPECT_EQ(s.message().find("the HTTP rule PURGE /v1/say of echo.Echo.Say: a server serves GET"), 0u) << s;
}

TEST_P(rest_requests, BytesThatAreNoMessageAreAnErrorOfAConnectClient) {
  const auto post = [&](const std::string& content_type, const std::string& body) {
    return run(exchange(
        address_, "POST /echo.Echo/" + std::string(content_type == "proto" ? "Say" : "Collect") +
                      " HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/" +
                      content_type + "\r\ncontent-length: " + std::to_string(body.size()) + "\r\n\r\n" +
                      body));
  };
  const std::string unary = post("proto", "\xff\xff");
  EXPECT_EQ(unary.substr(9, 3), "400") << unary;
  EXPECT_NE(unary.find(R"("code":"invalid_argument")"), std::string::npos) << unary;
  const std::string enveloped("\0\0\0\0\2\xff\xff", 7);
  const std::string stream = post("connect+proto", enveloped);
  EXPECT_NE(stream.find(R"("code":"invalid_argument")"), std::string::npos) << stream;
  const std::string grpc_web = post("grpc-web+proto", enveloped);
  EXPECT_NE(grpc_web.find("grpc-status: 13"), std::string::npos) << grpc_web;
}

TEST_P(rest_requests, ACompressedBodyIsReadIfItsEncodingIsAccepted) {
  // {"text":"packed","count":1}
  const std::string packed(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\x2a\x49\xad\x28\x51\xb2\x52\x2a\x48\x4c\xce"
      "\x4e\x4d\x51\xd2\x51\x4a\xce\x2f\xcd\x03\x0a\x18\xd6\x02\x00\x7a\x29\xb2\x77\x1b\x00\x00\x00",
      46);
  const response r = ask("POST /v1/say", "content-encoding: gzip\r\n", packed);
  EXPECT_EQ(r.status(), 200) << r.head;
  EXPECT_EQ(r.body, R"({"text":"packed","count":1})");
  EXPECT_EQ(ask("POST /v1/say", "content-encoding: gzip\r\n", "{}").status(), 400);
  const response unknown = ask("POST /v1/say", "content-encoding: unknown\r\n", packed);
  EXPECT_EQ(unknown.status(), 415) << unknown.head;
  EXPECT_TRUE(unknown.has("accept-encoding: identity,deflate,gzip")) << unknown.head;
  const response stream = ask("POST /v1/collect", "content-encoding: gzip\r\n", packed);
  EXPECT_EQ(stream.status(), 415) << stream.head;
  EXPECT_TRUE(stream.has("accept-encoding: identity\r")) << stream.head;
}

TEST_P(rest_requests, WhatHasNoRouteIsRejectedByHttp) {
  EXPECT_EQ(ask("GET /v1/nothing").status(), 404);
  const response r = ask("DELETE /v1/say/a");
  EXPECT_EQ(r.status(), 405);
  EXPECT_TRUE(r.has("allow: GET, HEAD, OPTIONS")) << r.head;
  EXPECT_EQ(run(exchange(address_,
                         "POST /v1/say HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: "
                         "text/plain\r\ncontent-length: 2\r\n\r\n{}"))
                .substr(9, 3),
            "415");
}

// As grpc-gateway answers, and as the documents of OpenAPI say: programs read one form of errors.
TEST_P(rest_requests, AnErrorBeforeAMethodIsFoundIsAStatusInJson) {
  struct refusal {
    const char* line;
    std::string fields;
    std::string body;
    int http_status;
    int code;
  };
  const refusal refusals[] = {
      {"GET /v1/nothing", "", "", 404, 5},
      {"GET /v1/nothing?message=a", "accept: */*\r\n", "", 404, 5},
      {"GET /v1/nothing", "accept: image/png\r\n", "", 404, 5},
      {"GET /v1/nothing", "accept: text/html;q=0.5\r\naccept: application/json\r\n", "", 404, 5},
      {"POST /v1/nothing", "", "{}", 404, 5},
      {"POST /v1/nothing", "content-length: 0\r\n", "", 404, 5},
      {"PURGE /v1/nothing", "", "", 404, 5},
      {"DELETE /v1/say/a", "", "", 405, 12},
      {"GET /v1/say/%zz", "", "", 400, 3},
      {"GET /v1/say/a?count=%zz", "", "", 400, 3},
      {"POST /v1/say", "content-encoding: unknown\r\n", "{}", 415, 3},
      {"GET /v1/say/a", "origin: https://another.example\r\n", "", 403, 7}};
  for (const auto& [line, fields, body, http_status, code] : refusals) {
    const response r = ask(line, fields, body);
    EXPECT_EQ(r.status(), http_status) << line << r.head;
    EXPECT_TRUE(r.has("\r\ncontent-type: application/json")) << line << r.head;
    EXPECT_EQ(r.body.find("{\"code\":" + std::to_string(code) + ",\"message\":\""), 0u) << line << r.body;
    EXPECT_TRUE(r.body.ends_with("\",\"details\":[]}")) << line << r.body;
  }
  EXPECT_TRUE(ask("GET /v1/nothing").has("\r\nvary: accept")) << "a cache keeps both forms";
  EXPECT_TRUE(ask("DELETE /v1/say/a").has("allow: GET, HEAD, OPTIONS"));
  const response head = ask("HEAD /v1/nothing");
  EXPECT_EQ(head.status(), 404);
  EXPECT_EQ(head.body, "");
}

TEST_P(rest_requests, AnErrorBeforeAMethodIsFoundIsTextForBrowsersAndProtocolsOfRpc) {
  const std::string browser = "accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n";
  const std::string version = "connect-protocol-version: 1\r\n";
  const std::string empty = "content-length: 0\r\n";
  for (const auto& [line, fields, http_status] :
       {std::tuple{"GET /v1/nothing", browser, 404},
        {"GET /v1/nothing", std::string("accept: text/plain, */*;q=0.1\r\n"), 404},
        {"GET /v1/nothing?connect=v1&encoding=json&message=%7B%7D", std::string(), 404},
        {"POST /echo.Echo/Nothing", empty + version + "content-type: application/json\r\n", 415},
        {"POST /echo.Echo/Nothing", empty + "content-type: application/proto\r\n", 404},
        {"POST /echo.Echo/Say", empty + "content-type: application/connect+proto\r\n", 415},
        {"POST /echo.Echo/Say", empty + "content-type: application/grpc\r\n", 505},
        {"GET /echo.Echo/Say?connect=v1", std::string(), 405}}) {
    const response r = ask(line, fields);
    EXPECT_EQ(r.status(), http_status) << line << r.head;
    EXPECT_TRUE(r.has("content-type: text/plain")) << line << r.head;
  }
}

TEST_P(rest_requests, AStreamOfRepliesHasTheFormThatTheClientAccepts) {
  const response lines = ask("GET /v1/repeat/x?count=2");
  EXPECT_EQ(lines.body, "{\"text\":\"x\"}\n{\"text\":\"x\",\"count\":1}\n");
  EXPECT_TRUE(lines.has("content-type: application/x-ndjson")) << lines.head;
  const response array = ask("GET /v1/repeat/x?count=2", "accept: application/json\r\n");
  EXPECT_EQ(array.body, R"([{"text":"x"},{"text":"x","count":1}])");
  EXPECT_EQ(ask("GET /v1/repeat/x", "accept: application/json\r\n").body, "[]");
  const response events = ask("GET /v1/repeat/x?count=1", "accept: text/event-stream\r\n");
  EXPECT_EQ(events.body,
            "id: 1\ndata: {\"text\":\"x\"}\n\nevent: end\nid: end\ndata: "
            "{\"code\":0,\"message\":\"\",\"details\":[]}\n\n");
  EXPECT_TRUE(events.has("content-type: text/event-stream")) << events.head;
  EXPECT_EQ(ask("GET /v1/repeat/x", "accept: text/event-stream\r\nlast-event-id: 1\r\n").status(), 204);
}

TEST_P(rest_requests, AStreamThatFailsEndsWithTheErrorInItsForm) {
  const std::string error = R"({"code":5,"message":"after the replies","details":[]})";
  EXPECT_EQ(ask("GET /v1/repeat/fail?count=1").body, "{\"text\":\"fail\"}\n{\"error\":" + error + "}\n");
  EXPECT_EQ(ask("GET /v1/repeat/fail?count=1", "accept: application/json\r\n").body,
            "[{\"text\":\"fail\"},{\"error\":" + error + "}]");
  EXPECT_EQ(ask("GET /v1/repeat/fail?count=1", "accept: text/event-stream\r\n").body,
            "id: 1\ndata: {\"text\":\"fail\"}\n\nevent: end\nid: end\ndata: " + error + "\n\n");
  const response first = ask("GET /v1/repeat/fail");
  EXPECT_EQ(first.status(), 404) << "nothing was sent before the error";
  EXPECT_EQ(first.body, error);
}

TEST_P(rest_requests, AStreamOfRequestsIsLinesOrAnArray) {
  EXPECT_EQ(ask("POST /v1/collect", {}, "{\"text\":\"a\"}\n{\"text\":\"b}\"}\n").body,
            R"({"text":"ab}","count":2})");
  EXPECT_EQ(ask("POST /v1/collect", {}, R"([{"text":"a"}, {"text":"]"}])").body,
            R"({"text":"a]","count":2})");
  EXPECT_EQ(ask("POST /v1/collect", {}, "[]").body, "{}");
  for (const char* broken : {R"([{"text":"a"},)", R"([{"text":"a"}] 1)", "{\"text\":", "]"})
    EXPECT_EQ(ask("POST /v1/collect", {}, broken).status(), 400) << broken;
}

TEST_P(rest_requests, TwoRulesThatMatchTheSamePathsAreAnErrorThatNamesBoth) {
  server two(rt());
  two.add(service_);
  rest_options o;
  o.http_rules = R"({"http": {"rules": [{"selector": "echo.Echo.Say", "get": "/a/{text}"},
                                   {"selector": "echo.Echo.Repeat", "get": "/a/{text}"}]}})";
  const status reason = two.add_rest(o);
  EXPECT_EQ(reason.code(), status_code::already_exists) << reason;
  EXPECT_NE(reason.message().find("echo.Echo.Say"), std::string_view::npos) << reason;
  EXPECT_NE(reason.message().find("echo.Echo.Repeat"), std::string_view::npos) << reason;
}

TEST_P(rest_requests, ABodyThatArrivesTooSlowlyEndsItsCall) {
  server_options options;
  options.limits.stall_time = std::chrono::milliseconds(100);
  serve(options);
  for (const char* line : {"POST /v1/say", "POST /v1/collect"}) {
    const std::string answer = run(exchange(
        address_, std::string(line) + " HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                                      "content-length: 100000\r\n\r\n{\"text\": \"a"));
    EXPECT_EQ(answer.substr(9, 3), "429") << line << answer;
    EXPECT_NE(answer.find("stall_time"), std::string::npos) << line;
  }
}

// --- a handler that does not read

class unread_requests : public rest_requests {
 protected:
  class idle_service final : public echo_service {
    reply<echo::Text> Collect(server_context&, reader<echo::Text>) override {
      co_await sleep_for(std::chrono::hours(1));
      co_return echo::Text();
    }
  };
  [[nodiscard]] coracle::service& served() noexcept override { return idle_; }
  idle_service idle_;

  static task<> send_lines(net::stream& s, std::size_t& sent) {
    std::string lines;
    while (lines.size() < 65'536) lines += "{\"text\":\"" + std::string(1'000, 'x') + "\"}\n";
    char size[24];
    std::snprintf(size, sizeof size, "%zx\r\n", lines.size());
    const std::string chunk = size + lines + "\r\n";
    while (true) {
      const status written = co_await s.write(as_bytes(chunk));
      if (!written.ok()) co_return;
      sent += lines.size();
    }
  }
  static task<std::size_t> sent_within_a_minute(std::string address) {
    auto connected = co_await net::stream::connect(net::address::parse(address).value());
    net::stream s = std::move(connected).value();
    const std::string head =
        "POST /v1/collect HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        "transfer-encoding: chunked\r\n\r\n";
    const status begun = co_await s.write(as_bytes(head));
    EXPECT_EQ(begun, status());
    std::size_t sent = 0;
    scope work(co_await coro::this_environment());
    work.spawn(send_lines(s, sent));
    co_await sleep_for(std::chrono::minutes(1));  // of the simulation's clock
    work.request_stop();
    co_await work.join();
    co_return sent;
  }
};
INSTANTIATE_TEST_SUITE_P(Simulated, unread_requests,
                         ::testing::Combine(::testing::Values(world_kind::sim),
                                            ::testing::Values(link_kind::tcp)),
                         echo_fixture::case_name);

TEST_P(unread_requests, StopTheirClient) {
  const std::size_t sent = run(sent_within_a_minute(address_));
  EXPECT_GT(sent, 0u);
  EXPECT_LT(sent, std::size_t{8} << 20) << "the window and the buffers of the sockets";
}

// --- pages of other origins and other hosts

TEST_P(rest_requests, APageOfAnotherOriginIsRejectedBeforeAnyHandler) {
  EXPECT_EQ(ask("GET /v1/say/a", "origin: https://evil.example\r\n").status(), 403);
  EXPECT_EQ(ask("GET /v1/say/a", "sec-fetch-site: cross-site\r\n").status(), 403);
  EXPECT_EQ(ask("GET /", "origin: null\r\n").status(), 403);
  EXPECT_EQ(ask("GET /v1/say/a", "origin: http://localhost\r\n").status(), 200) << "its own";
  EXPECT_EQ(ask("OPTIONS /v1/say", "origin: https://evil.example\r\naccess-control-request-method: POST\r\n")
                .status(),
            403);
}

TEST_P(rest_requests, AnAllowedOriginMayCallAndRead) {
  server_options options;
  options.web.allowed_origins = {"https://app.example"};
  serve(options);
  const response preflight =
      ask("OPTIONS /v1/say", "origin: https://app.example\r\naccess-control-request-method: POST\r\n");
  EXPECT_EQ(preflight.status(), 204) << preflight.head;
  EXPECT_TRUE(preflight.has("access-control-allow-origin: https://app.example")) << preflight.head;
  const response r = ask("GET /v1/say/a", "origin: https://app.example\r\n");
  EXPECT_EQ(r.status(), 200);
  EXPECT_TRUE(r.has("access-control-allow-origin: https://app.example")) << r.head;
  EXPECT_EQ(ask("GET /v1/say/a", "origin: http://app.example\r\n").status(), 403);
}

TEST_P(rest_requests, ALoopbackServerAnswersToLoopbackHostsOnly) {
  const auto to = [&](const std::string& host) {
    return run(exchange(address_, "GET / HTTP/1.1\r\nconnection: close\r\nhost: " + host + "\r\n\r\n"))
        .substr(9, 3);
  };
  EXPECT_EQ(to("127.0.0.1:80"), "200");
  EXPECT_EQ(to("[::1]"), "200");
  EXPECT_EQ(to("evil.example"), "421");
  server_options options;
  options.web.allowed_hosts = {"movies.example"};
  serve(options);
  EXPECT_EQ(to("movies.example:8080"), "200");
  EXPECT_EQ(to("localhost"), "421");
  const auto reply = run(say(stub()));
  EXPECT_EQ(reply.status().code(), status_code::permission_denied) << reply.status();
}

}  // namespace
}  // namespace coracle::testing_support::rest_test
