// Places of the limit of server_options::admission: each is free again, however its call ends.
#include "support/borrowed.hpp"
#include "support/echo_fixture.hpp"
#include "support/raw_frames.hpp"
#include "support/raw_http.hpp"

#include "coracle/coro/sleep.hpp"

#include <coroutine>
#include <cstddef>
#include <new>
#include <string>

namespace coracle::testing_support::limited_calls_test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// Its handlers of Say wait until the test releases them, and ignore a stop.
class ignoring_service final : public echo_service {
 public:
  std::coroutine_handle<> waiting;
  reply<echo::Text> Say(server_context&, const echo::Text&) override {
    struct until_resumed {
      ignoring_service& of;
      explicit until_resumed(ignoring_service& s) noexcept : of(s) {}
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> h) const noexcept { of.waiting = h; }
      void await_resume() const noexcept {}
    };
    until_resumed released(*this);
    co_await released;
    co_return echo::Text();
  }
};

class failing_service final : public echo_service {
  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    if (request.text() == "at once") throw std::bad_alloc();
    co_await sleep_for(1ms);
    throw std::bad_alloc();
  }
  reply<echo::Text> SayAtOnce(server_context&, const echo::Text&) override { throw std::bad_alloc(); }
};

class limited_calls : public echo_fixture {
 protected:
  void SetUp() override {
    if (!world_.get()) GTEST_SKIP() << world_.missing();
  }
  void serve(service& s) {
    server_options options;
    options.admission = admission_options{.min_concurrency = 1, .max_concurrency = 1};
    options.limits = {.unread_bytes = 1000};
    server_.emplace(rt(), options);
    server_->add(s);
    link();
  }
  static task<status_code> misbehave(echo_stub s, std::string content, call_options options = {}) {
    const echo::Text request = text(std::move(content));
    const auto reply = co_await s.Misbehave(request, options);
    co_return reply.status().code();
  }
  static task<status_code> say(echo_stub s, std::string content = {}, call_options options = {}) {
    const echo::Text request = text(std::move(content));
    const auto reply = co_await s.Say(request, options);
    co_return reply.status().code();
  }
  static task<status_code> say_at_once(echo_stub s) {
    const echo::Text request = text("x");
    const auto reply = co_await s.SayAtOnce(request);
    co_return reply.status().code();
  }
  // Until a loop of the server has ended what it does.
  void expect_no_place_is_held() {
    const auto free = [](server& of) -> task<> {
      while ((co_await of.snapshot()).calls_limited != 0) co_await sleep_for(1ms);
      EXPECT_EQ((co_await of.snapshot()).calls_waiting, 0u);
    };
    run(free(*server_));
  }
};
INSTANTIATE_TEST_SUITE_P(Everywhere, limited_calls, every_world_over_tcp, echo_fixture::case_name);

TEST_P(limited_calls, HandlersThatThrowHoldNoPlace) {
  serve(service_);
  EXPECT_EQ(run(misbehave(stub(), "throw")), status_code::unknown);
  EXPECT_EQ(run(misbehave(stub(), "throw status")), status_code::aborted);
  EXPECT_EQ(run(misbehave(stub(), "status")), status_code::not_found);
  expect_no_place_is_held();
  EXPECT_EQ(run(say(stub())), status_code::ok);
}

TEST_P(limited_calls, HandlersWithoutMemoryHoldNoPlace) {
  failing_service failing;
  serve(failing);
  EXPECT_EQ(run(say(stub(), "at once")), status_code::resource_exhausted);
  EXPECT_EQ(run(say(stub(), "later")), status_code::resource_exhausted);
  EXPECT_EQ(run(say_at_once(stub())), status_code::resource_exhausted);
  expect_no_place_is_held();
  EXPECT_EQ(run(misbehave(stub(), "x")), status_code::ok);
  channel_.reset();
  server_.reset();
}

TEST_P(limited_calls, AStoppedHandlerHoldsItsPlaceUntilItHasEnded) {
  serve(service_);
  const auto hang_and_leave = [](echo_stub s, echo_service& service) -> task<> {
    EXPECT_EQ(co_await misbehave(s, "hang", within(20ms)), status_code::deadline_exceeded);
    while (service.stopped == 0) co_await sleep_for(1ms);
  };
  run(hang_and_leave(stub(), service_));
  expect_no_place_is_held();
  EXPECT_EQ(run(say(stub())), status_code::ok);
}

TEST_P(limited_calls, AnOrphanedCallHoldsItsPlaceUntilItsHandlerHasEnded) {
  ignoring_service ignoring;
  serve(ignoring);
  struct program {
    static task<> leave(echo_stub s) {
      EXPECT_EQ(co_await say(s, {}, within(20ms)), status_code::deadline_exceeded);
    }
    static task<> run(echo_stub s, server& of, ignoring_service& service) {
      co_await leave(s);
      EXPECT_EQ((co_await of.snapshot()).calls_limited, 1u) << "what it calls is busy with it";
      EXPECT_EQ(co_await misbehave(s, "x"), status_code::unavailable);
      while (!service.waiting) co_await sleep_for(1ms);
      service.waiting.resume();
      EXPECT_EQ((co_await of.snapshot()).calls_limited, 0u);
      EXPECT_EQ(co_await misbehave(s, "x"), status_code::ok);
    }
  };
  run(program::run(stub(), *server_, ignoring));
  channel_.reset();
  server_.reset();
}

// A client that does not read its replies must not keep others from running.
TEST_P(limited_calls, AClientThatDoesNotReadHoldsNoPlace) {
  serve(service_);
  struct program {
    static std::string call(int stream, std::size_t size) {
      const std::string body = text(std::string(size, 'x')).SerializeAsString();
      const std::string prefix =
          "\0\0\0"s + static_cast<char>(body.size() / 256) + static_cast<char>(body.size() % 256);
      return raw_frames::head("/echo.Echo/Say", stream) +
             raw_frames::frame(raw_frames::data, raw_frames::end_stream, stream, prefix + body);
    }
    static task<> run(echo_stub s, server& of, std::string address) {
      net::stream peer = co_await raw_http::connect(address);
      std::string all;
      const std::string ping = raw_frames::frame(raw_frames::ping, 0, 0, "12345678");
      // Its window is closed.
      co_await raw_http::send(peer, raw_frames::greeting("\0\4\0\0\0\0"s) + call(1, 2000) + ping);
      EXPECT_TRUE(co_await raw_http::receive_until(peer, all, "12345678"));
      EXPECT_EQ((co_await of.snapshot()).calls_limited, 0u) << "its handler has ended";
      const std::string again = raw_frames::frame(raw_frames::ping, 0, 0, "87654321");
      co_await raw_http::send(peer, call(3, 10) + call(5, 10) + again);
      EXPECT_TRUE(co_await raw_http::receive_until(peer, all, "87654321"));
      const server_snapshot now = co_await of.snapshot();
      EXPECT_EQ(now.calls_limited + now.calls_waiting, 0u) << "they wait for the client";
      EXPECT_EQ(co_await say(s), status_code::ok);
    }
  };
  run(program::run(stub(), *server_, address_));
}

}  // namespace
}  // namespace coracle::testing_support::limited_calls_test
