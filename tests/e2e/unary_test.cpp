#include "support/echo_fixture.hpp"

namespace coracle::testing_support::unary_test {
namespace {

using namespace std::chrono_literals;

class unary : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, unary, every_world_and_link, echo_fixture::case_name);

TEST_P(unary, GivesTheReply) {
  const auto reply = sync_wait(stub().Say(text("ahoy")));
  ASSERT_EQ(reply.status(), status());
  EXPECT_EQ(reply->text(), "ahoy");
}

TEST_P(unary, TakesAHandlerThatIsNoCoroutine) {
  const auto reply = sync_wait(stub().SayAtOnce(text("ahoy")));
  ASSERT_EQ(reply.status(), status());
  EXPECT_EQ(reply->text(), "ahoy");
}

TEST_P(unary, CarriesMessagesOfEverySize) {
  for (const std::size_t size : {0u, 1u, 100u, 16'379u, 16'384u, 65'530u, 65'536u, 1'000'000u, 4'000'000u}) {
    const std::string body(size, 'x');
    const auto reply = sync_wait(stub().Say(text(body)));
    ASSERT_EQ(reply.status(), status()) << size;
    EXPECT_TRUE(reply->text() == body) << size;
  }
}

TEST_P(unary, CarriesAStatusWithItsTextAndDetails) {
  const auto reply = sync_wait(stub().Misbehave(text("status")));
  EXPECT_EQ(reply.status(), status(status_code::not_found, "no such name \xc3\xbc 100%", "details"));
}

TEST_P(unary, HidesWhatAHandlerThrows) {
  const auto reply = sync_wait(stub().Misbehave(text("throw")));
  EXPECT_EQ(reply.status().code(), status_code::unknown);
  EXPECT_EQ(reply.status().message().find("secret"), std::string_view::npos);
}

TEST_P(unary, PassesAThrownStatusOn) {
  EXPECT_EQ(sync_wait(stub().Misbehave(text("throw status"))).status(), status::aborted("thrown"));
}

TEST_P(unary, SaysThatAMethodIsNotImplemented) {
  EXPECT_EQ(sync_wait(stub().Missing(text(""))).status().code(), status_code::unimplemented);
}

TEST_P(unary, SaysThatAPathIsUnknown) {
  const echo::Text request;
  unary_call<echo::Text> call(*channel_, "/echo.Echo/Nothing", request, {});
  EXPECT_EQ(sync_wait(call).status().code(), status_code::unimplemented);
}

TEST_P(unary, CarriesMetadataBothWays) {
  const echo::Text request = text("metadata");
  const std::string binary("\x00\x01\xfe,\xff", 5);
  call_options options;
  options.add_metadata("x-one", "first");
  options.add_metadata("x-one", "second");
  options.add_metadata("x-two-bin", binary);
  auto call = stub().Misbehave(request, options);
  ASSERT_EQ(sync_wait(call).status(), status());
  EXPECT_EQ(call.initial_metadata().find_all("x-one"), (std::vector<std::string_view>{"first", "second"}));
  EXPECT_EQ(call.initial_metadata().find("x-two-bin"), binary);
  EXPECT_EQ(call.trailing_metadata().find("x-trailer"), "late");
  EXPECT_EQ(call.trailing_metadata().find("x-trailer-bin"), std::string_view("\0\xff", 2));
}

TEST_P(unary, RefusesMetadataThatBreaksTheRulesBeforeAnythingIsSent) {
  for (const std::string_view key : {"Upper", "grpc-mine", ":path", "", "sp ace"}) {
    call_options options;
    options.add_metadata(key, "v");
    EXPECT_EQ(sync_wait(stub().Say(text(""), options)).status().code(), status_code::internal) << key;
  }
}

TEST_P(unary, EndsALargeRequestWithResourceExhausted) {
  const auto reply = sync_wait(stub().Say(text(std::string(5u << 20, 'x'))));
  EXPECT_EQ(reply.status().code(), status_code::resource_exhausted) << reply.status();
  EXPECT_EQ(sync_wait(stub().Say(text("still here"))).status(), status());
}

TEST_P(unary, EndsALargeReplyWithResourceExhausted) {
  call_options options;
  options.max_receive_bytes = 10;
  const auto reply = sync_wait(stub().Say(text("more than ten bytes"), options));
  EXPECT_EQ(reply.status().code(), status_code::resource_exhausted);
}

TEST_P(unary, RunsManyCallsAtOnce) {
  struct program {
    static task<int> one(echo_stub s, int i) {
      const echo::Text request = text(std::to_string(i), i);
      const auto reply = co_await s.Say(request);
      co_return reply.ok() && reply->count() == i ? 1 : 0;
    }
    static task<int> all(echo_stub s) {
      std::vector<task<int>> calls;
      for (int i = 0; i < 3000; ++i) calls.push_back(one(s, i));
      int right = 0;
      for (const int r : co_await when_all(std::move(calls))) right += r;
      co_return right;
    }
  };
  EXPECT_EQ(run(program::all(stub())), 3000);
}

}  // namespace
}  // namespace coracle::testing_support::unary_test
