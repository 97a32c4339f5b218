// Hosts that crash and start again.
#include "sim/byte_programs.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/runtime/offload.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <coroutine>

namespace coracle::testing_support::crash_test {
namespace {

using namespace std::chrono_literals;

// What the tasks of a host leave in the test's memory.
struct diary {
  int started = 0;
  int destroyed = 0;
  int caught = 0;
  int slept = 0;
  std::vector<received> got{4};
  status sent;
};

struct page {
  diary& of;
  explicit page(diary& d) : of(d) { ++of.started; }
  page(const page&) = delete;
  page& operator=(const page&) = delete;
  ~page() { ++of.destroyed; }
};

struct program {
  // Waits in every possible way.
  static task<> sleeper(diary& d) {
    const page p(d);
    try {
      co_await sleep_for(24h);  // sleeps on purpose: virtual time
    } catch (const coro::cancelled&) {
      ++d.caught;
      throw;
    }
    ++d.slept;
  }
  static task<> works(diary& d) {
    const page p(d);
    co_await offload([] { return 1; });
    co_await sleeper(d);
  }
  static task<> several(diary& d) {
    const page p(d);
    scope work{co_await coro::this_environment()};
    work.spawn(sleeper(d));
    work.spawn(works(d));
    co_await work.join();
  }
  static task<> stubborn() { co_await std::suspend_always(); }
  static sim::world::program server(diary& d) {
    return [&d](runtime& rt) -> std::shared_ptr<void> {
      rt.spawn(several(d));
      rt.spawn(byte_programs::receive_on(7, d.got));
      return std::make_shared<page>(d);
    };
  }
};

TEST(SimCrash, EndsEveryTaskAndDestroysWhatTheProgramOwned) {
  diary d;
  sim::world w(1);
  w.start("server", program::server(d), 2);
  w.run_for(1s);
  EXPECT_EQ(d.started, 5);  // four frames, one object
  EXPECT_EQ(d.destroyed, 0);
  EXPECT_NE(w.tasks().find("server, loop 0"), std::string::npos) << w.tasks();
  const time_point before = w.now();
  w.crash("server");
  EXPECT_EQ(w.tasks(), "");
  EXPECT_FALSE(w.is_up("server"));
  EXPECT_EQ(d.destroyed, 5);
  EXPECT_EQ(d.caught, 2);
  EXPECT_EQ(d.slept, 0);
  EXPECT_EQ(w.now(), before);
}

TEST(SimCrash, PeersHearNothingThenAResetAfterTheRestart) {
  struct caller {
    static task<> talk(std::string to, std::vector<std::string>& received) {
      result<net::stream> s = co_await net::stream::connect(net::address::parse(to).value());
      status out;
      for (int i = 0; i < 100 && out.ok(); ++i) {
        out = co_await s->write(as_bytes("tick"));
        co_await sleep_for(1s);  // sleeps on purpose: virtual time
      }
      received.push_back(out.to_string());
    }
  };
  diary d;
  std::vector<std::string> received;
  sim::world w(1);
  w.start("server", program::server(d));
  w.host("client").spawn(caller::talk(w.address_of("server") + ":7", received));
  w.run_for(3500ms);
  EXPECT_EQ(d.got[0].bytes.size(), 16u);
  w.crash("server");
  w.run_for(20s);
  EXPECT_TRUE(received.empty());
  w.restart("server");
  EXPECT_TRUE(w.is_up("server"));
  w.run_for(3s);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_NE(received[0].find("reset"), std::string::npos) << received[0];
}

TEST(SimCrash, WhatWasNotOnTheWireIsLost) {
  // 600 kB do not fit into the buffers; the client's host crashes while it writes.
  int whole = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<received> got(1);
    status sent;
    sim::world w(seed, sim::world_options{.faults = sim::faults().short_writes(0.9)});
    w.host("server").spawn(byte_programs::receive_on(7, got));
    w.host("client").spawn(byte_programs::send_to(w.address_of("server") + ":7", pattern(600'000), sent));
    w.run_for(250us);
    w.crash("client");
    w.run();
    EXPECT_EQ(sent.code(), status_code::cancelled);
    EXPECT_FALSE(got[0].has_ended);
    EXPECT_EQ(got[0].bytes, pattern(600'000).substr(0, got[0].bytes.size()));
    whole += got[0].bytes.size() == 600'000;
  }
  EXPECT_EQ(whole, 0);
}

TEST(SimCrash, ARestartBeginsTheProgramAnewAtTheSameAddress) {
  diary d;
  sim::world w(1);
  w.start("server", program::server(d));
  const std::string where = w.address_of("server");
  for (int life = 1; life < 5; ++life) {
    w.run_for(1s);
    runtime* const before = &w.host("server");
    w.crash("server");
    w.restart("server");
    EXPECT_NE(&w.host("server"), before);
    EXPECT_EQ(w.address_of("server"), where);
    EXPECT_EQ(d.started - d.destroyed, 1);  // its tasks have not had a turn yet
  }
  w.host("client").spawn(byte_programs::send_to(where + ":7", "hello", d.sent));
  w.run_for(1s);
  EXPECT_EQ(d.sent, status());
  EXPECT_EQ(d.got[0].bytes, "hello");
}

TEST(SimCrash, ATaskMayCrashItsOwnHost) {
  struct suicide {
    static task<> commit(sim::world& w, std::string to, diary& d) {
      const page p(d);
      result<net::stream> s = co_await net::stream::connect(net::address::parse(to).value());
      w.crash("client");
      d.sent = co_await s->write(as_bytes("too late"));
      co_await sleep_for(1h);  // sleeps on purpose: virtual time
      ++d.slept;
    }
  };
  diary d;
  std::vector<received> got(1);
  sim::world w(1);
  w.host("server").spawn(byte_programs::receive_on(7, got));
  w.host("client").spawn(suicide::commit(w, w.address_of("server") + ":7", d));
  w.run();
  EXPECT_EQ(got[0].bytes, "");
  EXPECT_EQ(d.sent.code(), status_code::cancelled);
  EXPECT_EQ(d.destroyed, 1);
  EXPECT_EQ(d.slept, 0);
  w.restart("client");
  EXPECT_TRUE(w.is_up("client"));
}

TEST(SimCrash, WhoWaitsForATaskOfACrashedHostHearsOfIt) {
  struct crasher {
    static task<> crash(sim::world& w) {
      co_await sleep_for(1s);  // sleeps on purpose: virtual time
      w.crash("a");
    }
  };
  diary d;
  sim::world w(1);
  runtime& a = w.host("a");
  w.host("b").spawn(crasher::crash(w));
  EXPECT_THROW(sync_wait(a, program::sleeper(d)), coro::cancelled);
  EXPECT_EQ(d.caught, 1);
}

TEST(SimCrash, TheSeedDrawsCrashesAndEachIsMended) {
  struct run {
    static std::uint64_t world(std::uint64_t seed, int& lives) {
      diary d;
      sim::world w(seed, sim::world_options{.faults = sim::faults().crashes(10s, 5s).partitions(7s, 5s)});
      w.start("server", program::server(d));
      w.host("client");
      w.run_for(10min);
      w.set_faults({});
      w.run_for(5s);
      EXPECT_TRUE(w.is_up("server"));
      lives += d.started / 5;
      return w.trace_hash();
    }
  };
  int lives = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    EXPECT_EQ(run::world(seed, lives), run::world(seed, lives)) << seed;
  EXPECT_GT(lives, 20 * 20);
}

TEST(SimCrashDeathTest, ATaskThatDoesNotEndIsTold) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        sim::world w(1);
        w.host("a").spawn(program::stubborn());
        w.run_for(10s);
        w.crash("a");
      },
      "a task of a crashed host waits");
}

}  // namespace
}  // namespace coracle::testing_support::crash_test
