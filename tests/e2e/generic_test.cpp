// Calls in bytes: a client and a server without a .proto, and a proxy made of both.
#include "../../examples/09_proxy/relay.hpp"
#include "support/echo_fixture.hpp"

namespace coracle::testing_support::generic_test {
namespace {

bytes_message bytes_of(const echo::Text& t) { return bytes_message(t.SerializeAsString()); }
echo::Text text_in(const bytes_message& m) {
  echo::Text t;
  EXPECT_TRUE(t.ParseFromString(m.bytes()));
  return t;
}

// channel_ leads to the echo service through a proxy.
class generic : public echo_fixture {
 protected:
  void SetUp() override {
    echo_fixture::SetUp();
    if (!world_.get()) return;
    server_options options_2;
    options_2.codecs.push_back(&json_codec());
    make_server(options_2);
    behind_.emplace(rt(), address_, insecure());
    relay_.emplace(*behind_);
    proxy_.emplace(rt());
    proxy_->set_fallback(*relay_);
    ASSERT_EQ(proxy_->listen("127.0.0.1:0", insecure()), status());
    channel_.emplace(rt(), "127.0.0.1:" + std::to_string(proxy_->port()), insecure());
  }
  void TearDown() override {
    channel_.reset();
    proxy_.reset();
    relay_.reset();
    behind_.reset();
    echo_fixture::TearDown();
  }
  static task<result<echo::Text>> misbehave(echo_stub s, std::string content, call_options options) {
    const echo::Text request = text(std::move(content));
    co_return co_await s.Misbehave(request, options);
  }
  [[nodiscard]] generic_stub raw() noexcept { return generic_stub(*behind_); }

  std::optional<channel> behind_;
  std::optional<examples::relay> relay_;
  std::optional<server> proxy_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, generic, every_world_over_tcp, echo_fixture::case_name);

struct raw_calls {
  static task<> unary(generic_stub s) {
    const bytes_message request = bytes_of(echo_fixture_text("hello"));
    const auto reply = co_await s.unary("/echo.Echo/Say", request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    if (reply) {
      EXPECT_EQ(*reply, request);
    }
    const auto typed = co_await s.unary<echo::Text>("/echo.Echo/Say", request);
    EXPECT_TRUE(typed.ok());
    if (typed) {
      EXPECT_EQ(typed->text(), "hello");
    }
    const auto missing = co_await s.unary("/echo.Echo/Nowhere", request);
    EXPECT_EQ(missing.status().code(), status_code::unimplemented);
  }
  static task<> streams(generic_stub s) {
    auto up = s.client_streaming("/echo.Echo/Collect");
    (co_await up.write(bytes_of(echo_fixture_text("a")))).throw_if_error();
    (co_await up.write(bytes_message())).throw_if_error();
    const auto collected = co_await up.finish();
    EXPECT_TRUE(collected.ok()) << collected.status();
    if (collected) {
      EXPECT_EQ(text_in(*collected).count(), 2);
    }
    const bytes_message request = bytes_of(echo_fixture_text("b", 3));
    auto down = s.server_streaming("/echo.Echo/Repeat", request);
    int seen = 0;
    while (const auto one = (co_await down.next()).value()) EXPECT_EQ(text_in(*one).count(), seen++);
    EXPECT_EQ(seen, 3);
    auto both = s.bidi("/echo.Echo/Chat");
    (co_await both.write(request)).throw_if_error();
    EXPECT_EQ((co_await both.next()).value(), request);
    EXPECT_EQ(co_await both.finish(), status());
  }
  static echo::Text echo_fixture_text(std::string text, int count = 0) {
    echo::Text t;
    t.set_text(std::move(text));
    t.set_count(count);
    return t;
  }
};

TEST_P(generic, AClientCallsMethodsOfAllKindsInBytes) {
  run(raw_calls::unary(raw()));
  run(raw_calls::streams(raw()));
}

TEST_P(generic, AProxyPassesCallsOfAllKindsOn) {
  run(raw_calls::unary(generic_stub(*channel_)));
  run(raw_calls::streams(generic_stub(*channel_)));
}

TEST_P(generic, AProxyPassesMetadataAndTrailersOn) {
  struct program {
    static task<> ask(echo_stub s) {
      const echo::Text request = text("metadata");
      auto call = s.Misbehave(request, call_options()
                                           .add_metadata("x-word", "moloch")
                                           .add_metadata("x-blob-bin", std::string_view("\0\xff", 2)));
      const auto reply = co_await call;
      EXPECT_TRUE(reply.ok()) << reply.status();
      EXPECT_EQ(call.initial_metadata().find("x-word"), "moloch");
      EXPECT_EQ(call.initial_metadata().find("x-blob-bin"), std::string_view("\0\xff", 2));
      EXPECT_EQ(call.trailing_metadata().find("x-trailer"), "late");
      EXPECT_EQ(call.trailing_metadata().find("x-trailer-bin"), std::string_view("\0\xff", 2));
    }
  };
  run(program::ask(stub()));
}

TEST_P(generic, AProxyPassesAStatusOnWithItsDetails) {
  const auto reply = run(misbehave(stub(), "status", {}));
  EXPECT_EQ(reply.status(), status(status_code::not_found, "no such name \xc3\xbc 100%", "details"));
  EXPECT_EQ(run(misbehave(stub(), "throw", {})).status().code(), status_code::unknown);
}

TEST_P(generic, AProxyPassesTheFormOfMessagesOn) {
  call_options with_codec;
  with_codec.codec = &json_codec();
  const auto reply = run(misbehave(stub(), "in JSON", with_codec));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->text(), "in JSON");
}

TEST_P(generic, AProxyPassesTheDeadlineOnAndItsEnd) {
  const auto left = run(misbehave(stub(), "deadline", within(std::chrono::seconds(100))));
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_GT(left->count(), 0);
  EXPECT_LE(left->count(), 100'000);
  EXPECT_EQ(run(misbehave(stub(), "hang", within(std::chrono::milliseconds(50)))).status().code(),
            status_code::deadline_exceeded);
  while (service_.stopped == 0) run([]() -> task<> { co_await sleep_for(std::chrono::milliseconds(1)); }());
}

TEST_P(generic, AProxySaysThatTheServerBehindItIsAway) {
  server_.reset();
  EXPECT_EQ(run(misbehave(stub(), "anything", {})).status().code(), status_code::unavailable);
}

}  // namespace
}  // namespace coracle::testing_support::generic_test
