// A channel is a shared handle: where it may be dropped, and what then happens to its calls, interceptors and
// runtime.
#include "support/at_once.hpp"
#include "support/echo_service.hpp"
#include "support/every_backend.hpp"
#include "support/misuse.hpp"

#include "coracle/client/client_interceptor.hpp"
#include "coracle/client/client_observer.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/yield.hpp"
#include "coracle/server/server_observer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace coracle::testing_support::channel_handle_test {
namespace {

using namespace std::chrono_literals;
using test::expect_misuse;

const status closed = status::unavailable("the channel was closed");
const status runtime_ended = status::unavailable("the runtime of the channel has ended");

echo::Text text(std::string text) {
  echo::Text t;
  t.set_text(std::move(text));
  return t;
}

// Say() waits at a gate, SayAtOnce() fails the first time, Misbehave("drop") calls a function of the test.
class gated_service final : public echo_service {
 public:
  event<> gate;
  std::atomic<int> at_gate{0};
  std::atomic<int> tries{0};
  std::function<void()> drop;

  reply<echo::Text> Say(server_context&, const echo::Text& request) override {
    ++at_gate;
    co_await gate;
    co_return request;
  }
  reply<echo::Text> SayAtOnce(server_context&, const echo::Text& request) override {
    if (++tries == 1) return status::unavailable("once more");
    return request;
  }
  reply<echo::Text> Misbehave(server_context& context, const echo::Text& request) override {
    if (request.text() != "drop") return echo_service::Misbehave(context, request);
    drop();
    return request;
  }
};

// The channel alone keeps it: its end tells that the channel has gone.
class counting_observer final : public client_observer {
 public:
  explicit counting_observer(std::atomic<int>& begun, std::atomic<int>& failed)
      : begun_(begun), failed_(failed) {}
  void call_started(observed_call&) noexcept override { ++begun_; }
  void attempt_ended(observed_attempt&, const status& outcome, time_point) noexcept override {
    if (!outcome.ok()) ++failed_;
  }

 private:
  std::atomic<int>& begun_;
  std::atomic<int>& failed_;
};

class passing final : public client_interceptor {
 public:
  explicit passing(std::atomic<int>& ended) : ended_(ended) {}
  task<status> intercept(client_context&, next_call next) override {
    const status outcome = co_await next();
    ++ended_;
    co_return outcome;
  }

