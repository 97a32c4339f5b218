// A method with one request runs when its message is complete, whether or not the client has ended its side.
#include "support/echo_fixture.hpp"
#include "support/raw_frames.hpp"
#include "support/raw_http.hpp"

#include "coracle/coro/sleep.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing_support::late_half_close_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using raw_frames::frame;
using raw_frames::literal;
using ::testing::HasSubstr;

std::string message_of(const echo::Text& text) {
  const std::string body = text.SerializeAsString();
  return "\0\0\0\0"s + static_cast<char>(body.size()) + body;
}

std::string head(const std::string& method, const std::string& content_type, int stream = 1) {
  return frame(raw_frames::headers, raw_frames::end_headers, stream,
               literal(":method", "POST") + literal(":scheme", "http") +
                   literal(":path", "/echo.Echo/" + method) + literal(":authority", "localhost") +
                   literal("te", "trailers") + literal("content-type", content_type));
}

std::string data(const std::string& payload, char flags = 0, int stream = 1) {
  return frame(raw_frames::data, flags, stream, payload);
}

const std::string half_close = data({}, raw_frames::end_stream);
const std::string ping = frame(raw_frames::ping, 0, 0, "12345678");

class late_half_close : public echo_fixture {
 public:
  // A connection of HTTP/2 as octets.
  class peer {
   public:
    explicit peer(net::stream s) : stream_(std::move(s)) {}
    task<> send(std::string frames) { co_await raw_http::send(stream_, std::move(frames)); }
    // The frames of stream 1 that arrive up to one of the kind: HEADERS with END_STREAM, DATA with its bytes
    // and so on. "(end)" if the connection ends before.
    task<std::string> until(char kind, char flag) {
      std::string seen;
      while (true) {
        while (all_.size() >= 9) {
          const auto octet = [&](std::size_t i) {
            return static_cast<std::size_t>(static_cast<unsigned char>(all_[i]));
          };
          const std::size_t size = octet(0) << 16 | octet(1) << 8 | octet(2);
          if (all_.size() < 9 + size) break;
          const std::string payload = all_.substr(9, size);
          const char of = all_[3];
          const char flags = all_[4];
          const bool ours = octet(8) == 1;
          all_.erase(0, 9 + size);
          if (ours) seen += described(of, flags, payload);
          if (of == kind && (flag == 0 || (flags & flag) != 0)) co_return seen;
        }
        std::uint8_t bytes[4096];
        const auto got = co_await stream_.read(bytes);
        if (!got || *got == 0) co_return seen + "(end)";
        all_.append(reinterpret_cast<const char*>(bytes), *got);
      }
    }

   private:
    static std::string described(char kind, char flags, const std::string& payload) {
      const std::string end = (flags & raw_frames::end_stream) != 0 ? " END_STREAM " : " ";
      if (kind == raw_frames::headers) return "HEADERS" + end;
      if (kind == raw_frames::data) return "DATA" + end + status_in(payload);
      if (kind == raw_frames::rst_stream)
        return payload == "\0\0\0\0"s ? "RST_STREAM NO_ERROR " : "RST_STREAM error ";
      return {};
    }
    // Of the trailers of gRPC-Web; those of gRPC are encoded.
    static std::string status_in(const std::string& payload) {
      const std::string name = "grpc-status: ";
      const std::size_t at = payload.find(name);
      if (at == std::string::npos) return {};
      return "status " + payload.substr(at + name.size(), payload.find('\r', at) - at - name.size()) + " ";
    }
    net::stream stream_;
    std::string all_;
  };

