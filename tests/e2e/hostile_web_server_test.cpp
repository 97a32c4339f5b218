// What a call in gRPC-Web or in the Connect protocol reports of a response that breaks the protocol.
#include "support/raw_http.hpp"
#include "support/server_by_hand.hpp"

#include "coracle/base/impl/base64.hpp"

#include <gmock/gmock.h>

namespace coracle::testing_support::hostile_web_server_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// src/client/web/web_exchange.hpp: rejected_body_bytes_max
constexpr std::size_t client_rejected_bytes_max = 64u << 10;

// Whether a message was read.
bool more(const result<bool>& read) { return read.ok() && *read; }

enum class shape { grpc_web, text, connect_unary, connect_stream };

struct bad_response {
  const char* name;
  shape of;
  std::string response;
  status_code code;
  std::string message;  // a part of it
};
void PrintTo(const bad_response& r, std::ostream* out) { *out << r.name; }

std::string http(int code, std::string_view content_type, std::string_view body, std::string_view more = {}) {
  std::string text = "HTTP/1.1 " + std::to_string(code) + " X\r\n";
  if (!content_type.empty()) text.append("content-type: ").append(content_type).append("\r\n");
  text.append(more);
  return text.append("content-length: " + std::to_string(body.size()) + "\r\n\r\n").append(body);
}

std::string frame(int flags, std::string_view content) {
  std::string f{static_cast<char>(flags), 0, static_cast<char>(content.size() >> 16),
                static_cast<char>(content.size() >> 8), static_cast<char>(content.size())};
  return f.append(content);
}

