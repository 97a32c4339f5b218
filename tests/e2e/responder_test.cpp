// Handlers that answer later, by a responder.
#include "support/echo_fixture.hpp"
#include "support/kept_log.hpp"
#include "support/misuse.hpp"

#include "coracle/server/responder.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::responder_test {
namespace {

using namespace std::chrono_literals;
using text_responder = responder<echo::Text>;

// The text of the request selects what the handler does with its responder.
class later_service final : public echo_service {
 public:
  ~later_service() override {
    for (std::thread& t : threads) t.join();
  }
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    return respond_later(context, [&](text_responder r) {
      const std::string& text = request.text();
      if (text == "at once") return r.answer(request);
      if (text == "throw") throw std::runtime_error("before it is answered");
      if (text == "drop") return;
      if (text == "thread") {
        threads.emplace_back([r, request] { r.answer(request, metadata_of("x-late", "yes")); });
        return;
      }
      deadline = r.deadline();
      r.on_cancel([this, only_moved = std::make_unique<int>(1), throws = text == "throw on cancel"] {
        cancelled += *only_moved;
        if (throws) throw std::runtime_error("after the end");
      });
      kept.push_back(r);
    });
  }
  static metadata metadata_of(std::string_view key, std::string_view value) {
    metadata m;
    m.add(key, value);
    return m;
  }

  // Used on the loop, or while it does not run.
  std::vector<text_responder> kept;
  std::optional<time_point> deadline;
  std::atomic<int> cancelled{0};
  std::vector<std::thread> threads;
};

class responders : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return later_; }
  static task<result<echo::Text>> ask(echo_stub s, echo::Text request, call_options options) {
    co_return co_await s.Say(request, options);
  }
  result<echo::Text> say(const std::string& what, const call_options& options = {}) {
    return run(ask(stub(), text(what), options));
  }
  // Starts a call, and returns when the handler has its responder.
  [[nodiscard]] started begin(std::optional<result<echo::Text>>& into) {
    const std::size_t before = later_.kept.size();
    started call = stub().Say(text("keep")).then([&](result<echo::Text> r) { into = std::move(r); });
    wait_until([&] { return later_.kept.size() > before; });
    return call;
  }
  // Drives the loop; the server has no root task.
  template <class Condition>
  void wait_until(Condition met) {
    const auto guard = rt().keep_running();
    rt().run_while([&] { return !met(); });
  }
  later_service later_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, responders, every_world_and_link, echo_fixture::case_name);

TEST_P(responders, AnAnswerMayBeGivenAtOnce) { EXPECT_EQ(say("at once")->text(), "at once"); }

TEST_P(responders, AnotherThreadAnswersWithTrailingMetadata) {
  if (sim_world()) return;  // its loops run on the test's thread
  std::optional<result<echo::Text>> got;
  std::string trailing;
  stub()
      .Say(text("thread"))
      .then([&](result<echo::Text> reply, const call_details& details) {
        got = std::move(reply);
        trailing = details.trailing_metadata().find("x-late").value_or("");
      })
      .detach();
  wait_until([&] { return got.has_value(); });
  EXPECT_EQ((*got)->text(), "thread");
  EXPECT_EQ(trailing, "yes");
}

TEST_P(responders, AnAnswerMayBeAStatusAndIsGivenOnce) {
  std::optional<result<echo::Text>> got;
  const started call = begin(got);
  const text_responder copy = later_.kept.front();
  later_.kept.front().answer(status::not_found("no such text"));
  const auto again = [&] { copy.answer(text("again")); };
  const std::string rule = "the call of /echo.Echo/Say was answered twice: answer each call once";
  test::expect_misuse(again, rule);
  wait_until([&] { return got.has_value(); });
  EXPECT_EQ(got->status(), status::not_found("no such text"));
  test::expect_misuse(again, rule);
  EXPECT_FALSE(copy.cancelled());
  EXPECT_EQ(later_.cancelled, 0);
}

TEST_P(responders, ACancelledCallNotifiesItsHandlerAndDropsTheAnswer) {
  std::optional<result<echo::Text>> got;
  started call = begin(got);
  EXPECT_EQ(later_.deadline, never);
  call.cancel();
  wait_until([&] { return later_.cancelled != 0 && got; });
  EXPECT_EQ(got->status().code(), status_code::cancelled);
  EXPECT_TRUE(later_.kept.front().cancelled());
  EXPECT_THROW(later_.kept.front().on_cancel([] {}), usage_error);
  later_.kept.front().answer(text("too late"));
}

TEST_P(responders, ADeadlineEndsTheCall) {
  EXPECT_EQ(say("keep", within(20ms)).status().code(), status_code::deadline_exceeded);
  EXPECT_TRUE(later_.deadline && *later_.deadline != never);
}

TEST_P(responders, AnExceptionEndsTheCallWithUnknown) {
  EXPECT_EQ(say("throw").status(), status::unknown("the handler failed"));
  EXPECT_EQ(say("drop").status(), status::unknown("the handler failed"));
}

TEST_P(responders, TheLastDroppedResponderEndsTheCallWithUnknown) {
  std::optional<result<echo::Text>> got;
  const started call = begin(got);
  later_.kept.clear();
  wait_until([&] { return got.has_value(); });
  EXPECT_EQ(got->status(), status::unknown("the handler failed"));
  EXPECT_EQ(later_.cancelled, 0);
}

TEST_P(responders, AResponderOutlivesItsServer) {
  std::optional<result<echo::Text>> got;
  const started call = begin(got);
  server_.reset();
  rt().run();
  EXPECT_FALSE(got->ok());
  EXPECT_TRUE(later_.kept.front().cancelled());
  later_.kept.front().answer(text("too late"));
}

// The log names the method once.
TEST(responder_log, ADroppedResponderIsLoggedWithItsMethod) {
  kept_log log;
  runtime_options options;
  options.log = &log;
  runtime rt(options);
  later_service service;
  server s(rt);
  s.add(service);
  const channel to(rt, s.in_process());
  echo::Text request;
  request.set_text("keep");
  std::optional<status> got;
  echo_stub(to).Say(request).then([&](const result<echo::Text>& r) { got = r.status(); }).detach();
  const auto guard = rt.keep_running();
  rt.run_while([&] { return service.kept.empty(); });
  service.kept.clear();
  rt.run_while([&] { return !got; });
  EXPECT_EQ(got->code(), status_code::unknown);
  EXPECT_THAT(log.text(),
              ::testing::HasSubstr("the handler of /echo.Echo/Say threw coracle::usage_error: the last "
                                   "copy of a responder was destroyed without an answer"));
}

TEST(responder_log, AnExceptionOfTheFunctionOfOnCancelIsLoggedWithTheMethod) {
  kept_log log;
  runtime_options options;
  options.log = &log;
  runtime rt(options);
  later_service service;
  server s(rt);
  s.add(service);
  const channel to(rt, s.in_process());
  echo::Text request;
  request.set_text("throw on cancel");
  started call = echo_stub(to).Say(request).then([](const result<echo::Text>&) {});
  const auto guard = rt.keep_running();
  rt.run_while([&] { return service.kept.empty(); });
  call.cancel();
  rt.run_while([&] { return log.text().find("threw") == std::string::npos; });
  EXPECT_THAT(log.text(),
              ::testing::HasSubstr("the handler of /echo.Echo/Say threw std::runtime_error: after the end"));
  EXPECT_TRUE(service.kept.front().cancelled());
}

}  // namespace
}  // namespace coracle::testing_support::responder_test
