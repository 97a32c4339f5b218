// Clients and servers whose loops have no thread of their own: the event loop of another library drives them,
// together with a timer and a pipe of its own.
#include "support/echo_fixture.hpp"
#include "support/foreign_loops.hpp"

#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/runtime/on.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <tuple>

namespace coracle::testing_support::foreign_loop_test {
namespace {

using namespace std::chrono_literals;

// A pipe that the foreign loop watches.
class own_pipe {
 public:
  // `received` gets the number of bytes so far.
  own_pipe(foreign_loop& host, std::function<void(int)> received) : received_(std::move(received)) {
    if (::pipe(ends_) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    host.watch(ends_[0], [this] { receive(); });
  }
  own_pipe(const own_pipe&) = delete;
  own_pipe& operator=(const own_pipe&) = delete;
  ~own_pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  // From any thread.
  void send() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }

 private:
  void receive() {
    char bytes[64];
    const auto n = ::read(ends_[0], bytes, sizeof bytes);
    if (n > 0) received_(count_ += static_cast<int>(n));
  }
  const std::function<void(int)> received_;
  int ends_[2];
  int count_ = 0;
};

using parameter = std::tuple<foreign_loop_kind, world_kind>;

std::string case_name(const ::testing::TestParamInfo<parameter>& one) {
  return std::get<0>(one.param).name + "_" + name_of(std::get<1>(one.param));
}

// Two runtimes in one foreign loop, for a client and a server. The client's has two loops, of which the
// second has a thread of the runtime.
class calls_in_a_foreign_loop : public ::testing::TestWithParam<parameter> {
 protected:
  void SetUp() override {
    for (any_world* world : {&client_, &server_})
      if (!world->get()) GTEST_SKIP() << world->missing();
    serving_.emplace(*server_.get());
    serving_->add(service_);
    ASSERT_EQ(serving_->listen("127.0.0.1:0", insecure()), status());
    channel_.emplace(*client_.get(), "127.0.0.1:" + std::to_string(serving_->port()), insecure());
  }
  // A server waits for its peers to close: nothing drives the client's loop any more, so it drives itself.
  void TearDown() override {
    if (!client_.get() || !server_.get()) return;
    host_->release();
    channel_.reset();
    client_.get()->start();
    serving_.reset();
  }
  echo_stub stub() { return echo_stub(*channel_); }
  // Until something calls stop(), for which no test needs that long.
  void run() {
    host_->after(20s, [this] {
      ADD_FAILURE() << "the foreign loop waits, and no descriptor of Coracle's wakes it";
      host_->stop();
    });
    host_->run();
  }
  void drive_both() {
    host_->drive(*client_.get());
    host_->drive(*server_.get());
  }

