// A handler that violates its contract costs only its call, and a line in the log.
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"
#include "support/kept_log.hpp"

#include "coracle/coro/mutex.hpp"
#include "coracle/coro/yield.hpp"
#include "coracle/rpc/error_details.hpp"
#include "coracle/rpc/status_details.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace coracle::testing_support::handler_defects_test {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

echo::Text text(const std::string& text) {
  echo::Text t;
  t.set_text(text);
  return t;
}

// The compiler does not detect reading the last line of a body from a file either.
bool never(const echo::Text& request) { return request.text() == "never"; }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"
reply<echo::Text> reach_the_end(const echo::Text& request) {
  if (never(request)) co_return request;
}
reply<echo::Text> reach_the_end_after_a_wait(const echo::Text& request) {
  co_await yield();
  if (never(request)) co_return request;
}
replies<echo::Text> reach_the_end_of_a_stream(const echo::Text& request) {
  co_yield request;
  if (never(request)) co_return status();
}
task<std::string> reach_the_end_of_a_task(const echo::Text& request) {
  if (never(request)) co_return request.text();
}
#pragma GCC diagnostic pop

struct thrown_by_a_destructor {
  ~thrown_by_a_destructor() noexcept(false) { throw std::runtime_error("closing failed"); }
};

// The text of the request selects the mistake.
class slipping_service final : public echo_service {
 public:
  // Of another runtime.
  const channel* strange = nullptr;
  const channel* own = nullptr;

  reply<echo::Text> Misbehave(server_context& context, const echo::Text& request) override {
    const std::string& content = request.text();
    if (content == "end") return reach_the_end(request);
    if (content == "end after a wait") return reach_the_end_after_a_wait(request);
    if (content == "throw before") throw std::runtime_error("before the coroutine");
    return slip(context, request);
  }
  reply<echo::Text> SayAtOnce(server_context&, const echo::Text& request) override {
    if (request.text() == "ok") return status();
    if (request.text() == "null") return static_cast<const echo::Text*>(nullptr);
    return request;
  }
  replies<echo::Text> Repeat(server_context&, const echo::Text& request) override {
    if (request.text() == "throw") throw std::runtime_error("no stream");
    return reach_the_end_of_a_stream(request);
  }
  replies<echo::Text> Chat(server_context& context, reader<echo::Text> texts) override {
    const auto first = co_await texts.next();
    if (!first) co_return status();
    scope both(context.environment());
    const auto out = co_await replies<echo::Text>::writer();
    if (first->text() == "read twice") {
      both.spawn(read(texts));
      both.spawn(read(texts));
    } else {
      both.spawn(write(out, *first));
      both.spawn(write(out, *first));
    }
    co_await both.join();
    co_return status();
  }

 private:
  static task<> read(reader<echo::Text> from) { static_cast<void>(co_await from.next()); }
  // Until the window is used up and the write waits.
  static task<> write(writer<echo::Text> to, const echo::Text& request) {
    for (int i = 0; i < 1000; ++i) co_await to.write(request);
  }
  static task<int> one() { co_return 1; }

  reply<echo::Text> slip(server_context& context, const echo::Text& request) {
    const std::string content = request.text();
    if (content == "ok") co_return status();
    if (content == "null") co_return static_cast<const echo::Text*>(nullptr);
    if (content == "throw") throw std::runtime_error("the table \"movies\" is\ngone");
    if (content == "throw status") throw status_error(status::aborted("thrown"));
    if (content == "throw a number") throw 42;
    if (content == "throw late") {
      const thrown_by_a_destructor closes;
      co_return request;
    }
    if (content == "failed result") {
      const result<echo::Text> none(status::unavailable("the store is away"));
      co_return *none;
    }
    if (content == "result without a status") co_return result<echo::Text>(status());
    if (content == "details") co_return with_details(status(), retry_info(std::chrono::seconds(1)));
    if (content == "await twice") {
      task<int> once = one();
      const int a = co_await std::move(once);
      const int b = co_await std::move(once);
      co_return text(std::to_string(a + b));
    }
    if (content == "task") {
      const std::string got = co_await reach_the_end_of_a_task(request);
      co_return text(got);
    }
    if (content == "block") {
      const echo_stub onward(*own);
      co_return sync_wait(onward.Say(request));
    }
    if (content == "another runtime") {
      const echo_stub onward(*strange);
      co_return co_await onward.Say(request);
    }
    if (content == "unlock twice") {
      mutex m;
      auto held = co_await m.lock();
      held.unlock();
      held.unlock();
    }
    if (content == "wait") {
      co_await sleep_for(std::chrono::hours(1));
    }
    static_cast<void>(context);
    co_return request;
  }
};

