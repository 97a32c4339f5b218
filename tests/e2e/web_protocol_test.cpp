// Channels that speak gRPC-Web and the Connect protocol, over both versions of HTTP, with our own server.
#include "support/certificates.hpp"
#include "support/echo_world.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/rpc/status_details.hpp"

#include <gmock/gmock.h>

#include <atomic>

namespace coracle::testing_support::web_protocol_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

struct form {
  const char* name;
  call_protocol protocol;
  http_version version;
  bool get = false;
};
void PrintTo(const form& f, std::ostream* out) { *out << f.name; }

class WebProtocol : public ::testing::TestWithParam<std::tuple<world_kind, form>>, protected echo_world {
 public:
  static std::string case_name(const ::testing::TestParamInfo<ParamType>& info) {
    return name_of(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
  }

 protected:
  WebProtocol() : echo_world(std::get<0>(GetParam())) {}
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    make_server({});
  }
  void TearDown() override { close(); }
  void make_server(const server_options& options) {
    channel_.reset();
    server_.emplace(rt(), options);
    server_->add(service_);
    ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    connect(options_);
  }
  void connect(const channel_options& options, const channel_credentials& credentials = insecure()) {
    channel_options o = options;
    const form& f = std::get<1>(GetParam());
    o.protocol = f.protocol;
    o.http_version = f.version;
    o.connect_get = f.get;
    channel_.emplace(rt(), tcp_address(), credentials, o);
  }
  // Counts the calls of Misbehave that have begun.
  class counting_service final : public echo_service {
   public:
    reply<echo::Text> Misbehave(server_context& context, const echo::Text& request) override {
      ++begun;
      return echo_service::Misbehave(context, request);
    }
    std::atomic<int> begun{0};
  };

  counting_service service_;
  channel_options options_;
};

constexpr form forms[] = {
    {"grpc_web_http1", call_protocol::grpc_web, http_version::http1},
    {"grpc_web_http2", call_protocol::grpc_web, http_version::http2},
    {"grpc_web_text_http1", call_protocol::grpc_web_text, http_version::http1},
    {"grpc_web_text_http2", call_protocol::grpc_web_text, http_version::http2},
    {"connect_http1", call_protocol::connect, http_version::http1},
    {"connect_http2", call_protocol::connect, http_version::http2},
};
INSTANTIATE_TEST_SUITE_P(Over, WebProtocol, ::testing::Combine(all_kinds, ::testing::ValuesIn(forms)),
                         WebProtocol::case_name);

TEST_P(WebProtocol, MakesCallsOfAllFourKinds) {
  const auto calls = [](const echo_stub s) -> task<> {
    for (int i = 0; i < 3; ++i) {
      const auto said = co_await s.Say(text("hello", i));
      EXPECT_EQ(said.status(), status());
      if (!said) co_return;
      EXPECT_EQ(said->count(), i);
    }
    co_await expect_streams_of_all_kinds(s);
  };
  run(calls(stub()));
}

TEST_P(WebProtocol, AStreamRunsInBothDirectionsAtOnce) {
  const auto calls = [](const echo_stub s) -> task<> {
    auto chat = s.Chat();
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(co_await chat.write(text("x", i)), status());
      const auto one = co_await chat.next();
      EXPECT_TRUE(one.ok() && *one);
      if (!one.ok() || !*one) co_return;
      EXPECT_EQ((*one)->count(), i);
    }
    co_await chat.writes_done();
    EXPECT_EQ(co_await chat.finish(), status());
  };
  run(calls(stub()));
}

TEST_P(WebProtocol, MetadataGoBothWays) {
  const auto calls = [](const echo_stub s) -> task<> {
    call_options options;
    const std::string bytes("\0\x01\xff", 3);
    options.add_metadata("x-word", "one").add_metadata("x-word", "two").add_metadata("x-bytes-bin", bytes);
    auto call = s.Misbehave(text("metadata"), options);
    const auto reply = co_await call;
    EXPECT_EQ(reply.status(), status());
    EXPECT_EQ(call.initial_metadata().find("x-bytes-bin"), bytes);
    std::string words;
    for (const auto field : call.initial_metadata())
      if (field.name == "x-word") words.append(field.value).append(";");
    EXPECT_EQ(words, "one;two;");
    EXPECT_EQ(call.trailing_metadata().find("x-trailer"), "late");
    EXPECT_EQ(call.trailing_metadata().find("x-trailer-bin"), std::string("\0\xff", 2));
    EXPECT_EQ(call.trailing_metadata().find("trailer-x-trailer"), std::nullopt);
    EXPECT_EQ(call.initial_metadata().find("x-trailer"), std::nullopt);
  };
  run(calls(stub()));
}