 private:
  std::atomic<int>& ended_;
};

class channel_handles : public every_backend {
 protected:
  channel_handles() : every_backend(2) {}
  void SetUp() override {
    every_backend::SetUp();
    if (IsSkipped()) return;
    server_.emplace(rt());
    server_->add(service_);
    ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    rt().start();
  }
  void TearDown() override {
    drop();
    service_.gate.set();
    server_.reset();
  }

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(server_->port()); }
  // A channel that retries with this pause, and has one stream.
  [[nodiscard]] channel make(const std::string& pause) { return make(pause, address()); }
  [[nodiscard]] channel make(const std::string& pause, const std::string& to) {
    const auto config = service_config::parse(
        R"({"methodConfig":[{"name":[{"service":"echo.Echo","method":"SayAtOnce"}],"retryPolicy":{"maxAttempts":5,
            "initialBackoff":")" +
        pause + R"(","maxBackoff":")" + pause +
        R"(","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]})");
    EXPECT_EQ(config.status(), status());
    auto observer = std::make_shared<counting_observer>(begun_, failed_);
    observer_ = observer;
    channel_options options;
    options.service_config = *config;
    options.observer = std::move(observer);
    return channel(rt(), to, insecure(), options);
  }
  template <class F>
  static void until(F f) {
    while (!f())
      std::this_thread::sleep_for(1ms);  // sleeps on purpose: until it is so, however long it takes
  }
  // A call in each state that a call in progress may be in. They use the only handle until they begin.
  struct outcome {
    status unary = status::unknown("not ended");
    status stream = status::unknown("not ended");
    status waiting = status::unknown("not ended");
    status retried = status::unknown("not ended");
    std::atomic<int> ended{0};
  };
  static task<> say(const std::unique_ptr<echo_stub>& by, outcome& all, status outcome::* member) {
    const echo::Text request = text("x");
    const auto reply = co_await by->Say(request);
    all.*member = reply.status();
    ++all.ended;
  }
  static task<> retry(const std::unique_ptr<echo_stub>& by, outcome& all) {
    const echo::Text request = text("x");
    const auto reply = co_await by->SayAtOnce(request);
    all.retried = reply.status();
    ++all.ended;
  }
  static task<> chat(const std::unique_ptr<echo_stub>& by, gated_service& service, outcome& all) {
    auto call = by->Chat();
    const echo::Text one = text("x");
    (void)co_await call.write(one);
    const auto back = co_await call.next();
    EXPECT_TRUE(back.ok() && *back);
    ++service.at_gate;
    co_await service.gate;
    (void)co_await call.write(one);
    (void)co_await call.next();
    all.stream = co_await call.finish();
    ++all.ended;
  }
  // A call that waits for a connection: its server is not there yet.
  static task<> wait(const std::unique_ptr<echo_stub>& by, outcome& all) {
    const echo::Text request = text("x");
    call_options patient;
    patient.wait_for_ready = true;
    const auto reply = co_await by->Misbehave(request, patient);
    all.waiting = reply.status();
    ++all.ended;
  }
  void begin_calls(outcome& all, const std::string& pause) {
    of_only_.emplace(make(pause));
    only_ = std::make_unique<echo_stub>(*of_only_);
    rt().spawn_on(rt().at(0), say(only_, all, &outcome::unary));
    rt().spawn_on(rt().at(1), chat(only_, service_, all));
    rt().spawn_on(rt().at(0), retry(only_, all));
    until([&] { return service_.at_gate == 2 && failed_ == 1; });
    // The next one on loop 1 waits for the stream that the first one has.
    channel_options options_2;
    options_2.streams_per_connection = 1;
    of_single_.emplace(rt(), address(), insecure(), options_2);
    single_ = std::make_unique<echo_stub>(*of_single_);
    rt().spawn_on(rt().at(1), say(single_, all, &outcome::waiting));
    until([&] { return service_.at_gate == 3; });
    rt().spawn_on(rt().at(1), say(single_, all, &outcome::waiting));
    run_on(1, turn());
  }
  static task<> turn() { co_await yield(); }
  template <class T>
  T run_on(std::size_t loop, task<T> t) {
    return sync_wait(rt(), rt().at(loop), std::move(t));
  }
  void drop() {
    only_.reset();
    of_only_.reset();
    single_.reset();
    of_single_.reset();
  }

  gated_service service_;
  std::optional<server> server_;
  std::optional<channel> of_only_, of_single_;
  std::unique_ptr<echo_stub> only_, single_;
  std::weak_ptr<client_observer> observer_;
  std::atomic<int> begun_{0};
  std::atomic<int> failed_{0};
};
INSTANTIATE_TEST_SUITE_P(On, channel_handles, kernel_kinds, every_backend::case_name);

// --- dropping the last one

TEST_P(channel_handles, AStubMadeOfATemporaryChannelWorks) {
  echo::rpc::Echo::stub stub(channel(rt(), address(), insecure()));
  EXPECT_EQ(sync_wait(stub.Misbehave(text("x"))).status(), status());
  EXPECT_EQ(sync_wait(echo_stub(channel(rt(), address(), insecure())).Misbehave(text("x"))).status(),
            status());
  struct program {
    static task<> all(std::string at) {
      const echo::Text request = text("x");
      runtime& here = loop::current()->owner();
      const auto reply = co_await echo_stub(channel(here, at, insecure())).Misbehave(request);
      EXPECT_EQ(reply.status(), status());
      auto chat = echo_stub(channel(here, at, insecure())).Chat();
      co_await yield();
      const status sent = co_await chat.write(request);
      EXPECT_EQ(sent, status());
      const auto back = co_await chat.next();
      EXPECT_TRUE(back.ok() && *back);
      const status outcome = co_await chat.finish();
      EXPECT_EQ(outcome, status());
    }
  };
  run_on(0, program::all(address()));
}