  any_world client_{std::get<1>(GetParam()), 2};
  any_world server_{std::get<1>(GetParam())};
  echo_service service_;
  std::optional<server> serving_;
  std::optional<channel> channel_;
  std::unique_ptr<foreign_loop> host_ = std::get<0>(GetParam()).make();
};
INSTANTIATE_TEST_SUITE_P(Loops, calls_in_a_foreign_loop,
                         ::testing::Combine(::testing::ValuesIn(foreign_loops()), kernel_kinds), case_name);

constexpr int rounds = 50;

echo::Text numbered(int count) { return make_text("abc", count); }

struct tally {
  int unary = 0, downloaded = 0, uploaded = 0, chatted = 0;
  [[nodiscard]] int all() const noexcept { return unary + downloaded + uploaded + chatted; }
};

// `between`, after each round: the foreign loop's own work continues between the calls.
task<> call_all_kinds(echo_stub s, tally& t, own_pipe& between) {
  const echo::Text three = numbered(3);
  for (int i = 0; i < rounds; ++i) {
    const auto reply = co_await s.Say(three);
    t.unary += reply ? 1 : 0;
    auto download = s.Repeat(three);
    while (const auto one = (co_await download.next()).value()) ++t.downloaded;
    auto upload = s.Collect();
    for (int n = 0; n < 3; ++n) (co_await upload.write(three)).throw_if_error();
    const auto joined = co_await upload.finish();
    t.uploaded += joined ? joined->count() : 0;
    auto chat = s.Chat();
    for (int n = 0; n < 3; ++n) {
      (co_await chat.write(three)).throw_if_error();
      const auto back = (co_await chat.next()).value();
      t.chatted += back ? 1 : 0;
    }
    const status end = co_await chat.finish();
    EXPECT_EQ(end, status());
    between.send();
  }
}

// The pipe ends it, after the last round.
std::function<void(int)> stop_after_rounds(foreign_loop& host) {
  return [&host](int received) {
    if (received == rounds) host.stop();
  };
}

TEST_P(calls_in_a_foreign_loop, ClientAndServerMakeAllKindsOfCall) {
  tally t;
  own_pipe pipe(*host_, stop_after_rounds(*host_));
  client_.get()->spawn_on(client_.get()->at(0), call_all_kinds(stub(), t, pipe));
  drive_both();
  run();
  EXPECT_EQ(t.unary, rounds);
  EXPECT_EQ(t.downloaded, 3 * rounds);
  EXPECT_EQ(t.uploaded, 3 * rounds);
  EXPECT_EQ(t.chatted, 3 * rounds);
}

TEST_P(calls_in_a_foreign_loop, AServerServesTheClientOfAnotherThread) {
  tally t;
  own_pipe pipe(*host_, stop_after_rounds(*host_));
  std::thread blocking([&] { sync_wait(*client_.get(), call_all_kinds(stub(), t, pipe)); });
  host_->drive(*server_.get());
  run();
  blocking.join();
  EXPECT_EQ(t.all(), 10 * rounds);
}

TEST_P(calls_in_a_foreign_loop, AClientCallsTheServerOfAnotherThread) {
  serving_->start();
  tally t;
  own_pipe pipe(*host_, stop_after_rounds(*host_));
  client_.get()->spawn_on(client_.get()->at(0), call_all_kinds(stub(), t, pipe));
  host_->drive(*client_.get());
  run();
  EXPECT_EQ(t.all(), 10 * rounds);
}

// Nothing else happens meanwhile: the descriptor alone has to show that the time has come.
TEST_P(calls_in_a_foreign_loop, ADeadlineEndsACallOnBothSides) {
  struct program {
    static task<> hang(echo_stub s, status& end, const echo_service& service, foreign_loop& host) {
      const echo::Text request = make_text("hang");
      const auto reply = co_await s.Misbehave(request, within(50ms));
      end = reply.status();
      while (service.stopped == 0) co_await sleep_for(1ms);
      host.stop();
    }
  };
  status end;
  client_.get()->spawn_on(client_.get()->at(0), program::hang(stub(), end, service_, *host_));
  drive_both();
  run();
  EXPECT_EQ(end.code(), status_code::deadline_exceeded);
}

TEST_P(calls_in_a_foreign_loop, ATimerOfTheLoopCancelsACall) {
  status end;
  started call = stub().Misbehave(make_text("hang")).then([&](const result<echo::Text>& reply) {
    end = reply.status();
    host_->stop();
  });
  host_->after(20ms, [&] { call.cancel(); });
  drive_both();
  run();
  EXPECT_EQ(end.code(), status_code::cancelled);
}

TEST_P(calls_in_a_foreign_loop, AFunctionOfTheLoopStartsCalls) {
  int ended = 0;
  std::function<void()> call_again = [&] {
    stub()
        .Say(numbered(ended))
        .then([&](const result<echo::Text>& reply) {
          EXPECT_EQ(reply.status(), status());
          if (++ended == 5) return host_->stop();
          host_->after(2ms, call_again);
        })
        .detach();
  };
  host_->after(2ms, call_again);
  drive_both();
  run();
  EXPECT_EQ(ended, 5);
}

TEST_P(calls_in_a_foreign_loop, TheSecondLoopOfARuntimeCallsFromItsOwnThread) {
  struct program {
    static task<> say(echo_stub s, std::thread::id& where) {
      where = std::this_thread::get_id();
      const echo::Text one = numbered(1);
      const auto reply = co_await s.Say(one);
      EXPECT_EQ(reply.status(), status());
    }
    static task<> say_on_both(echo_stub s, runtime& of, std::thread::id (&where)[2], foreign_loop& host) {
      for (std::size_t i = 0; i < 2; ++i) co_await on(of.at(i), say(s, where[i]));
      host.stop();
    }
  };
  std::thread::id where[2];
  runtime& of = *client_.get();
  of.spawn_on(of.at(0), program::say_on_both(stub(), of, where, *host_));
  drive_both();
  run();
  EXPECT_EQ(where[0], std::this_thread::get_id());
  EXPECT_NE(where[1], std::this_thread::get_id());
  EXPECT_NE(where[1], std::thread::id());
}

// In this order: the server waits for its connections, and nothing drives the client meanwhile.
TEST_P(calls_in_a_foreign_loop, ChannelsAndServersMayEndInAFunctionOfTheLoop) {
  status end;
  started call = stub().Misbehave(make_text("hang")).then([&](const result<echo::Text>& reply) {
    end = reply.status();
    host_->after(1ms, [&] {
      call = started();  // which is a handle of the channel, too
      channel_.reset();
      host_->after(5ms, [&] {
        serving_.reset();
        host_->stop();
      });
    });
  });
  host_->after(20ms, [&] { call.cancel(); });
  drive_both();
  run();
  EXPECT_EQ(end.code(), status_code::cancelled);
}

// Of a runtime that another loop continues, or the program itself.
TEST_P(calls_in_a_foreign_loop, AReleasedRuntimeContinuesElsewhere) {
  serving_->start();
  struct program {
    static task<> say_twice(echo_stub s, foreign_loop& host, int& said) {
      const echo::Text one = numbered(1);
      for (int i = 0; i < 2; ++i) {
        const auto reply = co_await s.Say(one);
        EXPECT_EQ(reply.status(), status());
        ++said;
        if (i == 0) host.stop();
      }
    }
  };
  int said = 0;
  client_.get()->spawn_on(client_.get()->at(0), program::say_twice(stub(), *host_, said));
  host_->drive(*client_.get());
  run();
  EXPECT_GE(said, 1);
  host_->release();
  std::thread other([&] { client_.get()->run(); });
  other.join();
  EXPECT_EQ(said, 2);
}

TEST_P(calls_in_a_foreign_loop, ADrainEndsAfterTheCallsInFlight) {
  struct program {
    static task<> chat_on(echo_stub s, server& serving, foreign_loop& host, status& end) {
      auto call = s.Chat();
      const echo::Text one = numbered(1);
      (co_await call.write(one)).throw_if_error();
      auto back = (co_await call.next()).value();
      EXPECT_TRUE(back);
      scope draining{co_await coro::this_environment()};
      draining.spawn(serving.drain(1h));
      (co_await call.write(one)).throw_if_error();
      back = (co_await call.next()).value();
      EXPECT_TRUE(back) << "a drain lets calls in flight go on";
      end = co_await call.finish();
      co_await draining.join();
      host.stop();
    }
  };
  status end = status::unknown("the call has not ended");
  client_.get()->spawn_on(client_.get()->at(0), program::chat_on(stub(), *serving_, *host_, end));
  drive_both();
  run();
  EXPECT_EQ(end, status());
}

// Shortly after the last message a connection has work left, such as giving back memory. Then nothing may
// happen for more than a second: no iteration of ours, and no wake-up of the foreign loop but that of the
// timer which ends the count, which may be two, because libuv and GLib round times to milliseconds.
TEST_P(calls_in_a_foreign_loop, NothingWakesTheLoopWhileAllWait) {
  constexpr std::uint64_t of_the_timer_max = 2;
  const auto turns = [&] { return client_.get()->at(0).stats().turns + server_.get()->at(0).stats().turns; };
  const auto is_quiet = [&] {
    const std::uint64_t wakeups_before = host_->wakeups();
    const std::uint64_t turns_before = turns();
    host_->after(250ms, [&] { host_->stop(); });
    host_->run();
    return turns() == turns_before && host_->wakeups() - wakeups_before <= of_the_timer_max;
  };
  const started call = stub().Misbehave(make_text("hang"), within(1h)).then([](const result<echo::Text>&) {});
  drive_both();
  int quiet = 0;
  for (int i = 0; i < 40 && quiet < 5; ++i) quiet = is_quiet() ? quiet + 1 : 0;
  EXPECT_EQ(quiet, 5) << "something wakes the loop again and again";
  EXPECT_FALSE(call.ended());
}

TEST_P(calls_in_a_foreign_loop, WhatLeavesATaskLeavesTheLoop) {
  struct program {
    static task<> fail() {
      co_await sleep_for(1ms);
      throw std::runtime_error("from a task");
    }
  };
  client_.get()->spawn_on(client_.get()->at(0), program::fail());
  host_->drive(*client_.get());
  EXPECT_THROW(run(), std::runtime_error);
}

}  // namespace
}  // namespace coracle::testing_support::foreign_loop_test
