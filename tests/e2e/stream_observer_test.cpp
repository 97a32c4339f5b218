// Handlers of streams as objects whose functions are called.
#include "support/echo_fixture.hpp"
#include "support/misuse.hpp"

#include "coracle/server/stream_observer.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::stream_observer_test {
namespace {

using namespace std::chrono_literals;

// What the observers of a service have done.
struct events {
  int ready = 0;
  int messages = 0;
  int cancelled = 0;
  int destroyed = 0;
  int written = 0;
  std::string misuse;
  std::optional<request_flow> flow;
  std::optional<reply_stream<echo::Text>> stream;
  std::optional<responder<echo::Text>> answers;
  std::optional<std::thread> thread;
};

class repeater final : public server_streaming_observer<echo::Text> {
 public:
  repeater(echo::Text text, events& e) : text_(std::move(text)), events_(e) {}
  ~repeater() override { ++events_.destroyed; }
  void on_ready() override {
    ++events_.ready;
    if (text_.text() == "throw") throw std::runtime_error("secret");
    const int count = text_.count();
    while (events_.written < count && replies().is_ready()) {
      echo::Text reply = text_;
      reply.set_count(events_.written++);
      replies().write(std::move(reply));
    }
    if (events_.written < count) return;
    metadata trailing;
    trailing.add("x-written", std::to_string(count));
    replies().finish(text_.text() == "fail" ? status::not_found("after the replies") : status(),
                     std::move(trailing));
  }
  void on_cancel() override { ++events_.cancelled; }

 private:
  echo::Text text_;
  events& events_;
};

class collector final : public client_streaming_observer<echo::Text, echo::Text> {
 public:
  explicit collector(events& e) : events_(e) {}
  ~collector() override { ++events_.destroyed; }
  void on_message(echo::Text text) override {
    ++events_.messages;
    if (text.text() == "throw") throw std::runtime_error("secret");
    if (text.text() == "enough") return responder().answer(all_);
    all_.mutable_text()->append(text.text());
  }
  void on_half_close() override {
    events_.answers = responder();
    if (all_.text() == "throw at the end") throw std::runtime_error("secret");
    if (all_.text() != "later") responder().answer(std::move(all_));
  }
  void on_cancel() override { ++events_.cancelled; }

 private:
  events& events_;
  echo::Text all_;
};

// The first request selects how the others are read.
class chatter final : public bidi_observer<echo::Text, echo::Text> {
 public:
  explicit chatter(events& e) : events_(e) {
    events_.flow = requests();
    events_.stream = replies();
  }
  ~chatter() override { ++events_.destroyed; }
  void on_message(echo::Text text) override {
    ++events_.messages;
    if (text.text() == "one by one") requests().request(0);
    if (text.text() == "throw") throw std::runtime_error("secret");
    if (text.text() == "finish") return replies().finish(status::aborted("enough"));
    if (text.text() == "thread") {
      events_.thread.emplace([stream = replies()] {
        echo::Text one;
        one.set_text("from a thread");
        stream.write(one);
        stream.write(one);
        stream.finish(status());
      });
      return;
    }
    if (text.text() == "twice") {
      replies().finish(status());
      try {
        replies().write(std::move(text));
      } catch (const usage_error& e) {
        events_.misuse = e.what();
        throw;
      }
    }
    replies().write(std::move(text));
  }
  void on_half_close() override { replies().finish(status()); }
  void on_cancel() override { ++events_.cancelled; }