enum class place { loop, handler, thread };

class dropped_handles : public channel_handles {
 protected:
  void drop_on(place where) {
    struct program {
      static task<> drop(dropped_handles& t) {
        t.drop();
        co_return;
      }
    };
    switch (where) {
      case place::loop: return run_on(0, program::drop(*this));
      case place::thread: return drop();
      case place::handler: {
        service_.drop = [this] { drop(); };
        const channel other(rt(), address(), insecure());
        EXPECT_EQ(sync_wait(echo_stub(other).Misbehave(text("drop"))).status(), status());
        return;
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(On, dropped_handles, kernel_kinds, every_backend::case_name);

TEST_P(dropped_handles, LetTheirCallsEndAndThenTheChannelGoes) {
  for (const place where : {place::loop, place::handler, place::thread}) {
    service_.tries = 0;
    service_.at_gate = 0;
    failed_ = 0;
    outcome all;
    begin_calls(all, "0.3s");
    drop_on(where);
    EXPECT_EQ(all.ended, 0);
    service_.gate.set();
    until([&] { return all.ended == 5; });
    EXPECT_EQ(all.unary, status());
    EXPECT_EQ(all.stream, status());
    EXPECT_EQ(all.waiting, status());
    EXPECT_EQ(all.retried, status());
    EXPECT_EQ(service_.tries, 2);
    until([&] { return observer_.expired(); });
    struct program {
      static task<> close(event<>& gate) {
        gate.reset();
        co_return;
      }
    };
    for (std::size_t i = 0; i < 2; ++i)
      if (service_.gate.owner_loop() == &rt().at(i)) run_on(i, program::close(service_.gate));
  }
}

TEST_P(dropped_handles, LetACallThatWaitsForAServerWait) {
  const std::string later = address();
  server_.reset();
  outcome all;
  only_ = std::make_unique<echo_stub>(make("1s", later));
  rt().spawn_on(rt().at(0), wait(only_, all));
  until([&] { return begun_ == 1; });
  drop();
  EXPECT_EQ(all.ended, 0);
  EXPECT_FALSE(observer_.expired());
  server_.emplace(rt());
  server_->add(service_);
  ASSERT_EQ(server_->listen(later, insecure()), status());
  until([&] { return all.ended == 1; });
  EXPECT_EQ(all.waiting, status());
  until([&] { return observer_.expired(); });
}

TEST_P(dropped_handles, GoAtOnceWithoutCalls) {
  only_ = std::make_unique<echo_stub>(make("1s"));
  EXPECT_EQ(sync_wait(only_->Misbehave(text("x"))).status(), status());
  only_.reset();
  until([&] { return observer_.expired(); });
  only_ = std::make_unique<echo_stub>(make("1s"));  // was never used
  only_.reset();
  EXPECT_TRUE(observer_.expired());
}

TEST_P(dropped_handles, LeaveRunningCallsToTheirRuntime) {
  outcome all;
  runtime other(2);
  channel_options options;
  options.observer = std::make_shared<counting_observer>(begun_, failed_);
  channel c(other, address(), insecure(), options);
  auto stub = std::make_unique<echo_stub>(c);
  c = channel();
  other.spawn(say(stub, all, &outcome::unary));
  other.start();
  until([&] { return begun_ == 1 && service_.at_gate == 1; });
  stub.reset();  // the destructor of the runtime ends the call
}

// --- moved and copied

TEST_P(channel_handles, ThatWereMovedFromFailCalls) {
  channel first(rt(), address(), insecure());
  const channel second = std::move(first);
  EXPECT_EQ(sync_wait(echo_stub(second).Misbehave(text("x"))).status(), status());
  for (const channel& none : {first, channel()}) {  // NOLINT(bugprone-use-after-move)
    channel empty = none;
    EXPECT_EQ(empty.state(), connectivity::shutdown);
    const auto reply = sync_wait(echo_stub(empty).Misbehave(text("x")));
    EXPECT_EQ(reply.status().code(), status_code::unavailable);
    EXPECT_THAT(std::string(reply.status().message()), ::testing::HasSubstr("without a channel"));
    empty.connect();
    empty.close();
    run(empty.shutdown());
    EXPECT_TRUE(run(empty.wait_for_state_change(connectivity::idle)));
    EXPECT_FALSE(run(empty.wait_for_state_change(connectivity::shutdown, 1ms)));
    expect_misuse([&] { (void)empty.owner(); }, "has no runtime");
  }
  first = second;
  EXPECT_EQ(sync_wait(echo_stub(first).Misbehave(text("x"))).status(), status());
  EXPECT_EQ(first, second);
}

TEST_P(channel_handles, AreCopiedAndDroppedByAllThreads) {
  for (int round = 0; round < 20; ++round) {
    std::optional<channel> shared(make("1s"));
    const channel& all = *shared;
    at_once(4, [&](int) {
      channel mine = all;
      for (int i = 0; i < 5; ++i) {
        const echo_stub stub(mine);
        EXPECT_EQ(sync_wait(stub.Misbehave(text("x"))).status(), status());
        channel copy = mine;
        mine = std::move(copy);
        mine.connect();
        EXPECT_NE(mine.state(), connectivity::shutdown);
      }
    });
    shared.reset();
    until([&] { return observer_.expired(); });
  }
}

// --- close() and shutdown()

TEST_P(channel_handles, CloseEndsTheCallsInEveryState) {
  outcome all;
  begin_calls(all, "1000s");
  struct program {
    static task<> close(channel a, channel b) {
      a.close();
      b.close();
      EXPECT_EQ(a.state(), connectivity::shutdown);
      co_await a.shutdown();
      co_await b.shutdown();
    }
  };
  const time_point began = rt().now();
  run_on(0, program::close(*of_only_, *of_single_));
  until([&] { return all.ended == 4; });
  // The stream is told of its end, and its task waits for the gate.
  service_.gate.set();
  until([&] { return all.ended == 5; });
  EXPECT_LT(rt().now() - began, 100s);
  EXPECT_EQ(all.unary, closed);
  EXPECT_EQ(all.waiting, closed);
  EXPECT_EQ(all.retried, closed);
  EXPECT_EQ(all.stream, closed);
  EXPECT_EQ(sync_wait(only_->Misbehave(text("x"))).status(), closed);
  EXPECT_EQ(sync_wait(only_->Chat().finish()), closed);
}

TEST_P(channel_handles, CloseEndsACallThatWaitsForItsCredentials) {
  struct slow_source final : credentials_source {
    task<result<metadata>> metadata_for(credentials_request) override {
      ++asked;
      co_await sleep_for(1h);
      co_return metadata();
    }
    std::atomic<int> asked{0};
  };
  const auto source = std::make_shared<slow_source>();
  channel_options options;
  options.calls.credentials = call_credentials(source);
  channel c(rt(), server_->in_process(), options);
  outcome all;
  auto stub = std::make_unique<echo_stub>(c);
  rt().spawn_on(rt().at(1), say(stub, all, &outcome::unary));
  until([&] { return source->asked == 1; });
  c.close();
  until([&] { return all.ended == 1; });
  EXPECT_EQ(all.unary, closed);
}

TEST_P(channel_handles, ShutdownWaitsForTheCallsAndRefusesOthers) {
  outcome all;
  begin_calls(all, "0.3s");
  struct program {
    static task<> shut_down(channel c, std::atomic<bool>& done) {
      co_await c.shutdown();
      done = true;
    }
    static task<status> try_to(channel c, duration at_most) {
      task<> all_ended = c.shutdown();
      co_return co_await with_timeout(at_most, std::move(all_ended));
    }
  };
  std::atomic<bool> done = false;
  std::atomic<bool> single_done = false;
  EXPECT_EQ(run_on(1, program::try_to(*of_only_, 5ms)).code(), status_code::deadline_exceeded);
  EXPECT_EQ(of_only_->state(), connectivity::shutdown);
  EXPECT_EQ(sync_wait(only_->Misbehave(text("x"))).status(), closed);
  rt().spawn_on(rt().at(0), program::shut_down(*of_only_, done));
  rt().spawn_on(rt().at(0), program::shut_down(*of_single_, single_done));
  run_on(0, turn());
  run_on(1, turn());
  EXPECT_EQ(all.ended, 0);
  EXPECT_FALSE(done);
  EXPECT_FALSE(single_done);
  service_.gate.set();
  until([&] { return done && single_done; });
  until([&] { return all.ended == 5; });
  EXPECT_EQ(all.unary, status());
  EXPECT_EQ(all.waiting, status());
  EXPECT_EQ(all.retried, status());
  EXPECT_EQ(all.stream, status());
  struct look {
    static task<std::size_t> at(server& s) {
      const server_snapshot now = co_await s.snapshot();
      co_return now.connections.size();
    }
  };
  until([&] { return run_on(0, look::at(*server_)) == 0; });
}

TEST_P(channel_handles, CloseEndsWhatShutdownWaitsFor) {
  outcome all;
  begin_calls(all, "1000s");
  struct program {
    static task<> end(channel c) {
      task<> all_ended = c.shutdown();
      const status in_time = co_await with_timeout(5ms, std::move(all_ended));
      EXPECT_EQ(in_time.code(), status_code::deadline_exceeded);
      c.close();
      co_await c.shutdown();
    }
  };
  run_on(1, program::end(*of_only_));
  EXPECT_EQ(sync_wait(only_->Misbehave(text("x"))).status(), closed);
  drop();
  service_.gate.set();
  until([&] { return all.ended == 5; });
  EXPECT_EQ(all.unary, closed);
  EXPECT_EQ(all.retried, closed);
}

// --- interceptors and observers

TEST_P(channel_handles, KeepTheirInterceptorsAndObservers) {
  std::atomic<int> intercepted{0};
  struct program {
    static task<> talk(channel c, std::atomic<bool>& begun, event<>& on) {
      auto call = echo_stub(std::exchange(c, channel())).Chat();
      const echo::Text one = text("x");
      const status sent = co_await call.write(one);
      EXPECT_EQ(sent, status());
      begun = true;
      co_await on;
      const status outcome = co_await call.finish();
      EXPECT_EQ(outcome, status());
    }
  };
  const auto made = [&] {
    const auto first = std::make_shared<passing>(intercepted);
    auto observer = std::make_shared<counting_observer>(begun_, failed_);
    observer_ = observer;
    channel_options options;
    options.interceptors = {first};
    options.observer = std::move(observer);
    return channel(rt(), address(), insecure(), options)
        .with_interceptors({first, std::make_shared<passing>(intercepted)});
  };
  std::optional<channel> c(made());
  EXPECT_EQ(sync_wait(echo_stub(*c).Misbehave(text("x"))).status(), status());
  EXPECT_EQ(intercepted, 3);
  EXPECT_EQ(begun_, 1);
  // A stream and a unary call that are in progress when the last handle goes.
  std::atomic<bool> begun = false;
  outcome all;
  auto stub = std::make_unique<echo_stub>(*c);
  rt().spawn_on(rt().at(0), program::talk(*c, begun, service_.gate));
  rt().spawn_on(rt().at(1), say(stub, all, &outcome::unary));
  until([&] { return begun && service_.at_gate == 1; });
  c.reset();
  stub.reset();
  EXPECT_FALSE(observer_.expired());
  service_.gate.set();
  until([&] { return intercepted == 9 && all.ended == 1 && observer_.expired(); });
  EXPECT_EQ(all.unary, status());
  expect_misuse([&] { (void)made().with_interceptors({nullptr}); }, "null pointer");
  expect_misuse(
      [&] {
        channel_options options_2;
        options_2.interceptors = {nullptr};
        (void)channel(rt(), address(), insecure(), options_2);
      },
      "null pointer");
}

// An interceptor whose call is between two attempts holds no call in progress.
TEST_P(channel_handles, StayForAnInterceptorThatTriesAgain) {
  class stubborn final : public client_interceptor {
   public:
    stubborn(std::atomic<int>& failed, event<>& gate) : failed_(failed), gate_(gate) {}
    task<status> intercept(client_context&, next_call next) override {
      const status first = co_await next();
      EXPECT_EQ(first.code(), status_code::unavailable);
      ++failed_;
      co_await gate_;
      co_return co_await next();
    }

   private:
    std::atomic<int>& failed_;
    event<>& gate_;
  };
  outcome all;
  only_ = std::make_unique<echo_stub>(
      channel(rt(), address(), insecure())
          .with_interceptors({std::make_shared<stubborn>(failed_, service_.gate)}));
  rt().spawn_on(rt().at(0), retry(only_, all));
  until([&] { return failed_ == 1; });
  only_.reset();
  service_.gate.set();
  until([&] { return all.ended == 1; });
  EXPECT_EQ(all.retried, status());
}

TEST_P(channel_handles, LetAServerKeepItsInterceptorsAndObserver) {
  struct noting final : server_interceptor, server_observer {
    explicit noting(std::atomic<int>& n) : ended(n) {}
    task<status> intercept(server_context&, next_handler next) override {
      const status outcome = co_await next();
      ++ended;
      co_return outcome;
    }
    void call_ended(served_call&, const status&, time_point) noexcept override { ++ended; }
    std::atomic<int>& ended;
  };
  std::atomic<int> ended{0};
  server_options options;
  options.observer = std::make_shared<noting>(ended);
  server other(rt(), options);
  other.add(service_);
  other.add_interceptor(std::make_shared<noting>(ended));
  const channel c(rt(), other.in_process());
  EXPECT_EQ(sync_wait(echo_stub(c).Misbehave(text("x"))).status(), status());
  until([&] { return ended == 2; });
}

TEST_P(channel_handles, HaveTheObserversOfTheirOptionsAndOfTheirFactories) {
  struct counting final : client_observer {
    explicit counting(std::atomic<int>& n) : ended(n) {}
    void call_started(observed_call& c) noexcept override { c.user = this; }
    void call_ended(observed_call& c, const status&, time_point) noexcept override {
      ended += c.user == this;
    }
    std::atomic<int>& ended;
  };
  std::atomic<int> ended{0};
  std::string seen;
  channel_options options;
  options.observer = std::make_shared<counting>(ended);
  options.observer_factories = {
      std::make_shared<const channel_observer_factory>([&](std::string_view target) {
        seen = target;
        return std::make_shared<counting>(ended);
      }),
      std::make_shared<const channel_observer_factory>([](std::string_view) { return nullptr; })};
  const channel c(rt(), address(), insecure(), options);
  EXPECT_EQ(seen, "dns:///" + address());
  EXPECT_EQ(sync_wait(echo_stub(c).Misbehave(text("x"))).status(), status());
  until([&] { return ended == 2; });
  options.observer_factories = {std::make_shared<const channel_observer_factory>()};
  EXPECT_THROW(channel(rt(), address(), insecure(), options), usage_error);
}

// --- the end of the runtime

TEST_P(channel_handles, CallsThatHaveBegunMayOutliveTheirRuntime) {
  std::optional<bidi_call<echo::Text, echo::Text>> chat;
  std::optional<bidi_call<echo::Text, echo::Text>> unread;
  std::optional<client_streaming_call<echo::Text, echo::Text>> upload;
  std::optional<server_streaming_call<echo::Text>> download;
  std::optional<unary_call<echo::Text>> held;
  std::optional<result<std::optional<echo::Text>>> read;
  std::optional<result<echo::Text>> said;
  started reading;
  started saying;
  {
    runtime other(2);
    const channel c(other, address(), insecure());
    const echo_stub stub(c);
    chat.emplace(stub.Chat());
    unread.emplace(stub.Chat());
    upload.emplace(stub.Collect());
    echo::Text many = text("x");
    many.set_count(1000000);
    download.emplace(stub.Repeat(many));
    held.emplace(stub.Misbehave(many));
    held->hold();
    EXPECT_TRUE(sync_wait(chat->write(text("x"))).ok());
    EXPECT_TRUE(sync_wait(chat->next()).ok());
    EXPECT_TRUE(sync_wait(unread->write(text("x"))).ok());
    EXPECT_TRUE(sync_wait(upload->write(text("x"))).ok());
    EXPECT_TRUE(sync_wait(download->next()).ok());
    reading =
        start(chat->next(), [&](coracle::outcome<result<std::optional<echo::Text>>> o) { read = o.value(); });
    saying = start(stub.Say(text("x")), [&](coracle::outcome<result<echo::Text>> o) { said = o.value(); });
  }
  runtime later(2);  // its memory may be that of the former
  ASSERT_TRUE(read && said);
  EXPECT_EQ(read->status().code(), status_code::unavailable);
  EXPECT_EQ(said->status().code(), status_code::unavailable);
  EXPECT_TRUE(reading.ended());
  saying.cancel();
  // The operations of what is left fail.
  EXPECT_FALSE(sync_wait(chat->write(text("x"))).ok());
  EXPECT_FALSE(sync_wait(chat->next()).ok());
  EXPECT_FALSE(sync_wait(upload->finish()).ok());
  EXPECT_FALSE(sync_wait(download->finish()).ok());
  EXPECT_EQ(sync_wait(std::move(*held)).status(), runtime_ended);
  std::atomic<bool> ended{false};
  reading = start(chat->next(), [&](const coracle::outcome<result<std::optional<echo::Text>>>& o) {
    EXPECT_FALSE(o.value().ok());
    ended = true;
  });
  until([&] { return ended.load(); });
  // Each is destroyed on a thread without a loop, and on one of another runtime.
  unread.reset();
  struct program {
    static task<> destroy(std::optional<bidi_call<echo::Text, echo::Text>>& call) {
      call.reset();
      co_return;
    }
  };
  sync_wait(later, later.at(0), program::destroy(chat));
}

TEST_P(channel_handles, MayOutliveTheirRuntime) {
  std::optional<channel> used;
  std::optional<channel> unused;
  std::optional<channel> closed_before;
  std::optional<bidi_call<echo::Text, echo::Text>> not_begun;
  {
    runtime other(1);
    used.emplace(other, address(), insecure());
    unused.emplace(other, address(), insecure());
    closed_before.emplace(other, address(), insecure());
    closed_before->close();
    EXPECT_EQ(sync_wait(echo_stub(*used).Misbehave(text("x"))).status(), status());
    EXPECT_EQ(&used->owner(), &other);
    not_begun.emplace(echo_stub(*unused).Chat());
  }
  runtime later(4);  // its memory may be that of the former
  struct program {
    static task<status> ask(echo_stub s) {
      const echo::Text request = text("x");
      const auto reply = co_await s.Misbehave(request);
      co_return reply.status();
    }
    static task<> shut_down(channel c) { co_await c.shutdown(); }
  };
  for (const std::optional<channel>& which : {used, unused, closed_before}) {
    channel c = *which;
    EXPECT_EQ(c.state(), connectivity::shutdown);
    c.connect();
    EXPECT_EQ(sync_wait(echo_stub(c).Misbehave(text("x"))).status(), runtime_ended);
    EXPECT_EQ(sync_wait(echo_stub(c).Chat().finish()), runtime_ended);
    auto chat = echo_stub(c).Chat();
    EXPECT_FALSE(sync_wait(chat.write(text("x"))).ok());
    EXPECT_EQ(sync_wait(chat.finish()), runtime_ended);
    EXPECT_EQ(run_on(1, program::ask(echo_stub(c))), runtime_ended);
    EXPECT_EQ(sync_wait(later, later.at(3), program::ask(echo_stub(c))), runtime_ended);
    EXPECT_TRUE(run(c.wait_for_state_change(connectivity::idle)));
    EXPECT_FALSE(run(c.wait_for_state_change(connectivity::shutdown, 1ms)));
    run(program::shut_down(c));
    c.close();
    expect_misuse([&] { (void)c.owner(); }, "has ended");
  }
  EXPECT_EQ(sync_wait(not_begun->finish()), runtime_ended);
}

TEST_P(channel_handles, OfAStoppedRuntimeFailCallsUntilItRestarts) {
  runtime other(1);
  const channel c(other, address(), insecure());
  EXPECT_EQ(sync_wait(echo_stub(c).Misbehave(text("x"))).status(), status());
  other.stop();
  other.run();
  other.restart();
  EXPECT_EQ(sync_wait(echo_stub(c).Misbehave(text("x"))).status(), status());
}

// --- the background runtime

std::optional<channel> of_the_program;  // is destroyed after the runtime

// Destroyed after the background runtime has ended, when the program exits.
struct last_words {
  last_words() = default;
  last_words(const last_words&) = delete;
  last_words& operator=(const last_words&) = delete;
  ~last_words() {
    if (!c) return;
    const status outcome = sync_wait(echo_stub(*c).Misbehave(text("x"))).status();
    if (outcome != status::unavailable("the runtime of the channel has ended")) std::_Exit(3);
    if (c->state() != connectivity::shutdown) std::_Exit(4);
    c->connect();
    c->close();
  }
  std::optional<channel> c;
};
last_words at_exit;

TEST_P(channel_handles, WithoutARuntimeShareOne) {
  const channel a(address(), insecure());
  const channel b(address(), insecure());
  EXPECT_EQ(&a.owner(), &b.owner());
  EXPECT_EQ(a.owner().size(), 1u);
  EXPECT_EQ(sync_wait(echo_stub(a).Misbehave(text("x"))).status(), status());
  // The last handle may be dropped on a loop, also on that of the channel.
  struct program {
    static task<> make_and_drop(std::string at) {
      const echo::Text request = text("x");
      const auto reply = co_await echo_stub(channel(at, insecure())).Misbehave(request);
      (void)reply;
    }
  };
  run_on(0, program::make_and_drop(address()));
  sync_wait(b.owner(), program::make_and_drop(address()));
}

class exits : public channel_handles {
 protected:
  // In the child of a death test: a server of its own on a runtime that goes, too, and a call that never
  // ends.
  [[noreturn]] void exit_with_calls() {
    static outcome all;
    static std::unique_ptr<echo_stub> stub;
    of_the_program.emplace(address(), insecure());
    at_exit.c.emplace(*of_the_program);
    if (!sync_wait(echo_stub(*of_the_program).Misbehave(text("x"))).ok()) std::_Exit(2);
    stub = std::make_unique<echo_stub>(*of_the_program);
    of_the_program->owner().spawn(say(stub, all, &outcome::unary));
    until([&] { return service_.at_gate == 1; });
    std::exit(0);
  }
};
INSTANTIATE_TEST_SUITE_P(On, exits, kernel_kinds, every_backend::case_name);

TEST_P(exits, MayComeWithCallsInProgressOnTheBackgroundRuntime) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_with_calls(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace coracle::testing_support::channel_handle_test
