// Every refusal of the server, with every kind of request body: the connection serves the next request, or it
// is closed in time.
#include "support/echo_fixture.hpp"
#include "support/raw_frames.hpp"
#include "support/raw_http.hpp"

#include "coracle/coro/when_all.hpp"
#include "coracle/coro/with_timeout.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::early_refusal_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr duration stall_time = 300ms;
// One or two periods of stall_time, then the time that a closing connection waits for its peer.
constexpr duration limit = 10s;

struct refusal {
  std::string verb;
  std::string path;
  std::string fields;  // each with CRLF
  int status;
  bool of_a_body = false;  // a request without a body is served
};

// Each place of the server that answers without reading the body, and the page.
const std::vector<refusal> refusals = {
    {"POST", "/nopage", "", 404},
    {"POST", "/echo.Echo/Say", "", 415},
    {"POST", "/nopage", "content-type: text/plain\r\n", 404},
    {"POST", "/nopage", "content-type: application/x-ndjson\r\n", 404},
    {"POST", "/nopage", "origin: https://another.example\r\n", 403},
    {"POST", "/nopage", "host: another.example\r\n", 421},
    {"OPTIONS", "/echo.Echo/Say", "origin: https://app.example\r\naccess-control-request-method: POST\r\n",
     204},
    {"OPTIONS", "/v1/say", "", 204},
    {"DELETE", "/nopage", "", 404},
    {"DELETE", "/", "", 405},
    {"DELETE", "/v1/say", "", 405},
    {"GET", "/nopage", "", 404},
    {"GET", "/", "", 200},
    {"HEAD", "/", "", 200},
    {"HEAD", "/nopage", "", 404},
    {"GET", "/v1/%zz", "", 400},
    {"POST", "/v1/say", "content-type: text/plain\r\n", 415, true},
    {"POST", "/v1/say", "content-type: application/json\r\ncontent-encoding: unheard-of\r\n", 415, true},
    {"HEAD", "/v1/repeat/a", "", 200},
    {"POST", "/upload", "content-type: text/plain\r\n", 415, true},
    {"POST", "/upload", "", 415, true},
    {"POST", "/echo.Echo/Nothing", "content-type: application/proto\r\n", 404},
    {"POST", "/echo.Echo/Chat", "content-type: application/proto\r\n", 415},
    {"POST", "/echo.Echo/Say", "content-type: application/connect+proto\r\n", 415},
    {"POST", "/echo.Echo/Say", "content-type: application/proto\r\ncontent-encoding: unheard-of\r\n", 501},
    {"POST", "/echo.Echo/Say", "content-type: application/proto\r\nconnect-timeout-ms: x\r\n", 400},
    {"POST", "/echo.Echo/Chat", "content-type: application/connect+proto\r\nconnect-timeout-ms: x\r\n", 200},
    {"GET", "/echo.Echo/Say?connect=v1", "", 405},
    {"POST", "/echo.Echo/Nothing", "content-type: application/grpc-web\r\n", 200},
    {"POST", "/echo.Echo/Say", "content-type: application/grpc-web\r\ngrpc-timeout: x\r\n", 200},
    {"POST", "/echo.Echo/Say", "content-type: application/grpc-web\r\ngrpc-timeout: 0n\r\n", 200},
    {"POST", "/echo.Echo/Say", "content-type: application/grpc-web-text\r\ngrpc-encoding: x\r\n", 200},
};

struct body {
  const char* name;
  std::string fields;
  std::string first;  // sent with the headers
  std::string rest;  // sent after the response
  bool ends = true;
  bool awaits_continue = false;
};

