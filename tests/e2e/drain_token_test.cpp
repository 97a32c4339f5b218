// server_context::drain_token(): a handler is notified that its server drains while its call continues.
#include "support/echo_fixture.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/queue.hpp"
#include "coracle/coro/semaphore.hpp"
#include "coracle/coro/sleep.hpp"

#include <deque>
#include <string>
#include <vector>

namespace coracle::testing_support::drain_token_test {
namespace {

using namespace std::chrono_literals;

class draining_service final : public echo_service {
 public:
  channel* own = nullptr;

  // Echoes until the server drains; the first text names the operation that it waits in.
  replies<echo::Text> Chat(server_context& context, reader<echo::Text> texts) override {
    const auto first = co_await texts.next();
    if (!first) co_return status();
    EXPECT_TRUE(context.drain_token().stop_possible());
    EXPECT_FALSE(context.drain_token().stop_requested());
    echo::Text reply = *first;
    co_yield reply;
    const status outcome = co_await wait(context, texts, first->text());
    EXPECT_EQ(outcome, status::cancelled("the stop token requested a stop")) << first->text();
    EXPECT_TRUE(context.drain_token().stop_requested());
    EXPECT_FALSE(context.cancelled());
    // The call continues in both directions.
    reply.set_text("last");
    co_yield reply;
    const auto answer = co_await texts.next();
    EXPECT_TRUE(answer && answer->text() == "bye");
    // From now on a wait with the token ends immediately.
    const status again = co_await wait(context, texts, first->text());
    EXPECT_EQ(again.code(), status_code::cancelled);
    co_return status();
  }

 private:
  static task<> on_event(event<>& e) { co_await e; }
  static task<> on_channel(queue<int>& c) { static_cast<void>(co_await c.receive()); }
  static task<> on_semaphore(semaphore& s) { co_await s.acquire(); }
  static task<> on_call(channel& to) {
    echo::Text request;
    request.set_text("hang");
    const echo_stub onward(to);
    const auto reply = co_await onward.Misbehave(request);
    EXPECT_EQ(reply.status().code(), status_code::cancelled);
    throw coro::cancelled();
  }
  task<status> wait(server_context& context, reader<echo::Text> texts, std::string where) {
    const coro::stop_token drains = context.drain_token();
    if (where == "sleep") co_return co_await stop_on(drains, sleep_for(1h));
    if (where == "read") {
      const auto one = co_await stop_on(drains, texts.next());
      co_return one.status();
    }
    if (where == "event") {
      event<> never_set;
      co_return co_await stop_on(drains, on_event(never_set));
    }
    if (where == "channel") {
      queue<int> empty(1);
      co_return co_await stop_on(drains, on_channel(empty));
    }
    if (where == "semaphore") {
      semaphore none(0);
      co_return co_await stop_on(drains, on_semaphore(none));
    }
    if (where == "call") co_return co_await stop_on(drains, on_call(*own));
    co_return status::unknown(where);
  }
};

struct program {
  static task<> talk(echo_stub s, std::string where, std::size_t& begun) {
    auto c = s.Chat();
    echo::Text t;
    t.set_text(where);
    (co_await c.write(t)).throw_if_error();
    const auto echoed = (co_await c.next()).value();
    EXPECT_EQ(echoed->text(), where);
    ++begun;
    const auto last = (co_await c.next()).value();
    EXPECT_EQ(last->text(), "last");
    t.set_text("bye");
    (co_await c.write(t)).throw_if_error();
    const status outcome = co_await c.finish();
    EXPECT_EQ(outcome, status()) << where;
  }
  static task<> drain_when(server& s, std::size_t& begun, std::size_t all) {
    while (begun != all) co_await sleep_for(1ms);
    co_await s.drain(1h);
  }
};

class drain_token : public echo_fixture {
 protected:
  [[nodiscard]] service& served() noexcept override { return draining_; }
  static task<> all_of_them(drain_token& t) {
    scope work{co_await coro::this_environment()};
    const std::vector<std::string> places{"sleep", "read", "event", "channel", "semaphore", "call"};
    std::size_t begun = 0;
    for (const std::string& where : places) work.spawn(program::talk(t.stub(), where, begun));
    work.spawn(program::drain_when(*t.server_, begun, places.size()));
    co_await work.join();
  }
  draining_service draining_;
};
INSTANTIATE_TEST_SUITE_P(Everywhere, drain_token, every_world_and_link, echo_fixture::case_name);

TEST_P(drain_token, EndsEveryKindOfWaitAndNoCall) {
  draining_.own = &*channel_;
  run(all_of_them(*this));
}

// The token of each call belongs to its own loop.
class drain_token_on_loops : public every_backend {
 protected:
  drain_token_on_loops() : every_backend(3) {}
  static task<> all_of_them(server& s, std::deque<channel>& channels) {
    scope work{co_await coro::this_environment()};
    std::size_t begun = 0;
    for (channel& c : channels) work.spawn(program::talk(echo_stub(c), "sleep", begun));
    work.spawn(program::drain_when(s, begun, channels.size()));
    co_await work.join();
  }
};
INSTANTIATE_TEST_SUITE_P(On, drain_token_on_loops, all_kinds, every_backend::case_name);

TEST_P(drain_token_on_loops, FiresOnEachOfThem) {
  draining_service service;
  server s(rt());
  s.add(service);
  ASSERT_EQ(s.listen("127.0.0.1:0", insecure()), status());
  std::deque<channel> channels;
  for (int i = 0; i < 6; ++i)
    channels.emplace_back(rt(), "127.0.0.1:" + std::to_string(s.port()), insecure());
  run(all_of_them(s, channels));
}

}  // namespace
}  // namespace coracle::testing_support::drain_token_test