class handler_defects : public ::testing::TestWithParam<world_kind> {
 protected:
  void SetUp() override {
    log_.set_min_level(log_level::error);
    serve(nullptr);
  }
  void serve(std::unique_ptr<server_interceptor> around) {
    channel_.reset();
    server_.reset();
    rt_.emplace(runtime_options{
        .backend = or_what_is_left(GetParam() == world_kind::epoll ? backend_choice::epoll
                                                                   : backend_choice::io_uring),
        .log = &log_});
    server_.emplace(*rt_);
    server_->add(service_);
    if (around) server_->add_interceptor(std::shared_ptr<server_interceptor>(std::move(around)));
    ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    channel_.emplace(*rt_, "127.0.0.1:" + std::to_string(server_->port()), insecure());
    service_.own = &*channel_;
    rt_->start();
  }
  void TearDown() override {
    channel_.reset();
    server_.reset();
    rt_.reset();
  }
  status misbehave(const std::string& description) {
    return sync_wait(echo_stub(*channel_).Misbehave(text(description))).status();
  }
  void expect_service() { EXPECT_EQ(misbehave("nothing"), status()); }

  kept_log log_;
  slipping_service service_;
  std::optional<runtime> rt_;
  std::optional<server> server_;
  std::optional<channel> channel_;
};
std::string case_name(const ::testing::TestParamInfo<world_kind>& p) { return name_of(p.param); }
INSTANTIATE_TEST_SUITE_P(Everywhere, handler_defects, kernel_kinds, case_name);

constexpr const char* no_reply_line =
    "the handler of /echo.Echo/Misbehave returned neither a reply nor an error: co_return a reply, or a "
    "status "
    "that is not "
    "OK, on every path\n";

TEST_P(handler_defects, OkWithoutAReplyIsInternal) {
  EXPECT_EQ(misbehave("ok"), status::internal("the handler returned no reply"));
  EXPECT_EQ(log_.text(), no_reply_line);
  expect_service();
}

TEST_P(handler_defects, ANullPointerForAReplyIsInternal) {
  EXPECT_EQ(misbehave("null"), status::internal("the handler returned no reply"));
  EXPECT_EQ(log_.text(), no_reply_line);
  expect_service();
}

TEST_P(handler_defects, OkWithoutAReplyFromAFunctionIsInternal) {
  for (const char* description : {"ok", "null"}) {
    const auto none = sync_wait(echo_stub(*channel_).SayAtOnce(text(description)));
    EXPECT_EQ(none.status(), status::internal("the handler returned no reply")) << description;
  }
  EXPECT_THAT(log_.text(),
              HasSubstr("the handler of /echo.Echo/SayAtOnce returned neither a reply nor an error"));
  expect_service();
}

TEST_P(handler_defects, AUnaryHandlerThatReachesItsEndIsInternal) {
  EXPECT_EQ(misbehave("end"), status::internal("the handler returned no reply"));
  EXPECT_EQ(log_.text(), no_reply_line);
  EXPECT_EQ(misbehave("end after a wait"), status::internal("the handler returned no reply"));
  expect_service();
}