const std::vector<body> bodies = {
    {"no body", "content-length: 0\r\n", "", ""},
    {"counted", "content-length: 3\r\n", "abc", ""},
    {"chunked", "transfer-encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n", ""},
    {"chunked, without its end", "transfer-encoding: chunked\r\n", "3\r\nabc\r\n", "0\r\n\r\n"},
    {"expect, counted", "content-length: 3\r\nexpect: 100-continue\r\n", "", "abc", true, true},
    {"expect, chunked", "transfer-encoding: chunked\r\nexpect: 100-continue\r\n", "", "3\r\nabc\r\n0\r\n\r\n",
     true, true},
    {"counted, arriving", "content-length: 6\r\n", "abc", "def"},
    {"counted, nothing arrived", "content-length: 6\r\n", "", "abcdef"},
    {"long, arriving", "content-length: 100000\r\n", "abc", std::string(99'997, 'x')},
    {"counted, never finished", "content-length: 6\r\n", "abc", "", false},
    {"chunked, never finished", "transfer-encoding: chunked\r\n", "3\r\nabc\r\n", "", false},
};

// What a client has read of a connection, and what is left of it.
class reader {
 public:
  explicit reader(net::stream& s) : stream_(s) {}
  // The head of the next response: up to its empty line. Empty if the connection ends before.
  task<std::string> head() {
    std::size_t end = std::string::npos;
    while ((end = all_.find("\r\n\r\n")) == std::string::npos) {
      const bool got = co_await more();
      if (!got) co_return std::string();
    }
    std::string text = all_.substr(0, end + 2);
    all_.erase(0, end + 4);
    co_return text;
  }
  task<bool> skip(std::size_t n) {
    while (all_.size() < n) {
      const bool got = co_await more();
      if (!got) co_return false;
    }
    all_.erase(0, n);
    co_return true;
  }
  // The body of a chunked response.
  task<bool> skip_chunks() {
    const std::string end = "\r\n0\r\n\r\n";
    while (all_.find(end) == std::string::npos) {
      const bool got = co_await more();
      if (!got) co_return false;
    }
    all_.erase(0, all_.find(end) + end.size());
    co_return true;
  }
  task<bool> reaches_the_end() {
    bool got = true;
    while (got) got = co_await more();
    co_return all_.empty();
  }

 private:
  task<bool> more() {
    std::uint8_t bytes[4096];
    const auto got = co_await stream_.read(bytes);
    if (!got || *got == 0) co_return false;
    all_.append(reinterpret_cast<const char*>(bytes), *got);
    co_return true;
  }
  net::stream& stream_;
  std::string all_;
};

// Reads a response of HTTP/1.1. Returns its head; empty if it is not complete.
task<std::string> read_response(reader& from, bool without_body) {
  std::string head = co_await from.head();
  if (without_body || head.empty() || head.starts_with("HTTP/1.1 100 ") || head.starts_with("HTTP/1.1 204 "))
    co_return head;
  bool whole = false;
  if (head.find("transfer-encoding: chunked") != std::string::npos) {
    whole = co_await from.skip_chunks();
  } else {
    const std::size_t at = head.find("content-length: ");
    if (at != std::string::npos) whole = co_await from.skip(std::stoul(head.substr(at + 16)));
  }
  if (!whole) head.clear();
  co_return head;
}

// Makes one request and the next one. Returns the fault; empty if there is none.
task<std::string> fault_of(std::string address, const refusal& r, const body& b) {
  net::stream s = co_await raw_http::connect(address);
  reader in(s);
  const bool names_host = r.fields.find("host:") != std::string::npos;
  co_await raw_http::send(s, r.verb + " " + r.path + " HTTP/1.1\r\n" +
                                 (names_host ? "" : "host: localhost\r\n") + r.fields + b.fields + "\r\n" +
                                 b.first);
  std::string rest = b.rest;
  std::string head = co_await read_response(in, r.verb == "HEAD");
  if (b.awaits_continue && head.starts_with("HTTP/1.1 100 ")) {
    co_await raw_http::send(s, std::exchange(rest, {}));
    head = co_await read_response(in, r.verb == "HEAD");
  }
  if (head.empty()) co_return std::string("no complete response");
  const bool served = r.of_a_body && b.first.empty() && b.rest.empty();
  if (!served && head.substr(9, 3) != std::to_string(r.status)) co_return "another status: " + head;
  const bool closes = head.find("connection: close\r\n") != std::string::npos;
  // The server may have closed the connection by now.
  if (!rest.empty()) static_cast<void>(co_await s.write(as_bytes(rest)));
  if (closes || !b.ends) {
    const bool ended = co_await in.reaches_the_end();
    co_return std::string(ended ? "" : "bytes after the last response");
  }
  const std::string next = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
  static_cast<void>(co_await s.write(as_bytes(next)));
  head = co_await read_response(in, false);
  if (!head.starts_with("HTTP/1.1 200 ")) co_return "the next request is not served: " + head;
  const bool ended = co_await in.reaches_the_end();
  co_return std::string(ended ? "" : "bytes after the last response");
}

// The same for a stream of HTTP/2 whose body never ends: it is reset without an error after the response.
task<std::string> fault_of_stream(std::string address, const refusal& r) {
  std::string authority = "localhost";
  std::string block;
  for (std::size_t at = 0, end = 0; (end = r.fields.find("\r\n", at)) != std::string::npos; at = end + 2) {
    const std::size_t colon = r.fields.find(": ", at);
    const std::string name = r.fields.substr(at, colon - at);
    const std::string value = r.fields.substr(colon + 2, end - colon - 2);
    if (name == "host") authority = value;
    else block += raw_frames::literal(name, value);
  }
  block = raw_frames::literal(":method", r.verb) + raw_frames::literal(":scheme", "http") +
          raw_frames::literal(":path", r.path) + raw_frames::literal(":authority", authority) + block;
  net::stream s = co_await raw_http::connect(address);
  co_await raw_http::send(s, raw_frames::greeting() +
                                 raw_frames::frame(raw_frames::headers, raw_frames::end_headers, 1, block) +
                                 raw_frames::frame(raw_frames::data, 0, 1, "abc"));
  std::string all;
  bool answered = false;
  while (true) {
    std::uint8_t bytes[4096];
    const auto got = co_await s.read(bytes);
    if (!got || *got == 0) co_return std::string("the connection ended");
    all.append(reinterpret_cast<const char*>(bytes), *got);
    while (all.size() >= 9) {
      const auto octet = [&](std::size_t i) {
        return static_cast<std::size_t>(static_cast<unsigned char>(all[i]));
      };
      const std::size_t size = octet(0) << 16 | octet(1) << 8 | octet(2);
      if (all.size() < 9 + size) break;
      if (all[3] == raw_frames::goaway) co_return std::string("GOAWAY");
      if (octet(8) == 1 && all[3] == raw_frames::rst_stream) {
        if (all.substr(9, 4) != "\0\0\0\0"s) co_return std::string("RST_STREAM with an error");
        co_return std::string(answered ? "" : "RST_STREAM before the end of the response");
      }
      if (octet(8) == 1 && (all[4] & raw_frames::end_stream) != 0) answered = true;
      all.erase(0, 9 + size);
    }
  }
}

// Adds what was wrong, or that nothing happened in time.
task<> within_the_limit(task<std::string> checked, std::string name, std::string& faults) {
  with_timeout<std::string> limited(limit, std::move(checked));
  const result<std::string> fault = co_await limited;
  if (!fault) faults += name + ": nothing within the limit\n";
  else if (!fault->empty()) faults += name + ": " + *fault + "\n";
}

constexpr const char* rules = R"({"http": {"rules": [
  {"selector": "echo.Echo.Say", "post": "/v1/say", "body": "*"},
  {"selector": "echo.Echo.Repeat", "get": "/v1/repeat/{text}"}]}})";