  [[nodiscard]] std::string address() const { return address_; }
  // How many handlers were stopped while they waited.
  [[nodiscard]] int stopped() const { return service_.stopped; }
  task<> until_handlers_wait(int count) {
    while (service_.hung != count) co_await sleep_for(1ms);
  }
  task<std::unique_ptr<peer>> connect() {
    net::stream s = co_await raw_http::connect(address_);
    auto made = std::make_unique<peer>(std::move(s));
    co_await made->send(raw_frames::greeting());
    co_return made;
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, late_half_close, every_world_over_tcp, echo_fixture::case_name);

TEST_P(late_half_close, AReplyComesBeforeItAndAResetWithoutAnErrorFollows) {
  for (const char* type : {"application/grpc", "application/grpc-web", "application/connect+proto"}) {
    const bool connect_stream = type == "application/connect+proto"s;
    const auto body = [](late_half_close& self, std::string method,
                         std::string content_type) -> task<std::string> {
      const std::unique_ptr<peer> p = co_await self.connect();
      co_await p->send(head(method, content_type) + data(message_of(text("a", 1))));
      std::string seen = co_await p->until(raw_frames::rst_stream, 0);
      // What comes late costs nothing.
      co_await p->send(half_close + ping);
      seen += co_await p->until(raw_frames::ping, raw_frames::ack);
      co_return seen;
    };
    const std::string seen = run(body(*this, connect_stream ? "Repeat" : "Say", type));
    EXPECT_THAT(seen, HasSubstr("HEADERS ")) << type;
    EXPECT_THAT(seen, HasSubstr("DATA ")) << type;
    EXPECT_THAT(seen, HasSubstr("END_STREAM ")) << type;
    EXPECT_TRUE(seen.ends_with(" RST_STREAM NO_ERROR ")) << type << ": " << seen;
  }
}

TEST_P(late_half_close, AStreamOfRepliesBeginsBeforeIt) {
  const auto body = [](late_half_close& self) -> task<std::string> {
    const std::unique_ptr<peer> p = co_await self.connect();
    co_await p->send(head("Repeat", "application/grpc") + data(message_of(text("a", 2))));
    const std::string seen = co_await p->until(raw_frames::rst_stream, 0);
    co_return seen;
  };
  const std::string seen = run(body(*this));
  EXPECT_TRUE(seen.starts_with("HEADERS DATA ")) << seen;
  EXPECT_TRUE(seen.ends_with("HEADERS END_STREAM RST_STREAM NO_ERROR ")) << seen;
}

TEST_P(late_half_close, ThatComesWithTheMessageIsFollowedByNoReset) {
  const auto body = [](late_half_close& self) -> task<std::string> {
    const std::unique_ptr<peer> p = co_await self.connect();
    co_await p->send(head("Say", "application/grpc") + data(message_of(text("a"))) + half_close);
    std::string seen = co_await p->until(raw_frames::headers, raw_frames::end_stream);
    co_await p->send(ping);
    seen += co_await p->until(raw_frames::ping, raw_frames::ack);
    co_return seen;
  };
  EXPECT_EQ(run(body(*this)), "HEADERS DATA HEADERS END_STREAM ");
}

TEST_P(late_half_close, OfARunningHandlerIsNoSecondStart) {
  const auto body = [](late_half_close& self) -> task<std::string> {
    const std::unique_ptr<peer> p = co_await self.connect();
    co_await p->send(head("Misbehave", "application/grpc") + data(message_of(text("hang"))));
    co_await self.until_handlers_wait(1);
    co_await p->send(half_close + ping);
    std::string seen = co_await p->until(raw_frames::ping, raw_frames::ack);
    co_await p->send(frame(raw_frames::rst_stream, 0, 1, "\0\0\0\x08"s) + ping);
    seen += co_await p->until(raw_frames::ping, raw_frames::ack);
    while (self.stopped() == 0) co_await sleep_for(1ms);
    co_return seen;
  };
  EXPECT_EQ(run(body(*this)), "");
  EXPECT_EQ(stopped(), 1);
}

TEST_P(late_half_close, ASecondMessageInItsPlaceEndsTheCallAndStopsTheHandler) {
  const auto body = [](late_half_close& self) -> task<std::string> {
    const std::unique_ptr<peer> p = co_await self.connect();
    co_await p->send(head("Misbehave", "application/grpc-web") + data(message_of(text("hang"))));
    co_await self.until_handlers_wait(1);
    co_await p->send(data(message_of(text("again"))));
    std::string seen = co_await p->until(raw_frames::rst_stream, 0);
    while (self.stopped() == 0) co_await sleep_for(1ms);
    co_return seen;
  };
  EXPECT_EQ(run(body(*this)), "HEADERS DATA END_STREAM status 12 RST_STREAM NO_ERROR ");
  EXPECT_EQ(stopped(), 1);
}

// In a simulated world, where nothing delays the second message.
class late_message : public late_half_close {};
INSTANTIATE_TEST_SUITE_P(Everywhere, late_message,
                         ::testing::Combine(::testing::Values(world_kind::sim),
                                            ::testing::Values(link_kind::tcp)),
                         echo_fixture::case_name);

TEST_P(late_message, ThatComesSoonAfterTheFirstReachesNoHandler) {
  for (const char* method : {"Say", "Repeat"}) {
    const auto body = [](late_message& self, std::string called) -> task<std::string> {
      const std::unique_ptr<peer> p = co_await self.connect();
      co_await p->send(head(called, "application/grpc-web") + data(message_of(text("a", 1))) + ping);
      co_await p->until(raw_frames::ping, raw_frames::ack);  // the server has read the first
      co_await p->send(data(message_of(text("again"))) + half_close);
      const std::string seen = co_await p->until(raw_frames::data, raw_frames::end_stream);
      co_return seen;
    };
    EXPECT_EQ(run(body(*this, method)), "HEADERS DATA END_STREAM status 12 ") << method;
  }
}

TEST_P(late_half_close, ASecondMessageWithTheFirstReachesNoHandler) {
  const auto body = [](late_half_close& self) -> task<std::string> {
    const std::unique_ptr<peer> p = co_await self.connect();
    co_await p->send(head("Misbehave", "application/grpc-web") + data(message_of(text("hang"))) +
                     data(message_of(text("again"))) + half_close);
    const std::string seen = co_await p->until(raw_frames::data, raw_frames::end_stream);
    co_return seen;
  };
  EXPECT_EQ(run(body(*this)), "HEADERS DATA END_STREAM status 12 ");
  EXPECT_EQ(stopped(), 0);
}

// An interceptor may ask for the request after it has come.
class slow_interceptor final : public server_interceptor {
 public:
  task<status> intercept(server_context&, next_handler next) override {
    co_await sleep_for(20ms);
    const status s = co_await next();
    co_return s;
  }
};

TEST_P(late_half_close, AHandlerBehindAnInterceptorRunsBeforeIt) {
  channel_.reset();
  server_.emplace(rt());
  server_->add(served());
  server_->add_interceptor(std::make_shared<slow_interceptor>());
  link();
  const auto body = [](late_half_close& self) -> task<std::string> {
    const std::unique_ptr<peer> p = co_await self.connect();
    co_await p->send(head("Say", "application/grpc") + data(message_of(text("a"))));
    const std::string seen = co_await p->until(raw_frames::rst_stream, 0);
    co_return seen;
  };
  EXPECT_EQ(run(body(*this)), "HEADERS DATA HEADERS END_STREAM RST_STREAM NO_ERROR ");
}

// A response before the end of a chunked body costs the connection.
TEST_P(late_half_close, OfHttp1IsAwaitedAndTheConnectionServesTheNextRequest) {
  const auto body = [](late_half_close& self) -> task<std::string> {
    net::stream s = co_await raw_http::connect(self.address());
    const std::string request = message_of(text("a"));
    co_await raw_http::send(
        s,
        "POST /echo.Echo/Say HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/grpc-web\r\n"
        "transfer-encoding: chunked\r\n\r\n8\r\n" +
            request + "\r\n");
    co_await sleep_for(20ms);
    co_await raw_http::send(s, "0\r\n\r\n");
    std::string all;
    co_await raw_http::receive_until(s, all, "\r\n0\r\n\r\n");
    co_await raw_http::send(s, raw_http::request("GET /"));
    co_await raw_http::receive_until(s, all, {});
    co_return all;
  };
  const std::string all = run(body(*this));
  EXPECT_THAT(all, HasSubstr("grpc-status: 0"));
  EXPECT_THAT(all, HasSubstr("A gRPC server"));
}

TEST_P(late_half_close, OfHttp1IsAwaitedForAMoment) {
  const std::string request =
      "POST /echo.Echo/Say HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/grpc-web\r\n"
      "transfer-encoding: chunked\r\n\r\n8\r\n" +
      message_of(text("a")) + "\r\n";
  const std::string all = run(raw_http::exchange(address_, request));
  EXPECT_THAT(all, HasSubstr("connection: close\r\n"));
  EXPECT_THAT(all, HasSubstr("grpc-status: 0"));
}

}  // namespace
}  // namespace coracle::testing_support::late_half_close_test