const std::string message = frame(0, "\x0a\x01z");
// A field of metadata above the client's limit.
const std::string large_field = "x-large: " + std::string(60'000, 'y') + "\r\n";
const std::string large = "the response headers have 60";
const std::string web = "application/grpc-web+proto";
const std::string stream = "application/connect+proto";

const std::vector<bad_response> responses = {
    {"NoTrailers", shape::grpc_web, http(200, web, message), status_code::internal, "ends without trailers"},
    {"CutMessage", shape::grpc_web, http(200, web, message.substr(0, 6)), status_code::internal,
     "ends within a message"},
    {"CutBody", shape::grpc_web,
     "HTTP/1.1 200 OK\r\ncontent-type: application/grpc-web+proto\r\ncontent-length: 100\r\n\r\n" + message,
     status_code::unavailable, ""},
    {"TrailersWithoutStatus", shape::grpc_web, http(200, web, message + frame(0x80, "x-a: b\r\n")),
     status_code::internal, "no grpc-status"},
    {"BrokenTrailers", shape::grpc_web, http(200, web, frame(0x80, "grpc status: 0\r\n")),
     status_code::internal, "malformed"},
    {"MessageAfterTrailers", shape::grpc_web, http(200, web, frame(0x80, "grpc-status: 0\r\n") + message),
     status_code::internal, "continues after its trailers"},
    {"CompressedTrailersWithoutEncoding", shape::grpc_web, http(200, web, frame(0x81, "grpc-status: 0\r\n")),
     status_code::internal, "without a grpc-encoding"},
    {"CompressedTrailersThatAreNot", shape::grpc_web,
     http(200, web, frame(0x81, "grpc-status: 0\r\n"), "grpc-encoding: gzip\r\n"), status_code::internal,
     "cannot be decompressed"},
    {"HugeTrailers", shape::grpc_web, http(200, web, std::string("\x80\x00\x10\x00\x01", 5) + "grpc-status"),
     status_code::internal, "exceeds 1 MiB"},
    {"LargeTrailers", shape::grpc_web,
     http(200, web, frame(0x80, large_field + "grpc-status: 10\r\ngrpc-message: no\r\n")),
     status_code::aborted, "no"},
    {"LargeHeaders", shape::grpc_web,
     http(200, web, message + frame(0x80, "grpc-status: 0\r\n"), large_field),
     status_code::resource_exhausted, large},
    {"LargeHeadersWithAnError", shape::grpc_web,
     http(200, web, "", large_field + "grpc-message: no\r\ngrpc-status: 10\r\n"), status_code::aborted,
     "no [" + large},
    {"HugeHeaders", shape::grpc_web, http(200, web, "", "x-huge: " + std::string(1'100'000, 'y') + "\r\n"),
     status_code::resource_exhausted, "the headers are too long"},
    {"ManyHeaders", shape::grpc_web,
     http(
         200, web, "",
         "grpc-status: 10\r\n" +
             [] {
               std::string all;
               for (int i = 0; i < 1000; ++i) all += "x-a: b\r\n";
               return all;
             }()),
     status_code::aborted, "the response headers have 3"},
    {"HtmlPage", shape::grpc_web, http(200, "text/html", "<html>"), status_code::unknown, "text/html"},
    {"NotFound", shape::grpc_web, http(404, "text/html", "<html>"), status_code::unimplemented,
     "HTTP status 404"},
    {"Unavailable", shape::grpc_web, http(503, web, ""), status_code::unavailable, "HTTP status 503"},
    {"OtherCodec", shape::grpc_web, http(200, "application/grpc-web+json", frame(0x80, "grpc-status: 0\r\n")),
     status_code::internal, "another codec"},
    {"NotHttp", shape::grpc_web, "SSH-2.0-OpenSSH\r\n\r\n", status_code::internal, ""},
    {"TextThatIsNotBase64", shape::text, http(200, "application/grpc-web-text+proto", "!!!!"),
     status_code::internal, "base64"},
    {"CutText", shape::text, http(200, "application/grpc-web-text+proto", "AAA"), status_code::internal,
     "base64"},
    {"UnaryCutBody", shape::connect_unary,
     "HTTP/1.1 200 OK\r\ncontent-type: application/proto\r\ncontent-length: 100\r\n\r\n\x0a\x01z",
     status_code::unavailable, ""},
    {"UnaryHtmlPage", shape::connect_unary, http(200, "text/html", "<html>"), status_code::unknown,
     "text/html"},
    {"UnaryWithoutContentType", shape::connect_unary, http(200, "", "x"), status_code::unknown,
     "without a content-type"},
    {"UnaryOfAnotherCodec", shape::connect_unary, http(200, "application/json", "{}"), status_code::internal,
     "another codec"},
    {"UnaryStream", shape::connect_unary, http(200, stream, ""), status_code::unknown, stream},
    {"UnaryUnknownEncoding", shape::connect_unary,
     http(200, "application/proto", "x", "content-encoding: rot13\r\n"), status_code::internal, "encoding"},
    {"UnaryNotCompressed", shape::connect_unary,
     http(200, "application/proto", "xyz", "content-encoding: gzip\r\n"), status_code::internal, ""},
    {"UnaryErrorPage", shape::connect_unary, http(429, "text/html", "<html>"), status_code::unavailable,
     "HTTP status 429"},
    {"UnaryErrorJson", shape::connect_unary,
     http(404, "application/json", R"({"code":"aborted","message":"no"})"), status_code::aborted, "no"},
    {"UnaryErrorBrokenJson", shape::connect_unary, http(503, "application/json", "{"),
     status_code::unavailable, ""},
    {"UnaryForgedStatus", shape::connect_unary,
     http(404, "application/json", R"({"code":"aborted"})", "trailer-grpc-status: 0\r\ngrpc-status: 0\r\n"),
     status_code::aborted, ""},
    {"UnaryLargeHeaders", shape::connect_unary, http(200, "application/proto", "\x0a\x01z", large_field),
     status_code::resource_exhausted, large},
    {"UnaryErrorWithLargeHeaders", shape::connect_unary,
     http(404, "", R"({"code":"aborted","message":"no"})",
          large_field + "content-type: application/json\r\n"),
     status_code::aborted, "no [" + large},
    {"UnaryErrorPageWithLargeHeaders", shape::connect_unary, http(503, "text/html", "<html>", large_field),
     status_code::unavailable, "HTTP status 503"},
    {"StreamLargeHeaders", shape::connect_stream, http(200, stream, message, large_field),
     status_code::resource_exhausted, large},
    {"UnaryTooLarge", shape::connect_unary, http(200, "application/proto", std::string(2000, 'x')),
     status_code::resource_exhausted, "max_receive_bytes"},
    {"StreamWithoutEnd", shape::connect_stream, http(200, stream, message), status_code::internal,
     "without the end of its stream"},
    {"StreamCutMessage", shape::connect_stream, http(200, stream, message.substr(0, 3)),
     status_code::internal, "ends within a message"},
    {"StreamBrokenEnd", shape::connect_stream, http(200, stream, frame(2, "{]")), status_code::internal,
     "malformed"},
    {"StreamMessageAfterEnd", shape::connect_stream, http(200, stream, frame(2, "{}") + message),
     status_code::internal, "continues after its end-stream message"},
    {"StreamForgedStatus", shape::connect_stream,
     http(200, stream, frame(2, R"({"error":{"code":"aborted"},"metadata":{"grpc-status":["0"]}})")),
     status_code::aborted, ""},
    {"StreamErrorPage", shape::connect_stream, http(401, "text/html", "<html>"), status_code::unauthenticated,
     "HTTP status 401"},
    {"StreamUnary", shape::connect_stream, http(200, "application/proto", ""), status_code::unknown,
     "application/proto"},
};

class BadResponse : public a_server_by_hand, public ::testing::WithParamInterface<bad_response> {};
INSTANTIATE_TEST_SUITE_P(Is, BadResponse, ::testing::ValuesIn(responses),
                         [](const auto& made) { return std::string(made.param.name); });

TEST_P(BadResponse, EndsTheCallWithItsStatus) {
  serve({{GetParam().response}});
  channel_options options;
  options.http_version = http_version::http1;
  options.protocol = GetParam().of == shape::grpc_web ? call_protocol::grpc_web
                     : GetParam().of == shape::text   ? call_protocol::grpc_web_text
                                                      : call_protocol::connect;
  options.calls.max_receive_bytes = 1000;
  options.calls.timeout = 10s;
  channel c(client_, address("hand"), insecure(), options);
  const auto unary = [](const channel& by) -> task<status> {
    co_return (co_await echo_stub(by).Say(echo::Text())).status();
  };
  const auto streamed = [](const channel& by) -> task<status> {
    auto call = echo_stub(by).Repeat(echo::Text());
    for (echo::Text each; more(co_await call.read(each));) {
    }
    co_return co_await call.finish();
  };
  const status outcome = run(GetParam().of == shape::connect_stream ? streamed(c) : unary(c));
  EXPECT_EQ(outcome.code(), GetParam().code) << outcome.to_string();
  EXPECT_THAT(std::string(outcome.message()), HasSubstr(GetParam().message));
}

TEST_F(a_server_by_hand, WhoseShortErrorPageIsReadKeepsItsConnection) {
  const auto page = [](std::size_t n) { return http(404, "text/html", std::string(n, 'x')); };
  server_by_hand& s =
      serve({{page(client_rejected_bytes_max), page(client_rejected_bytes_max + 1)}, {page(1)}});
  channel_options options;
  options.http_version = http_version::http1;
  options.protocol = call_protocol::connect;
  const channel c(client_, address("hand"), insecure(), options);
  EXPECT_EQ(call(c), "UNIMPLEMENTED");
  EXPECT_EQ(call(c), "UNIMPLEMENTED");
  EXPECT_EQ(s.connections, 1);
  EXPECT_EQ(call(c), "UNIMPLEMENTED");
  EXPECT_EQ(s.connections, 2);
}

class a_web_call : public a_server_by_hand {
 protected:
  channel to_server(call_protocol p) {
    channel_options options;
    options.http_version = http_version::http1;
    options.protocol = p;
    return channel(client_, address("hand"), insecure(), options);
  }
};

TEST_F(a_web_call, TakesTrailersFromTheHeadersOnlyIfThereIsNoBody) {
  serve({{http(200, web, "", "grpc-status: 10\r\ngrpc-message: no%20luck\r\n"),
          http(200, web, message + frame(0x80, "grpc-status: 0\r\n"), "grpc-status: 10\r\n")}});
  const channel c = to_server(call_protocol::grpc_web);
  EXPECT_EQ(call(c), "ABORTED");
  EXPECT_EQ(call(c), "z");
}

TEST_F(a_web_call, WritesWhatTheProtocolRequires) {
  server_by_hand& s = serve({{http(200, "application/proto", "")}, {}});
  const channel c = to_server(call_protocol::connect);
  EXPECT_EQ(call(c, within(5s)), "");
  EXPECT_THAT(s.last_request, ::testing::StartsWith("POST /echo.Echo/Say HTTP/1.1\r\nhost: "));
  EXPECT_THAT(s.last_request, HasSubstr("\r\ncontent-type: application/proto\r\n"));
  EXPECT_THAT(s.last_request, HasSubstr("\r\nconnect-protocol-version: 1\r\n"));
  EXPECT_THAT(s.last_request, HasSubstr("\r\nconnect-timeout-ms: 5000\r\n"));
  EXPECT_THAT(s.last_request, HasSubstr("\r\ncontent-length: 0\r\n"));
  EXPECT_THAT(s.last_request, ::testing::Not(HasSubstr("grpc-timeout")));
  EXPECT_THAT(s.last_request, ::testing::Not(HasSubstr("\r\nte: ")));
}

TEST_F(a_web_call, WritesTheRequestsBeforeOneReplyAsOneBase64Text) {
  server_by_hand& s = serve({{http(200, "application/grpc-web-text+proto", "")}});
  const channel c = to_server(call_protocol::grpc_web_text);
  const auto collect = [](const channel& by) -> task<> {
    auto call = echo_stub(by).Collect();
    echo::Text content;
    for (const char* each : {"a", "bb", "ccc"}) {
      content.set_text(each);
      EXPECT_EQ(co_await call.write(content), status());
    }
    EXPECT_FALSE((co_await call.finish()).ok());
  };
  run(collect(c));
  const std::string sent = raw_http::dechunked(s.last_request.substr(s.last_request.find("\r\n\r\n") + 4));
  std::string bytes;
  EXPECT_TRUE(base::base64_decode(sent, bytes)) << sent;  // which does not permit padding but at the end
  EXPECT_EQ(bytes, frame(0,
                         "\x0a\x01"
                         "a") +
                       frame(0,
                             "\x0a\x02"
                             "bb") +
                       frame(0,
                             "\x0a\x03"
                             "ccc"));
}

TEST_F(a_web_call, OfAMethodWithoutSideEffectsIsAGetRequestIfTheChannelSaysSo) {
  server_by_hand& s = serve({{http(200, "application/proto", ""), http(200, "application/proto", ""),
                              http(200, "application/proto", "")}});
  channel_options options;
  options.http_version = http_version::http1;
  options.protocol = call_protocol::connect;
  options.connect_get = true;
  options.connect_get_target_bytes_max = 200;
  const channel c(client_, address("hand"), insecure(), options);
  const auto ask_safely = [](const channel& by, std::string text, bool safe) -> task<> {
    echo::Text request;
    request.set_text(std::move(text));
    method_path path("/echo.Echo/Say");
    if (safe) path = path.without_side_effects();
    const auto reply = co_await generic_stub(by).unary<echo::Text>(path, request, within(5s));
    EXPECT_EQ(reply.status(), status());
  };
  run(ask_safely(c, "z", true));
  EXPECT_THAT(s.last_request, ::testing::StartsWith("GET /echo.Echo/Say?"));
  EXPECT_THAT(s.last_request, HasSubstr("message=CgF6"));
  run(ask_safely(c, "", false));
  EXPECT_THAT(s.last_request, ::testing::StartsWith("POST /echo.Echo/Say HTTP"));
  // base64 makes more than connect_get_target_bytes_max of 140 bytes, and less of 100.
  run(ask_safely(c, std::string(100, 'z'), true));
  EXPECT_THAT(s.last_request, ::testing::StartsWith("GET /echo.Echo/Say?"));
  EXPECT_EQ(s.requests, 3);
}

}  // namespace
}  // namespace coracle::testing_support::hostile_web_server_test