 private:
  events& events_;
};

class observing_service final : public echo_service {
 public:
  ~observing_service() override {
    if (seen.thread) seen.thread->join();
  }
  replies<echo::Text> Repeat(server_context& context, const echo::Text& request) override {
    return observe<repeater>(context, request, seen);
  }
  reply<echo::Text> Collect(server_context& context, reader<echo::Text> texts) override {
    return observe<collector>(context, texts, seen);
  }
  replies<echo::Text> Chat(server_context& context, reader<echo::Text> texts) override {
    return observe<chatter>(context, texts, seen);
  }
  events seen;
};

class observers : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return observing_; }
  events& seen() noexcept { return observing_.seen; }
  // The status of a call, and what it read.
  struct chat_result {
    chat_result() noexcept = default;
    status outcome;
    std::vector<std::string> texts;
  };
  static task<chat_result> chat_with(echo_stub s, std::vector<std::string> texts, bool half_close) {
    auto call = s.Chat(within(60s));
    chat_result r;
    echo::Text one;
    for (const std::string& t : texts) {
      one.set_text(t);
      const status written = co_await call.write(one);
      if (!written.ok()) break;
    }
    if (half_close) co_await call.writes_done();
    for (;;) {
      const auto more = co_await call.read(one);
      if (!more.ok() || !more.value()) break;
      r.texts.push_back(one.text());
    }
    r.outcome = co_await call.finish();
    co_return r;
  }
  chat_result chat(std::vector<std::string> texts, bool half_close = true) {
    return run(chat_with(stub(), std::move(texts), half_close));
  }
  static task<result<echo::Text>> collect_from(echo_stub s, std::vector<std::string> texts) {
    auto call = s.Collect(within(60s));
    echo::Text one;
    for (const std::string& t : texts) {
      one.set_text(t);
      const status written = co_await call.write(one);
      if (!written.ok()) break;
    }
    co_return co_await call.finish();
  }
  result<echo::Text> collect(std::vector<std::string> texts) {
    return run(collect_from(stub(), std::move(texts)));
  }
  // Drives the loop; the server has no root task.
  template <class Condition>
  void wait_until(Condition met) {
    const auto guard = rt().keep_running();
    rt().run_while([&] { return !met(); });
  }
  void run_for(duration d) {
    const auto guard = rt().keep_running();
    rt().run_for(d);
  }
  observing_service observing_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, observers, every_world_and_link, echo_fixture::case_name);

task<status> read_repeated(echo_stub s, echo::Text request, int& read, std::string& trailing) {
  auto call = s.Repeat(request, within(60s));
  for (;;) {
    const auto message = co_await call.next();
    if (!message.ok() || !message.value()) break;
    read += message.value()->count() == read ? 1 : -1'000'000;
  }
  status outcome = co_await call.finish();
  trailing = call.trailing_metadata().find("x-written").value_or("");
  co_return outcome;
}