TEST_P(handler_defects, AStreamHandlerThatReachesItsEndIsInternal) {
  struct program {
    static task<status> drain(echo_stub s) {
      const echo::Text request = text("one");
      auto c = s.Repeat(request);
      const auto one = co_await c.next();
      EXPECT_TRUE(one.ok() && one.value());
      co_return co_await c.finish();
    }
  };
  EXPECT_EQ(sync_wait(*rt_, rt_->at(0), program::drain(echo_stub(*channel_))),
            status::internal("the handler returned no status"));
  EXPECT_EQ(log_.text(),
            "the handler of /echo.Echo/Repeat reached its end without co_return: co_return a status on every "
            "path\n");
}

TEST_P(handler_defects, AnExceptionIsLoggedWithItsMethodPeerTypeAndText) {
  EXPECT_EQ(misbehave("throw"), status::unknown("the handler failed"));
  EXPECT_THAT(log_.text(),
              MatchesRegex("the handler of /echo.Echo/Misbehave threw std::runtime_error: the table "
                           "\"movies\" is.gone \\(peer 127.0.0.1:[0-9]+\\)\n"));
  const std::string lines = log_.text();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 1);
  expect_service();
}

TEST_P(handler_defects, OneKindOfDefectOfAMethodHidesNoOther) {
  for (int i = 0; i < 3; ++i)
    for (const char* description : {"throw", "null", "throw a number"})
      EXPECT_FALSE(misbehave(description).ok());
  const auto count = [&](const std::string& what) {
    const std::string all = log_.text();
    int n = 0;
    for (std::size_t at = 0; (at = all.find(what, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  for (const char* kind : {"threw std::runtime_error", "returned neither a reply", "threw int"})
    EXPECT_EQ(count(kind), 1) << kind;
  TearDown();
  for (const char* kind : {"threw std::runtime_error", "returned neither a reply", "threw int"})
    EXPECT_EQ(count(kind), 2) << kind;
  EXPECT_EQ(count("(and 1 times before in 10 s)"), 3) << log_.text();
}

TEST_P(handler_defects, AnExceptionBeforeTheCoroutineIsLogged) {
  EXPECT_EQ(misbehave("throw before"), status::unknown("the handler failed"));
  EXPECT_THAT(log_.text(), HasSubstr("threw std::runtime_error: before the coroutine (peer"));
}

TEST_P(handler_defects, WhatIsNoStandardExceptionIsLoggedByItsType) {
  EXPECT_EQ(misbehave("throw a number"), status::unknown("the handler failed"));
  EXPECT_THAT(log_.text(), HasSubstr("threw int (peer"));
}

TEST_P(handler_defects, AnExceptionBehindTheReplyFailsTheCall) {
  EXPECT_EQ(misbehave("throw late"), status::unknown("the handler failed"));
  EXPECT_THAT(log_.text(), HasSubstr("threw std::runtime_error: closing failed"));
}

TEST_P(handler_defects, AStatusThatIsThrownIsNotLogged) {
  EXPECT_EQ(misbehave("throw status"), status::aborted("thrown"));
  EXPECT_EQ(log_.text(), "");
}

TEST_P(handler_defects, ACancelledHandlerIsNotLogged) {
  EXPECT_EQ(sync_wait(echo_stub(*channel_).Misbehave(text("wait"), within(std::chrono::milliseconds(20))))
                .status()
                .code(),
            status_code::deadline_exceeded);
  expect_service();
  server_.reset();  // joins the handler
  EXPECT_EQ(log_.text(), "");
}

TEST_P(handler_defects, LinesAreLimitedForEachMethod) {
  for (int i = 0; i < 5; ++i) static_cast<void>(misbehave("throw"));
  const auto other = sync_wait(echo_stub(*channel_).SayAtOnce(text("ok")));
  EXPECT_EQ(other.status().code(), status_code::internal);
  const std::string lines = log_.text();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
}

TEST_P(handler_defects, MisuseOfTheLibraryFailsTheCallAlone) {
  runtime other(runtime_options{.log = &log_});
  channel strange(other, "127.0.0.1:" + std::to_string(server_->port()), insecure());
  service_.strange = &strange;
  const struct {
    const char* misuse;
    const char* logged;
  } slips[] = {
      {"failed result", "its status is UNAVAILABLE: the store is away"},
      {"result without a status", "a result without a value needs a status that is not OK"},
      {"details", "details require an error; use trailing metadata"},
      {"await twice", "a task is awaited once"},
      {"task", "a task<T> reached its end without co_return"},
      {"block", "must not block on a task"},
      {"unlock twice", "unlock each guard once"},
  };
  for (const auto& slip : slips) {
    serve(nullptr);  // each with a log line of its own
    EXPECT_EQ(misbehave(slip.misuse), status::unknown("the handler failed")) << slip.misuse;
    EXPECT_THAT(log_.text(), HasSubstr(slip.logged)) << slip.misuse;
    EXPECT_THAT(log_.text(), HasSubstr("threw coracle::usage_error")) << slip.misuse;
    expect_service();
  }
  EXPECT_EQ(misbehave("another runtime").code(), status_code::internal);
  expect_service();
}

TEST_P(handler_defects, TwoReadsOrTwoWritesOfOneCallFailIt) {
  struct program {
    static task<status> chat(echo_stub s, std::string description) {
      auto c = s.Chat();
      co_await c.start();
      echo::Text first = text(description);
      if (description != "read twice") first.set_text(std::string(64u << 10, 'x'));
      (void)co_await c.write(first);
      co_return co_await c.finish();
    }
  };
  for (const char* description : {"read twice", "write twice"}) {
    EXPECT_EQ(sync_wait(*rt_, rt_->at(0), program::chat(echo_stub(*channel_), description)),
              status::internal("the handler misused its stream"))
        << description;
  }
  EXPECT_THAT(log_.text(),
              HasSubstr("the handler of /echo.Echo/Chat has two concurrent reads: let one task read"));
  expect_service();
}

// --- interceptors

class around final : public server_interceptor {
 public:
  using function = task<status> (*)(server_context&, next_handler);
  explicit around(function f) noexcept : f_(f) {}
  task<status> intercept(server_context& context, next_handler next) override { return f_(context, next); }

 private:
  function f_;
};

TEST_P(handler_defects, AnInterceptorThatThrowsIsLogged) {
  serve(std::make_unique<around>([](server_context&, next_handler next) -> task<status> {
    const status outcome = co_await next();
    if (outcome.ok()) throw std::out_of_range("no such tenant");
    co_return outcome;
  }));
  EXPECT_EQ(misbehave("nothing"), status::unknown("the handler failed"));
  EXPECT_THAT(
      log_.text(),
      HasSubstr("an interceptor of /echo.Echo/Misbehave threw std::out_of_range: no such tenant (peer"));
}

TEST_P(handler_defects, AnInterceptorWithoutATaskFailsTheCall) {
  serve(std::make_unique<around>([](server_context&, next_handler) { return task<status>(); }));
  EXPECT_EQ(misbehave("nothing"), status::internal("an interceptor failed"));
  EXPECT_THAT(log_.text(), HasSubstr("returned an empty task"));
}

TEST_P(handler_defects, AnInterceptorThatReachesItsEndFailsTheCall) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"
  serve(std::make_unique<around>([](server_context& context, next_handler next) -> task<status> {
    const status outcome = co_await next();
    if (context.method().empty()) co_return outcome;
  }));
#pragma GCC diagnostic pop
  EXPECT_EQ(misbehave("nothing"), status::unknown("the handler failed"));
  EXPECT_THAT(log_.text(), HasSubstr("a task<T> reached its end without co_return"));
}

TEST_P(handler_defects, AnInterceptorSeesTheStatusOfAHandlerWithoutAReply) {
  serve(std::make_unique<around>([](server_context& context, next_handler next) -> task<status> {
    const status outcome = co_await next();
    context.trailing_metadata().add("x-seen", outcome.to_string());
    co_return outcome;
  }));
  EXPECT_EQ(misbehave("ok"), status::internal("the handler returned no reply"));
  EXPECT_EQ(log_.text(), no_reply_line);
}

}  // namespace
}  // namespace coracle::testing_support::handler_defects_test