TEST_P(WebProtocol, ErrorsKeepTheirCodeAndMessage) {
  const auto calls = [](const echo_stub s) -> task<> {
    const auto reply = co_await s.Misbehave(text("throw status"));
    EXPECT_EQ(reply.status().code(), status_code::aborted);
    EXPECT_EQ(reply.status().message(), "thrown");
    const auto missing = co_await s.Missing(text(""));
    EXPECT_EQ(missing.status().code(), status_code::unimplemented);
    // An error does not end a connection of HTTP/1.1.
    EXPECT_EQ((co_await s.Say(text("still there"))).status(), status());
    co_await expect_a_failure_after_replies(s);
  };
  run(calls(stub()));
}

TEST_P(WebProtocol, TheDeadlineTravelsAndEndsTheCall) {
  const auto calls = [](const echo_stub s) -> task<> {
    const auto left = co_await s.Misbehave(text("deadline"), within(5s));
    EXPECT_EQ(left.status(), status());
    if (!left) co_return;
    EXPECT_GT(left->count(), 3000);
    EXPECT_LE(left->count(), 5000);
    const auto late = co_await s.Misbehave(text("hang"), within(50ms));
    EXPECT_EQ(late.status().code(), status_code::deadline_exceeded);
    EXPECT_EQ((co_await s.Say(text("next"))).status(), status());
  };
  run(calls(stub()));
}

TEST_P(WebProtocol, ACancelledCallStopsItsHandler) {
  const auto calls = [](const echo_stub s, const counting_service& service) -> task<> {
    scope work(co_await coro::this_environment());
    const auto hang = [](const echo_stub& by) -> task<> {
      const auto reply = co_await by.Misbehave(text("hang"));
      EXPECT_EQ(reply.status().code(), status_code::cancelled);
    };
    work.spawn(hang(s));
    while (service.begun == 0) co_await sleep_for(1ms);
    work.request_stop();
    co_await work.join();
    while (service.stopped == 0) co_await sleep_for(1ms);
  };
  run(calls(stub(), service_));
}

TEST_P(WebProtocol, LargeMessagesPassCompressedAndPlain) {
  server_options served;
  served.compression = compression(encoding::gzip);
  make_server(served);
  const auto calls = [](const echo_stub s) -> task<> {
    std::string large(3'000'000, 'x');
    for (std::size_t i = 0; i < large.size(); i += 7) large[i] = static_cast<char>('a' + i % 23);
    for (const encoding e : {encoding::identity, encoding::gzip, encoding::zstd}) {
      call_options options;
      options.compression = compression(e);
      auto call = s.Say(text(large), options);
      const auto reply = co_await call;
      EXPECT_EQ(reply.status(), status());
      EXPECT_TRUE(reply.ok() && reply->text() == large);
      EXPECT_TRUE(call.read_compressed());
      auto stream = s.Repeat(text(large, 2), options);
      int n = 0;
      for (echo::Text one; more(co_await stream.read(one));) n += one.text() == large;
      EXPECT_EQ(n, 2);
    }
  };
  run(calls(stub()));
}

TEST_P(WebProtocol, AMessageAboveTheLimitEndsTheCallWithResourceExhausted) {
  const auto calls = [](const echo_stub s) -> task<> {
    call_options options;
    options.max_receive_bytes = 1000;
    const auto reply = co_await s.Say(text(std::string(5000, 'x')), options);
    EXPECT_EQ(reply.status().code(), status_code::resource_exhausted);
    EXPECT_THAT(std::string(reply.status().message()), HasSubstr("max_receive_bytes"));
    EXPECT_EQ((co_await s.Say(text("small"), options)).status(), status());
  };
  run(calls(stub()));
}

