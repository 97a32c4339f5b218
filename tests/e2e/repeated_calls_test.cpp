// Calls of a client that differ only in their messages, and other calls between them: each handler sees the
// headers of its own call, even if they were not parsed again.
#include "support/echo_fixture.hpp"

#include <string>
#include <vector>

namespace coracle::testing_support::repeated_calls_test {
namespace {

using namespace std::chrono_literals;

class telling_service final : public echo_service {
 public:
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    return reply_to("Say", context, request);
  }
  reply<echo::Text> SayAtOnce(server_context& context, const echo::Text& request) override {
    return reply_to("SayAtOnce", context, request);
  }

 private:
  static echo::Text reply_to(const char* method, server_context& context, const echo::Text& request) {
    std::string all = method;
    for (const auto field : context.metadata())
      if (field.name.starts_with("x-")) all.append(" ").append(field.name).append("=").append(field.value);
    if (context.deadline() != never) all.append(" in time");
    echo::Text reply;
    reply.set_text(all.append(": ").append(request.text()));
    return reply;
  }
};

class repeated_calls : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return telling_; }
  std::string say(const std::string& text, const call_options& options = {}) {
    return run(ask([](echo_stub s, const echo::Text& t, const call_options& o) { return s.Say(t, o); }, text,
                   options));
  }
  std::string say_at_once(const std::string& text, const call_options& options = {}) {
    return run(ask([](echo_stub s, const echo::Text& t, const call_options& o) { return s.SayAtOnce(t, o); },
                   text, options));
  }

 private:
  template <class Method>
  task<std::string> ask(Method method, std::string content, call_options options) {
    const echo::Text request = text(std::move(content));
    const auto reply = co_await method(stub(), request, options);
    co_return reply ? reply->text() : std::string(reply.status().message());
  }
  telling_service telling_;
};

TEST_P(repeated_calls, SayWhatTheySay) {
  const auto with = [](const char* key, const char* value) {
    return call_options().add_metadata(key, value);
  };
  for (int i = 0; i < 5; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_EQ(say(n, with("x-a", "1")), "Say x-a=1: " + n);
  }
  EXPECT_EQ(say_at_once("b", with("x-a", "1")), "SayAtOnce x-a=1: b");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(say("c", with("x-a", "2")), "Say x-a=2: c");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(say("d", with("x-b", "1")), "Say x-b=1: d");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(say("e"), "Say: e");
  call_options in_time = with("x-a", "1");
  in_time.timeout = 20s;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(say("f", in_time), "Say x-a=1 in time: f");
  EXPECT_EQ(say("g", with("x-a", "1")), "Say x-a=1: g");
}

TEST_P(repeated_calls, SayBytesToo) {
  const std::string bytes("\0\x01", 2);
  const call_options o = call_options().add_metadata("x-bytes-bin", bytes);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(say("a", o), "Say x-bytes-bin=" + bytes + ": a");
}

INSTANTIATE_TEST_SUITE_P(Everywhere, repeated_calls, every_world_and_link, echo_fixture::case_name);

}  // namespace
}  // namespace coracle::testing_support::repeated_calls_test
