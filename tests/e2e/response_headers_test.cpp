// Responses whose statuses or metadata exceed the headers that the client accepts: their codes arrive, and
// the connection goes on.
#include "support/echo_world.hpp"
#include "support/kept_log.hpp"

#include "coracle/coro/when_all.hpp"

#include <gmock/gmock.h>

#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>

namespace coracle::testing_support::response_headers_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Ends Misbehave() with what its text names, each of which is larger than what is sent: 16 KiB of headers
// that our client accepts, or 32 KiB of trailers in a body.
class verbose_service final : public echo_service {
 public:
  reply<echo::Text> Misbehave(server_context& context, const echo::Text& request) override {
    const std::string& text = request.text();
    const auto has = [&](const char* word) { return text.find(word) != std::string::npos; };
    context.initial_metadata().add("x-initial", has("initial") ? std::string(40'000, 'i') : "small");
    context.trailing_metadata().add("x-trailing", has("trailing") ? std::string(40'000, 't') : "small");
    if (has("ok")) co_return request;
    std::string message = "short";
    if (has("message")) {
      message.clear();
      for (int i = 0; i < 20'000; ++i) message += "\xc3\xa9";
    }
    co_return status(status_code::not_found, message, has("details") ? std::string(40'000, 'd') : "details");
  }
};

struct form {
  const char* name;
  call_protocol protocol;
  http_version version;
};
void PrintTo(const form& f, std::ostream* out) { *out << f.name; }

class large_responses : public ::testing::TestWithParam<std::tuple<world_kind, form>> {
 public:
  static std::string case_name(const ::testing::TestParamInfo<ParamType>& info) {
    return name_of(std::get<0>(info.param)) + "_" + std::get<1>(info.param).name;
  }

 protected:
  void SetUp() override {
    rt_.emplace(runtime_options{
        .backend = or_what_is_left(std::get<0>(GetParam()) == world_kind::epoll ? backend_choice::epoll
                                                                                : backend_choice::io_uring),
        .log = &log_});
    server_.emplace(*rt_);
    server_->add(service_);
    ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    channel_options options;
    options.protocol = std::get<1>(GetParam()).protocol;
    options.http_version = std::get<1>(GetParam()).version;
    channel_.emplace(*rt_, "127.0.0.1:" + std::to_string(server_->port()), insecure(), options);
  }
  void TearDown() override {
    channel_.reset();
    server_.reset();
    rt_.reset();
  }
  // The Connect protocol passes on only details that are a google.rpc.Status.
  [[nodiscard]] bool has_raw_details() const {
    return std::get<1>(GetParam()).protocol != call_protocol::connect;
  }
  // Makes the call beside others, which must not notice it.
  result<echo::Text> call(const std::string& description) {
    const auto odd = [](const echo_stub s, std::string text) -> task<result<echo::Text>> {
      const echo::Text request = make_text(std::move(text));
      auto reply = co_await s.Misbehave(request);
      co_return reply;
    };
    const auto beside = [](const echo_stub s) -> task<int> {
      int served = 0;
      for (int i = 0; i < 20; ++i) {
        const echo::Text request = make_text("beside");
        const auto reply = co_await s.Say(request);
        served += reply.ok();
      }
      co_return served;
    };
    const auto both = [](task<result<echo::Text>> one, task<int> others) -> task<result<echo::Text>> {
      auto ends = co_await when_all(std::move(one), std::move(others));
      EXPECT_EQ(std::get<1>(ends), 20);
      co_return std::get<0>(std::move(ends));
    };
    return sync_wait(*rt_, rt_->at(0),
                     both(odd(echo_stub(*channel_), description), beside(echo_stub(*channel_))));
  }

  kept_log log_;
  std::optional<runtime> rt_;
  verbose_service service_;
  std::optional<server> server_;
  std::optional<channel> channel_;
};

constexpr form forms[] = {
    {"grpc", call_protocol::grpc, http_version::http2},
    {"grpc_web_http2", call_protocol::grpc_web, http_version::http2},
    {"grpc_web_http1", call_protocol::grpc_web, http_version::http1},
    {"connect_http2", call_protocol::connect, http_version::http2},
    {"connect_http1", call_protocol::connect, http_version::http1},
};
INSTANTIATE_TEST_SUITE_P(Over, large_responses, ::testing::Combine(kernel_kinds, ::testing::ValuesIn(forms)),
                         large_responses::case_name);

TEST_P(large_responses, ALongMessageIsShortened) {
  const status s = call("message").status();
  EXPECT_EQ(s.code(), status_code::not_found) << s.to_string().substr(0, 200);
  EXPECT_THAT(s.message(), StartsWith("\xc3\xa9\xc3\xa9"));
  EXPECT_THAT(s.message(), EndsWith("\xc3\xa9 (shortened)"));
  if (has_raw_details()) {
    EXPECT_EQ(s.details(), "details");
  }
  EXPECT_THAT(log_.text(),
              HasSubstr("the response of /echo.Echo/Misbehave lacks a part of the message, which exceeds "
                        "what the client accepts: "));
}

TEST_P(large_responses, LargeDetailsAreLeftOut) {
  const status s = call("details").status();
  EXPECT_EQ(s, status(status_code::not_found, "short"));
  EXPECT_THAT(log_.text(), HasSubstr("lacks the details, "));
}

TEST_P(large_responses, LargeTrailingMetadataIsLeftOut) {
  const status s = call("trailing").status();
  EXPECT_EQ(s.code(), status_code::not_found) << s.to_string().substr(0, 200);
  EXPECT_EQ(s.message(), "short");
  if (has_raw_details()) {
    EXPECT_EQ(s.details(), "details");
  }
  const auto reply = call("trailing, ok");
  EXPECT_EQ(reply.status(), status());
  EXPECT_THAT(log_.text(), HasSubstr("lacks the trailing metadata, "));
}

TEST_P(large_responses, LargeInitialMetadataIsLeftOut) {
  const status s = call("initial").status();
  EXPECT_EQ(s.code(), status_code::not_found) << s.to_string().substr(0, 200);
  const auto reply = call("initial, ok");
  EXPECT_EQ(reply.status(), status());
  EXPECT_THAT(log_.text(), HasSubstr("lacks the initial metadata, "));
}

TEST_P(large_responses, TheCodeArrivesIfEverythingIsLarge) {
  const status s = call("message, details, initial, trailing").status();
  EXPECT_EQ(s.code(), status_code::not_found) << s.to_string().substr(0, 200);
}

}  // namespace
}  // namespace coracle::testing_support::response_headers_test
