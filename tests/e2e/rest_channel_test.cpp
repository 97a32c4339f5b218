// Channels that speak REST, over both versions of HTTP, with our own server.
#include "support/echo_world.hpp"

#include "coracle/base/usage_error.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/rpc/error_details.hpp"
#include "coracle/rpc/status_details.hpp"

#include "echo.pb.h"

#include <gmock/gmock.h>

#include <chrono>
#include <string>

namespace coracle::rest_channel_test {
namespace {

using namespace std::chrono_literals;
using namespace testing_support;
using ::testing::HasSubstr;

constexpr const char* rules = R"({"http": {"rules": [
  {"selector": "echo.Echo.Say", "get": "/v1/say/{text}",
   "additional_bindings": [{"post": "/v1/say", "body": "*"}]},
  {"selector": "echo.Echo.Misbehave", "post": "/v1/misbehave", "body": "*"},
  {"selector": "echo.Echo.Repeat", "get": "/v1/repeat/{text}"},
  {"selector": "echo.Echo.Collect", "post": "/v1/collect", "body": "*"},
  {"selector": "echo.Echo.Chat", "post": "/v1/chat", "body": "*"}]}})";

const google::protobuf::ServiceDescriptor* service_descriptor() {
  return echo::Text::descriptor()->file()->FindServiceByName("Echo");
}

// Fails with details, before or after a reply.
class failing_service : public echo_service {
 public:
  static status reason() {
    return with_details(status::failed_precondition("50% \xc3\xbc"), error_info("BUSY", "movies.example"));
  }
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    if (request.text() == "busy") return reason();
    return echo_service::Say(context, request);
  }
};

class RestChannel : public ::testing::TestWithParam<std::tuple<world_kind, http_version>>,
                    protected echo_world {
 public:
  static std::string case_name(const ::testing::TestParamInfo<ParamType>& info) {
    return name_of(std::get<0>(info.param)) +
           (std::get<1>(info.param) == http_version::http1 ? "_http1" : "_http2");
  }

 protected:
  RestChannel() : echo_world(std::get<0>(GetParam())) {}
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
    server_.emplace(rt());
    server_->add(service_);
    rest_options o;
    o.http_rules = rules;
    o.request_headers.push_back("x-word");
    o.response_headers.push_back("x-word");
    ASSERT_EQ(server_->add_rest(o), status());
    ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    connect(options());
  }
  void TearDown() override { close(); }
  [[nodiscard]] static channel_options options() {
    channel_options o;
    o.protocol = call_protocol::rest;
    o.http_version = std::get<1>(GetParam());
    o.rest = rest_methods::make({service_descriptor()}, rules).value();
    return o;
  }
  void connect(const channel_options& o) { channel_.emplace(rt(), tcp_address(), insecure(), o); }

  failing_service service_;
};
INSTANTIATE_TEST_SUITE_P(Over, RestChannel,
                         ::testing::Combine(all_kinds,
                                            ::testing::Values(http_version::http1, http_version::http2)),
                         RestChannel::case_name);

TEST_P(RestChannel, MakesCallsOfAllFourKinds) {
  const auto calls = [](const echo_stub s) -> task<> {
    for (const char* word : {"hello", "a/b ?&%\xc3\xbc", ""}) {  // an empty text has no place in the path
      const auto said = co_await s.Say(text(word, 7));
      EXPECT_EQ(said.status(), status());
      EXPECT_TRUE(said.ok() && said->text() == word && said->count() == 7);
    }
    auto nothing = s.Collect();
    EXPECT_EQ((co_await nothing.finish()).status(), status());
    co_await expect_streams_of_all_kinds(s);
  };
  run(calls(stub()));
}

TEST_P(RestChannel, ErrorsKeepTheirCodeMessageAndDetails) {
  const auto calls = [](const echo_stub s) -> task<> {
    const auto reply = co_await s.Say(text("busy"));
    EXPECT_EQ(reply.status().code(), status_code::failed_precondition);
    EXPECT_EQ(reply.status().message(), "50% \xc3\xbc");
    const auto info = find_detail<error_info>(reply.status());
    EXPECT_TRUE(info && info->reason() == "BUSY" && info->domain() == "movies.example");
    EXPECT_EQ((co_await s.Say(text("still there"))).status(), status());
    co_await expect_a_failure_after_replies(s);
  };
  run(calls(stub()));
}

TEST_P(RestChannel, AMethodWithoutARuleIsUnimplemented) {
  const auto calls = [](const echo_stub s) -> task<> {
    const auto reply = co_await s.SayAtOnce(text("x"));
    EXPECT_EQ(reply.status().code(), status_code::unimplemented);
    EXPECT_THAT(std::string(reply.status().message()), HasSubstr("no rule of google.api.http"));
    EXPECT_EQ((co_await s.Say(text("x"))).status(), status());
  };
  run(calls(stub()));
}

TEST_P(RestChannel, AValueThatNoRuleCanExpressIsAnErrorThatNamesTheField) {
  const auto calls = [](const echo_stub s) -> task<> {
    auto stream = s.Repeat(text(""));
    echo::Text one;
    EXPECT_FALSE(more(co_await stream.read(one)));
    const status end = co_await stream.finish();
    EXPECT_EQ(end.code(), status_code::invalid_argument);
    EXPECT_THAT(std::string(end.message()), HasSubstr("the field text is empty, but in the path"));
  };
  run(calls(stub()));
}