TEST_P(WebProtocol, TheJsonCodecIsUsed) {
  server_options served;
  served.codecs = {&json_codec()};
  make_server(served);
  const auto calls = [](const echo_stub s) -> task<> {
    call_options options;
    options.codec = &json_codec();
    const auto reply = co_await s.Say(text("json", 7), options);
    EXPECT_EQ(reply.status(), status());
    EXPECT_TRUE(reply.ok() && reply->count() == 7);
  };
  run(calls(stub()));
}

// Fails every call, with details.
class failing_service final : public echo_service {
 public:
  static status reason() {
    return with_details(status::failed_precondition("50% \xc3\xbc"), error_info("BUSY", "movies.example"),
                        retry_info(1500ms));
  }
  reply<echo::Text> Say(server_context&, const echo::Text&) override { co_return reason(); }
  replies<echo::Text> Repeat(server_context&, const echo::Text& request) override {
    co_yield request;
    co_return reason();
  }
};

TEST_P(WebProtocol, ErrorsHaveTheirDetails) {
  failing_service failing;
  channel_.reset();
  server_.emplace(rt());
  server_->add(failing);
  ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
  connect({});
  const auto calls = [](const echo_stub s) -> task<> {
    const auto reply = co_await s.Say(text(""));
    auto stream = s.Repeat(text("once"));
    int n = 0;
    for (echo::Text one; more(co_await stream.read(one));) ++n;
    EXPECT_EQ(n, 1);
    for (const status& e : {reply.status(), co_await stream.finish()}) {
      EXPECT_EQ(e.code(), status_code::failed_precondition);
      EXPECT_EQ(e.message(), "50% \xc3\xbc");
      const auto info = find_detail<error_info>(e);
      EXPECT_TRUE(info && info->reason() == "BUSY" && info->domain() == "movies.example");
      const auto wait = find_detail<retry_info>(e);
      EXPECT_TRUE(wait && wait->delay() == duration(1500ms));
    }
  };
  run(calls(stub()));
  channel_.reset();
  server_.reset();
}

// Fails the first calls with UNAVAILABLE.
class flaky_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    if (++calls < 3) co_return status::unavailable("not yet");
    co_return request;
  }
  std::atomic<int> calls{0};
};

TEST_P(WebProtocol, ARetryPolicyAppliesToUnaryCalls) {
  flaky_service flaky;
  channel_.reset();
  server_.emplace(rt());
  server_->add(flaky);
  ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
  channel_options options;
  options.service_config =
      *service_config::parse(R"({"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,)"
                             R"("initialBackoff":"0.01s","maxBackoff":"0.01s","backoffMultiplier":1,)"
                             R"("retryableStatusCodes":["UNAVAILABLE"]}}]})");
  connect(options);
  const auto calls = [](const echo_stub s) -> task<> {
    const auto reply = co_await s.Say(text("please"));
    EXPECT_EQ(reply.status(), status());
  };
  run(calls(stub()));
  channel_.reset();
  server_.reset();
}

// Not in a simulation, whose clock the certificates do not suit.
class WebProtocolOverTls : public WebProtocol {};
INSTANTIATE_TEST_SUITE_P(Over, WebProtocolOverTls,
                         ::testing::Combine(kernel_kinds, ::testing::ValuesIn(forms)),
                         WebProtocol::case_name);

TEST_P(WebProtocolOverTls, Calls) {
  channel_.reset();
  server_.emplace(rt());
  server_->add(service_);
  ASSERT_EQ(server_->listen("127.0.0.1:0", served_as("server")), status());
  connect({}, trusting("ca"));
  const auto calls = [](const echo_stub s) -> task<> {
    for (int i = 0; i < 3; ++i) EXPECT_EQ((co_await s.Say(text("hello"))).status(), status());
  };
  run(calls(stub()));
}

TEST(a_channel_over_http1, CannotSpeakGrpc) {
  sim::world world{1};
  runtime& host = world.host("host", 1);
  channel_options options;
  options.http_version = http_version::http1;
  try {
    const channel c(host, "127.0.0.1:1", insecure(), options);
    FAIL();
  } catch (const usage_error& e) {
    EXPECT_THAT(std::string(e.what()), HasSubstr("gRPC requires HTTP/2"));
  }
}

}  // namespace
}  // namespace coracle::testing_support::web_protocol_test