TEST_P(observers, RepliesAreWrittenWhileThereIsRoom) {
  int read = 0;
  std::string trailing;
  EXPECT_EQ(run(read_repeated(stub(), text(std::string(10'000, 'x'), 100), read, trailing)), status());
  EXPECT_EQ(read, 100);
  EXPECT_EQ(trailing, "100");
  EXPECT_GT(seen().ready, 1);
  EXPECT_LT(seen().ready, 100);
  EXPECT_EQ(seen().destroyed, 1);
  EXPECT_EQ(seen().cancelled, 0);
}

// A client that reads nothing: the observer stops, and learns that the client has gone.
TEST_P(observers, AClientThatDoesNotReadStopsTheReplies) {
  const echo::Text request = text(std::string(100'000, 'x'), 10'000);
  {
    auto call = stub().Repeat(request);
    call.start().then([] {});
    wait_until([this] { return seen().ready != 0; });
    run_for(20ms);
    EXPECT_LT(seen().written, 1'000);
  }
  wait_until([this] { return seen().destroyed != 0; });
  EXPECT_EQ(seen().cancelled, 1);
}

TEST_P(observers, AStatusFollowsTheReplies) {
  int read = 0;
  std::string trailing;
  EXPECT_EQ(run(read_repeated(stub(), text("fail", 3), read, trailing)),
            status::not_found("after the replies"));
  EXPECT_EQ(read, 3);
}

TEST_P(observers, RequestsAreCollected) {
  EXPECT_EQ(collect({"a", "b", "c"})->text(), "abc");
  EXPECT_EQ(seen().messages, 3);
  EXPECT_EQ(collect({"a", "enough"})->text(), "a");
  EXPECT_EQ(collect({"a", "throw"}).status(), status::unknown("the handler failed"));
  EXPECT_EQ(seen().destroyed, 3);
  EXPECT_EQ(seen().cancelled, 0);
}

TEST_P(observers, AnAnswerMayFollowTheHalfClose) {
  const auto answer = [](events& of) -> task<> {
    while (!of.answers) co_await sleep_for(1ms);
    of.answers->answer(status::not_found("later"));
    test::expect_misuse([&of] { of.answers->answer(status::not_found("again")); },
                        "the call of /echo.Echo/Collect was answered twice: answer each call once");
  };
  rt().spawn_on(rt().at(0), answer(seen()));
  EXPECT_EQ(collect({"later"}).status(), status::not_found("later"));
  rt().run();
}

TEST_P(observers, BothSidesTalk) {
  const chat_result r = chat({"a", "b", "c"});
  EXPECT_EQ(r.outcome, status());
  EXPECT_EQ(r.texts, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(seen().destroyed, 1);
  EXPECT_FALSE(seen().stream->cancelled());
  EXPECT_FALSE(seen().stream->write(text("after the end")));
  test::expect_misuse([this] { seen().stream->finish(status()); },
                      "the call of /echo.Echo/Chat was answered twice: answer each call once");
}

TEST_P(observers, AnObserverMayEndTheCallFirst) {
  EXPECT_EQ(chat({"a", "finish", "never read"}, false).outcome, status::aborted("enough"));
  EXPECT_EQ(seen().messages, 2);
}

TEST_P(observers, ADefectEndsTheCall) {
  EXPECT_EQ(chat({"throw"}).outcome, status::unknown("the handler failed"));
  EXPECT_EQ(chat({"twice"}).outcome, status::unknown("the handler failed"));
  EXPECT_THAT(seen().misuse,
              ::testing::HasSubstr("the call of /echo.Echo/Chat was answered: no reply follows the "
                                   "status of finish()"));
  EXPECT_EQ(collect({"throw at the end"}).status(), status::unknown("the handler failed"));
  int read = 0;
  std::string trailing;
  EXPECT_EQ(run(read_repeated(stub(), text("throw", 1), read, trailing)),
            status::unknown("the handler failed"));
  EXPECT_EQ(seen().destroyed, 4);
  EXPECT_EQ(seen().cancelled, 0);
}

TEST_P(observers, AThreadWritesAndFinishes) {
  if (sim_world()) return;  // its loops run on the test's thread
  const chat_result r = chat({"thread"}, false);
  EXPECT_EQ(r.outcome, status());
  EXPECT_EQ(r.texts, (std::vector<std::string>{"from a thread", "from a thread"}));
}

TEST_P(observers, RequestsAreReadAsRequested) {
  auto call = stub().Chat();
  for (const char* t : {"one by one", "a", "b", "c"}) {
    bool written = false;
    call.write(text(t)).then([&](const status&) { written = true; });
    wait_until([&] { return written; });
  }
  const auto answers = [&] {
    std::optional<std::string> got;
    call.next().then([&](result<std::optional<echo::Text>> m) { got = m.value()->text(); });
    wait_until([&] { return got.has_value(); });
    return *got;
  };
  EXPECT_EQ(answers(), "one by one");
  run_for(5ms);
  EXPECT_EQ(seen().messages, 1);
  seen().flow->request(2);
  EXPECT_EQ(answers(), "a");
  EXPECT_EQ(answers(), "b");
  run_for(5ms);
  EXPECT_EQ(seen().messages, 3);
}

TEST_P(observers, ACancelledCallNotifiesItsObserver) {
  {
    auto call = stub().Chat();
    call.write(text("a")).then([](const status&) {});
    wait_until([this] { return seen().messages != 0; });
  }
  wait_until([this] { return seen().destroyed != 0; });
  EXPECT_EQ(seen().cancelled, 1);
  EXPECT_TRUE(seen().stream->cancelled());
  EXPECT_FALSE(seen().stream->is_ready());
  EXPECT_FALSE(seen().stream->write(text("late")));
  seen().stream->finish(status());
  seen().flow->request(1);
}

TEST_P(observers, AHandleOutlivesTheServer) {
  auto call = stub().Chat();
  call.write(text("a")).then([](const status&) {});
  wait_until([this] { return seen().messages != 0; });
  server_.reset();
  EXPECT_EQ(seen().destroyed, 1);
  EXPECT_FALSE(seen().stream->write(text("late")));
}

}  // namespace
}  // namespace coracle::testing_support::stream_observer_test