TEST_P(RestChannel, MetadataAreHeaders) {
  const auto calls = [](const echo_stub s) -> task<> {
    call_options o;
    o.add_metadata("x-word", "one");
    auto call = s.Misbehave(text("metadata"), o);
    EXPECT_EQ((co_await call).status(), status());
    EXPECT_EQ(call.initial_metadata().find("x-word"), "one");
  };
  run(calls(stub()));
}

TEST_P(RestChannel, MessagesMayBeCompressedByTheCall) {
  const auto calls = [](const echo_stub s) -> task<> {
    call_options o;
    o.compression = compression(encoding::gzip);
    const std::string large(100'000, 'x');
    auto collected = s.Collect(o);
    EXPECT_EQ(co_await collected.write(text(large)), status());
    const auto all = co_await collected.finish();
    EXPECT_EQ(all.status(), status());
    EXPECT_TRUE(all.ok() && all->text() == large);
  };
  run(calls(stub()));
}

TEST_P(RestChannel, AMessageAboveTheLimitEndsTheCallWithResourceExhausted) {
  const auto calls = [](const echo_stub s) -> task<> {
    call_options o;
    o.max_receive_bytes = 1000;
    const auto reply = co_await s.Say(text(std::string(2000, 'x')), o);
    EXPECT_EQ(reply.status().code(), status_code::resource_exhausted);
    EXPECT_THAT(std::string(reply.status().message()), HasSubstr("max_receive_bytes"));
    auto stream = s.Repeat(text(std::string(2000, 'x'), 2), o);
    echo::Text one;
    EXPECT_FALSE(more(co_await stream.read(one)));
    EXPECT_EQ((co_await stream.finish()).code(), status_code::resource_exhausted);
    EXPECT_EQ((co_await s.Say(text("small"), o)).status(), status());
  };
  run(calls(stub()));
}

TEST_P(RestChannel, ALargeStreamArrivesWhole) {
  const auto calls = [](const echo_stub s) -> task<> {
    auto stream = s.Repeat(text(std::string(1000, 'x'), 3000));
    int n = 0;
    for (echo::Text one; more(co_await stream.read(one));) n += one.text().size() == 1000;
    EXPECT_EQ(n, 3000);
    EXPECT_EQ(co_await stream.finish(), status());
  };
  run(calls(stub()));
}

TEST_P(RestChannel, ACancelledCallStopsItsHandler) {
  const auto calls = [](const echo_stub s, const echo_service& service) -> task<> {
    const auto late = co_await s.Misbehave(text("hang"), within(50ms));
    EXPECT_EQ(late.status().code(), status_code::deadline_exceeded);
    while (service.stopped == 0) co_await sleep_for(1ms);
  };
  run(calls(stub(), service_));
}

TEST_P(RestChannel, TheJsonCodecPassesMessagesOn) {
  const auto calls = [](const echo_stub s) -> task<> {
    call_options o;
    o.codec = &json_codec();
    const auto reply = co_await s.Say(text("json", 7), o);
    EXPECT_EQ(reply.status(), status());
    EXPECT_TRUE(reply.ok() && reply->count() == 7);
    auto collected = s.Collect(o);
    EXPECT_EQ(co_await collected.write(text("a")), status());
    EXPECT_EQ(co_await collected.write(text("b")), status());
    const auto all = co_await collected.finish();
    EXPECT_TRUE(all.ok() && all->text() == "ab") << all.status();
  };
  run(calls(stub()));
}

TEST_P(RestChannel, TheQueryOfTheChannelIsInEveryRequest) {
  channel_options o = options();
  o.rest = rest_methods::make({service_descriptor()}, rules, "count=7").value();
  connect(o);
  const auto calls = [](const echo_stub s) -> task<> {
    for (int i = 0; i < 2; ++i) {
      const auto said = co_await s.Say(text("hello"));
      EXPECT_TRUE(said.ok() && said->text() == "hello" && said->count() == 7) << said.status();
    }
  };
  run(calls(stub()));
}

TEST(RestMethods, AQueryIsEscapedByTheCaller) {
  EXPECT_EQ(rest_methods::make({service_descriptor()}, rules, "key=a%20b&q=/?").status(), status());
  for (const char* query : {"a b", "key=#", "key=\xc3\xbc", "a\r\nb"}) {
    const auto made = rest_methods::make({service_descriptor()}, rules, query);
    EXPECT_EQ(made.status().code(), status_code::invalid_argument) << query;
    EXPECT_THAT(std::string(made.status().message()), HasSubstr("has to be escaped"));
  }
}

TEST(RestMethods, RulesOfUnknownMethodsAreRefused) {
  const auto made = rest_methods::make(
      {service_descriptor()}, R"({"http": {"rules": [{"selector": "echo.Echo.No", "get": "/v1/no"}]}})");
  EXPECT_EQ(made.status().code(), status_code::invalid_argument);
  EXPECT_THAT(std::string(made.status().message()), HasSubstr("echo.Echo.No"));
}

TEST(RestMethods, AreRequiredByTheProtocol) {
  runtime rt(1);
  channel_options o;
  o.protocol = call_protocol::rest;
  EXPECT_THROW(channel(rt, "localhost:1", insecure(), o), usage_error);
}

}  // namespace
}  // namespace coracle::rest_channel_test
