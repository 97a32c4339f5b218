// Requests that are not gRPC, as octets: answered completely and immediately, whether or not their bodies
// end.
#include "support/echo_fixture.hpp"
#include "support/kept_log.hpp"
#include "support/raw_frames.hpp"

#include "coracle/net/stream.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing_support::non_grpc_requests_test {
namespace {

using namespace std::string_literals;
using raw_frames::literal;

struct seen_frame {
  char kind;
  char flags;
  int stream;
  std::string payload;
};

// The whole frames at the beginning of `bytes`.
std::vector<seen_frame> frames_of(std::string_view bytes) {
  std::vector<seen_frame> all;
  const auto octet = [&](std::size_t i) { return static_cast<int>(static_cast<unsigned char>(bytes[i])); };
  while (bytes.size() >= 9) {
    const std::size_t size = static_cast<std::size_t>(octet(0) << 16 | octet(1) << 8 | octet(2));
    if (bytes.size() < 9 + size) break;
    const int stream = (octet(5) & 0x7f) << 24 | octet(6) << 16 | octet(7) << 8 | octet(8);
    all.push_back({bytes[3], bytes[4], stream, std::string(bytes.substr(9, size))});
    bytes.remove_prefix(9 + size);
  }
  return all;
}

std::string kinds_of(const std::vector<seen_frame>& frames) {
  std::string text;
  for (const seen_frame& f : frames) {
    if (f.stream == 0) continue;
    const char* const name = f.kind == raw_frames::headers      ? "HEADERS"
                             : f.kind == raw_frames::data       ? "DATA"
                             : f.kind == raw_frames::rst_stream ? "RST_STREAM"
                                                                : "?";
    text.append(name);
    if (f.kind == raw_frames::rst_stream) text.append(f.payload == "\0\0\0\0"s ? " NO_ERROR" : " error");
    else if (f.flags & raw_frames::end_stream) text.append(" END_STREAM");
    text.append(f.kind == raw_frames::data ? ": " + f.payload : "\n");
  }
  return text;
}

// Headers whose stream stays open unless `flags` end it.
std::string head_of(const std::string& verb, const std::string& path, const std::string& content_type = {},
                    char flags = 0) {
  std::string block = literal(":method", verb) + literal(":scheme", "http") + literal(":path", path) +
                      literal(":authority", "h");
  if (!content_type.empty()) block += literal("content-type", content_type);
  return raw_frames::frame(raw_frames::headers, static_cast<char>(raw_frames::end_headers | flags), 1, block);
}

class plain_requests : public echo_fixture {
 protected:
  using predicate = std::function<bool(const std::string&)>;
  // Sends `said` and reads until `enough`, or to the end of the connection.
  static task<std::string> exchange(std::string address, std::string content, predicate enough) {
    auto connected = co_await net::stream::connect(net::address::parse(address).value());
    net::stream s = std::move(connected).value();
    const status written = co_await s.write(as_bytes(content));
    EXPECT_EQ(written, status());
    std::string all;
    std::uint8_t bytes[4096];
    while (!enough(all)) {
      const auto got = co_await s.read(bytes);
      if (!got) all.append("(").append(got.status().to_string()).append(")");
      if (!got || *got == 0) break;
      all.append(reinterpret_cast<const char*>(bytes), *got);
    }
    co_return all;
  }
  // Returns the frames of the streams that answer `said`, up to the acknowledgement of a PING after it.
  std::string answer(const std::string& content) {
    const std::string ping = raw_frames::frame(raw_frames::ping, 0, 0, "12345678");
    return kinds_of(
        frames_of(run(exchange(address_, raw_frames::greeting() + content + ping, [](const std::string& all) {
          const auto frames = frames_of(all);
          const bool answered = std::any_of(frames.begin(), frames.end(), [](const seen_frame& f) {
            return f.kind == raw_frames::ping && f.flags == raw_frames::ack;
          });
          const bool ended = std::any_of(frames.begin(), frames.end(), [](const seen_frame& f) {
            return f.stream == 1 && f.kind != raw_frames::rst_stream && (f.flags & raw_frames::end_stream);
          });
          return answered && ended;
        }))));
  }
  // Returns the bytes up to the end of the connection, without the lines of Date, which every response has.
  std::string answer_to_bytes(const std::string& content) {
    std::string all = run(exchange(address_, content, [](const std::string&) { return false; }));
    EXPECT_TRUE(!all.starts_with("HTTP/") || all.find("\r\ndate: ") != std::string::npos) << all;
    for (std::size_t at; (at = all.find("date: ")) != std::string::npos;)
      all.erase(at, all.find("\n", at) + 1 - at);
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, plain_requests, every_world_over_tcp, echo_fixture::case_name);

constexpr const char* wrong_type =
    "HEADERS\nDATA END_STREAM: a call requires a content-type of gRPC (application/grpc, "
    "application/grpc+proto), gRPC-Web (application/grpc-web, application/grpc-web+proto, "
    "application/grpc-web-text, application/grpc-web-text+proto) or Connect (application/proto, "
    "application/connect+proto)\n";
constexpr const char* wrong_verb =
    "HEADERS\nDATA END_STREAM: a gRPC call is a POST request, a page a GET request\n";

TEST_P(plain_requests, AnotherContentTypeIsAnsweredWhileTheBodyIsOpen) {
  for (const char* type : {"application/grpc-web+unheard-of", "application/grpc+unheard-of", "text/plain"})
    EXPECT_EQ(answer(head_of("POST", "/echo.Echo/Chat", type)), wrong_type + "RST_STREAM NO_ERROR\n"s)
        << type;
}

TEST_P(plain_requests, AnotherVerbIsAnsweredWhileTheBodyIsOpen) {
  for (const char* verb : {"PUT", "GET", "DELETE"})
    EXPECT_EQ(answer(head_of(verb, "/echo.Echo/Chat", "application/grpc")),
              wrong_verb + "RST_STREAM NO_ERROR\n"s)
        << verb;
}

// A client that keeps sending after a reset: HTTP/2 permits data that is in flight.
TEST_P(plain_requests, TheRestOfABodyThatIsOnItsWayIsDropped) {
  const std::string body = raw_frames::frame(raw_frames::data, 0, 1, std::string(10'000, 'x'));
  EXPECT_EQ(answer(head_of("POST", "/echo.Echo/Chat", "text/plain") + body + body),
            wrong_type + "RST_STREAM NO_ERROR\n"s);
}

TEST_P(plain_requests, TheCaseOfAContentTypeIsIgnored) {
  for (const char* type : {"APPLICATION/GRPC", "Application/Grpc+PROTO", "application/grpc ;x=y"}) {
    const std::string body =
        raw_frames::frame(raw_frames::data, raw_frames::end_stream, 1, std::string(5, '\0'));
    EXPECT_EQ(answer(head_of("POST", "/echo.Echo/Say", type) + body),
              "HEADERS\nDATA: " + std::string(5, '\0') + "HEADERS END_STREAM\n")
        << type;
  }
}

TEST_P(plain_requests, ARefusedTypeIsAnsweredWithThoseThatThePortAccepts) {
  channel_.reset();
  server_options options;
  options.codecs = {&json_codec()};
  options.web.grpc_web = false;
  server_.emplace(rt(), options);
  server_->add(served());
  link();
  EXPECT_EQ(answer(head_of("POST", "/echo.Echo/Chat", "text/plain")),
            "HEADERS\nDATA END_STREAM: a call requires a content-type of gRPC (application/grpc, "
            "application/grpc+proto, application/grpc+json) or Connect (application/proto, application/json, "
            "application/connect+proto, application/connect+json)\nRST_STREAM NO_ERROR\n");
  const std::string http1 = answer_to_bytes(
      "POST /a HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
  EXPECT_EQ(http1.substr(http1.find("\r\n\r\n") + 4),
            "a call requires a content-type of Connect (application/proto, application/json, "
            "application/connect+proto, application/connect+json)\n");
}

TEST_P(plain_requests, OneWithoutAContentTypeIsResetIfItGoesOn) {
  const auto answered = [this](const std::string& content) {
    return kinds_of(
        frames_of(run(exchange(address_, raw_frames::greeting() + content, [](const std::string& all) {
          const auto frames = frames_of(all);
          return std::any_of(frames.begin(), frames.end(),
                             [](const seen_frame& f) { return f.kind == raw_frames::rst_stream; });
        }))));
  };
  const std::string reset = wrong_type + "RST_STREAM NO_ERROR\n"s;
  EXPECT_EQ(answered(head_of("POST", "/echo.Echo/Chat")), reset) << "for a time";
  const std::string piece = raw_frames::frame(raw_frames::data, 0, 1, std::string(16'000, 'x'));
  EXPECT_EQ(answered(head_of("POST", "/echo.Echo/Chat") + piece + piece + piece + piece + piece), reset)
      << "with more than 64 KiB";
}

TEST_P(plain_requests, OneWithoutAContentTypeIsAnsweredAtOnceAndReadToItsEnd) {
  EXPECT_EQ(answer(head_of("POST", "/echo.Echo/Chat")), wrong_type);
  const std::string last = raw_frames::frame(raw_frames::data, raw_frames::end_stream, 1, "x");
  EXPECT_EQ(answer(head_of("POST", "/echo.Echo/Chat") + last), wrong_type);
}

TEST_P(plain_requests, AHeadRequestHasTheFieldsAlone) {
  for (const char* path : {"/", "/nowhere", "/echo.Echo/Chat"})
    EXPECT_EQ(answer(head_of("HEAD", path, {}, raw_frames::end_stream)), "HEADERS END_STREAM\n") << path;
}

// --- HTTP/1.x

constexpr std::string_view page =
    "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: 61\r\n";
constexpr std::string_view page_text = "<!doctype html>\n<title>Coracle</title>\n<p>A gRPC server.</p>\n";

TEST_P(plain_requests, AnHttp1RequestGetsThePage) {
  const std::string whole = std::string(page) + "connection: close\r\n\r\n" + std::string(page_text);
  EXPECT_EQ(answer_to_bytes("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"), whole);
  EXPECT_EQ(answer_to_bytes("GET / HTTP/1.0\r\n\r\n"), whole);
  EXPECT_EQ(
      answer_to_bytes("GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close, Upgrade, HTTP2-Settings\r\n"
                      "upgrade: h2c\r\n\r\n"),
      whole);
}

TEST_P(plain_requests, PipelinedHttp1RequestsAreAnsweredInOrder) {
  EXPECT_EQ(answer_to_bytes("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
                            "HEAD / HTTP/1.1\r\nhost: localhost\r\n\r\n"
                            "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"),
            std::string(page) + "\r\n" + std::string(page_text) + std::string(page) + "\r\n" +
                std::string(page) + "connection: close\r\n\r\n" + std::string(page_text));
}

TEST_P(plain_requests, AnInvalidHttp1RequestGets400AndTheEndOfTheConnection) {
  for (const char* content : {"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
                              "GET / HTTP/1.1\r\nhost : a\r\n\r\n", "GET / HTTP/1.1\nhost: a\n\n",
                              "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n"
                              "transfer-encoding: chunked\r\n\r\n0\r\n\r\n"}) {
    const std::string response = answer_to_bytes(content);
    EXPECT_TRUE(response.starts_with("HTTP/1.1 400 Bad Request\r\n")) << content << response;
    EXPECT_NE(response.find("connection: close\r\n"), std::string::npos) << content;
  }
  EXPECT_TRUE(answer_to_bytes("GET / HTTP/2.0\r\nhost: a\r\n\r\n").starts_with("HTTP/1.1 505 "));
  EXPECT_TRUE(answer_to_bytes("GET /" + std::string(9'000, 'x')).starts_with("HTTP/1.1 414 "));
}

TEST_P(plain_requests, AnotherBadPrefaceGetsSettingsAndTheEnd) {
  for (const char* content : {"INVALID CONNECTION PREFACE\r\n\r\n", "\x16\x03\x01\x02"}) {
    const auto frames = frames_of(answer_to_bytes(content));
    ASSERT_FALSE(frames.empty()) << content;
    EXPECT_EQ(frames.front().kind, raw_frames::settings) << content;
  }
}

TEST(a_peer_that_speaks_another_protocol, IsNamedInTheLog) {
  const std::pair<const char*, const char*> peers[] = {
      {"\x16\x03\x01\x02", "the peer speaks TLS, and this side plaintext"},
      {"SSH-2.0-OpenSSH_9.2\r\n", "the peer speaks SSH"},
      {"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n",
       "the peer begins with the PROXY protocol, which is not supported"},
      {"EHLO example\r\n", "the first line is not one of HTTP/1.x"},
  };
  for (const auto& [content, name] : peers) {
    kept_log lines;
    lines.set_min_level(log_level::info);
    runtime rt(runtime_options{.log = &lines});
    echo_service echo;
    server s(rt);
    s.add(echo);
    ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
    const std::string address = "127.0.0.1:" + std::to_string(s.port());
    const auto body = [](std::string to, std::string bytes) -> task<> {
      auto connected = co_await net::stream::connect(net::address::parse(to).value());
      net::stream peer = std::move(connected).value();
      const status written = co_await peer.write(as_bytes(bytes));
      EXPECT_EQ(written, status());
      std::uint8_t answer[256];
      while (true) {
        const auto got = co_await peer.read(answer);
        if (!got || *got == 0) break;
      }
    };
    sync_wait(rt, rt.at(0), body(address, content));
    EXPECT_THAT(lines.text(), ::testing::HasSubstr("was closed: "s + name));
  }
}

}  // namespace
}  // namespace coracle::testing_support::non_grpc_requests_test