class early_refusals : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
  }
  void serve(server_options options) {
    options.web.allowed_hosts = {"localhost"};
    options.web.allowed_origins = {"https://app.example"};
    server_.emplace(rt(), options);
    server_->add(served());
    http_route upload("POST", "/upload",
                      [](http_request) -> task<http_response> { co_return http_response(); });
    upload.content_types = {"image/png"};
    server_->add_http(upload);
    rest_options rest;
    rest.http_rules = rules;
    ASSERT_EQ(server_->add_rest(rest), status());
    link();
  }
  // Of all checks, which run at the same time.
  static task<std::string> faults_of(std::vector<std::pair<std::string, task<std::string>>> checks) {
    std::string faults;
    std::vector<task<>> all;
    for (auto& [name, check] : checks) all.push_back(within_the_limit(std::move(check), name, faults));
    co_await when_all(std::move(all));
    co_return faults;
  }
  std::string faults_of_table(bool ends) {
    std::vector<std::pair<std::string, task<std::string>>> checks;
    for (const refusal& r : refusals)
      for (const body& b : bodies)
        if (b.ends == ends)
          checks.emplace_back(r.verb + " " + r.path + " (" + r.fields + ") " + b.name,
                              fault_of(address_, r, b));
    return run(faults_of(std::move(checks)));
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, early_refusals, every_world_over_tcp, echo_fixture::case_name);

TEST_P(early_refusals, AreFollowedByTheNextRequestOrByTheEndOfTheConnection) {
  serve({});
  EXPECT_EQ(faults_of_table(true), "");
}

TEST_P(early_refusals, OfABodyThatNeverEndsAreFollowedByTheEndOfTheConnection) {
  server_options options;
  options.limits.stall_time = stall_time;
  serve(options);
  EXPECT_EQ(faults_of_table(false), "");
}

TEST_P(early_refusals, OfStreamsOfHttp2AreFollowedByAResetWithoutAnError) {
  serve({});
  std::vector<std::pair<std::string, task<std::string>>> checks;
  static const std::vector<refusal> calls = {
      {"POST", "/echo.Echo/Nothing", "content-type: application/grpc\r\n", 200},
      {"POST", "/echo.Echo/Say", "content-type: application/grpc\r\ngrpc-timeout: x\r\n", 200},
      {"POST", "/echo.Echo/Say", "content-type: application/grpc\r\ngrpc-encoding: x\r\n", 200},
      {"POST", "/echo.Echo/Say", "content-type: application/grpc\r\nhost: another.example\r\n", 200},
  };
  for (const refusal& r : calls)
    checks.emplace_back(r.path + " (" + r.fields + ")", fault_of_stream(address_, r));
  for (const refusal& r : refusals)
    checks.emplace_back(r.verb + " " + r.path + " (" + r.fields + ")", fault_of_stream(address_, r));
  EXPECT_EQ(run(faults_of(std::move(checks))), "");
}

TEST_P(early_refusals, OfCallsAboveTheLimitAreFollowedByTheNextRequest) {
  server_options options;
  options.limits.calls = 0;
  serve(options);
  std::vector<std::pair<std::string, task<std::string>>> checks;
  static const std::vector<refusal> calls = {
      {"POST", "/echo.Echo/Say", "content-type: application/grpc-web\r\n", 200},
      {"POST", "/echo.Echo/Chat", "content-type: application/connect+proto\r\n", 200},
      {"POST", "/upload", "content-type: image/png\r\n", 503},
  };
  for (const refusal& r : calls)
    for (const body& b : bodies)
      if (b.ends) checks.emplace_back(r.path + " " + b.name, fault_of(address_, r, b));
  EXPECT_EQ(run(faults_of(std::move(checks))), "");
}

}  // namespace
}  // namespace coracle::testing_support::early_refusal_test
