// Happy eyeballs in virtual time, where addresses can be slow or dead.
#include "coracle/net/connect.hpp"

#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "net/happy_eyeballs.hpp"
#include "unit/net/connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace coracle::net::happy_eyeballs_test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

address at(std::string_view text) { return address::parse(text).value(); }

TEST(Interleaved, FamiliesTakeTurnsFromThatOfTheFirst) {
  std::vector<address> sorted;
  for (const char* text : {"[::1]:1", "[::1]:2", "[::1]:3", "1.1.1.1:1", "1.1.1.1:2"})
    sorted.push_back(at(text));
  const std::vector<address> turns = interleaved(sorted);
  EXPECT_THAT(turns, testing::ElementsAre(at("[::1]:1"), at("1.1.1.1:1"), at("[::1]:2"), at("1.1.1.1:2"),
                                          at("[::1]:3")));
  std::reverse(sorted.begin(), sorted.end());
  EXPECT_EQ(interleaved(sorted).front(), at("1.1.1.1:2"));
  EXPECT_TRUE(interleaved({}).empty());
}

// A world with a server that listens, one whose accept queue stays full (connection attempts are not answered
// for seconds, as if it were dead) and one that refuses.
class Eyeballs : public testing::Test {
 protected:
  Eyeballs() {
    for (const char* name : {"good", "better", "silent", "refusing", "client"}) world_.host(name);
    world_.host("good").spawn(listen_for(3h, 100));
    world_.host("better").spawn(listen_for(3h, 100));
    world_.host("silent").spawn(listen_for(3h, 1));
    world_.run_for(1ms);
    filler_ = connect_one("silent").value();
  }
  ~Eyeballs() override {
    world_.host("client").spawn(close_later(std::move(filler_)));
    world_.run_for(1s);
  }
  static task<> listen_for(duration how_long, int backlog) {
    listener l =
        listener::open(address::parse("0.0.0.0:1").value(), listen_options{.backlog = backlog}).value();
    listener v6 = listener::open(address::parse("[::1]:2").value()).value();
    try {
      co_await sleep_for(how_long);  // sleeps on purpose: virtual time
    } catch (const coro::cancelled&) {
    }
    co_await l.close();
    co_await v6.close();
  }
  static task<> close_later(stream s) {
    s.close();
    co_return;
  }
  address of(const char* host, int port = 1) {
    return at(world_.address_of(host) + ":" + std::to_string(port));
  }
  result<stream> connect_one(const char* host) { return connect_to({of(host)}); }
  result<stream> connect_to(std::vector<address> to) {
    const time_point start = world_.now();
    result<stream> s = sync_wait(world_.host("client"), connect(std::move(to)));
    took_ = world_.now() - start;
    return s;
  }
  sim::world world_{1};
  stream filler_;
  duration took_{};
};

TEST_F(Eyeballs, TheFirstAddressIsAloneWhileItAnswersInTime) {
  const result<stream> s = connect_to({of("good"), of("better")});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(s->peer_address(), of("good"));
  EXPECT_LT(took_, 1ms);
}

TEST_F(Eyeballs, ADeadFirstAddressCostsAQuarterOfASecond) {
  const result<stream> s = connect_to({of("silent"), of("good")});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(s->peer_address(), of("good"));
  EXPECT_GE(took_, connection_attempt_delay);
  EXPECT_LT(took_, connection_attempt_delay + 1ms);
}

TEST_F(Eyeballs, ARefusingFirstAddressCostsNothing) {
  const result<stream> s = connect_to({of("refusing"), at("10.0.0.99:1"), of("good")});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_LT(took_, 1ms);
}

TEST_F(Eyeballs, EachDeadAddressHasItsTimeAlone) {
  const result<stream> s = connect_to({of("silent"), of("silent"), of("silent"), of("good")});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_GE(took_, 3 * connection_attempt_delay);
  EXPECT_LT(took_, 3 * connection_attempt_delay + 1ms);
}

TEST_F(Eyeballs, ARefusalDoesNotCutShortTheTimeOfANewerAttempt) {
  // The last one, 192.0.2.1, is refused after the first has had its time alone, and long before it answers.
  const result<stream> s = connect_to({of("silent"), of("refusing"), of("silent"), of("good")});
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_GE(took_, 2 * connection_attempt_delay);
  EXPECT_LT(took_, 2 * connection_attempt_delay + 1ms);
}

// An attempt among addresses that change while it runs.
struct changing_attempt {
  changing_attempt(loop& on, const coro::environment& here) : by(on, here), work(here) {}
  static task<> run(changing_attempt& self, std::vector<address> to) {
    task<result<runtime_internal::handle>> connecting = self.by.connect(std::move(to));
    self.outcome = co_await std::move(connecting);
    self.ended_at = loop::current()->now();
    if (*self.outcome) loop::current()->io().close(**self.outcome);
  }
  happy_eyeballs by;
  scope work;
  std::optional<result<runtime_internal::handle>> outcome;
  time_point ended_at{};
};

TEST_F(Eyeballs, AnAddressThatComesIsTriedBesideTheOthers) {
  struct steps {
    static task<> all(address silent, address good, duration when) {
      changing_attempt attempt(*loop::current(), co_await coro::this_environment());
      const time_point begun = loop::current()->now();
      attempt.work.spawn(changing_attempt::run(attempt, {silent}));
      co_await sleep_for(when);
      EXPECT_FALSE(attempt.outcome);
      EXPECT_TRUE(attempt.by.change_to({silent, good}));
      co_await attempt.work.join();
      EXPECT_TRUE(attempt.outcome && attempt.outcome->ok());
      const duration took = attempt.ended_at - begun;
      EXPECT_GE(took, std::max(when, duration(connection_attempt_delay)));
      EXPECT_LT(took, std::max(when, duration(connection_attempt_delay)) + 1ms);
      EXPECT_FALSE(attempt.by.change_to({silent}));  // it has its result
    }
  };
  for (const duration when : {duration(100ms), duration(600ms)})
    sync_wait(world_.host("client"), steps::all(of("silent"), of("good"), when));
}

TEST_F(Eyeballs, AnAddressThatGoesEndsItsOwnAttemptAlone) {
  struct steps {
    static task<> all(address silent, address other, address good) {
      changing_attempt attempt(*loop::current(), co_await coro::this_environment());
      const time_point begun = loop::current()->now();
      attempt.work.spawn(changing_attempt::run(attempt, {silent, other, good}));
      co_await sleep_for(100ms);
      // Of one that was not tried yet, the one that is tried does not notice.
      EXPECT_TRUE(attempt.by.change_to({silent, good}));
      co_await sleep_for(100ms);
      EXPECT_FALSE(attempt.outcome);
      co_await attempt.work.join();
      EXPECT_TRUE(attempt.outcome && attempt.outcome->ok());
      EXPECT_GE(attempt.ended_at - begun, connection_attempt_delay);
      EXPECT_LT(attempt.ended_at - begun, connection_attempt_delay + 1ms);

      changing_attempt only(*loop::current(), co_await coro::this_environment());
      only.work.spawn(changing_attempt::run(only, {silent}));
      co_await sleep_for(100ms);
      EXPECT_TRUE(only.by.change_to({good}));
      const time_point changed = loop::current()->now();
      co_await only.work.join();
      EXPECT_TRUE(only.outcome && only.outcome->ok());
      EXPECT_LT(only.ended_at - changed, 1ms);

      changing_attempt none(*loop::current(), co_await coro::this_environment());
      none.work.spawn(changing_attempt::run(none, {silent}));
      co_await sleep_for(300ms);
      EXPECT_TRUE(none.by.change_to({}));
      co_await none.work.join();
      EXPECT_TRUE(none.outcome);
      EXPECT_EQ(none.outcome->status(), status::unavailable("the server has none of its addresses any more"));
    }
  };
  sync_wait(world_.host("client"), steps::all(of("silent"), of("refusing"), of("good")));
}

// An update may come faster than attempts end. limits.md: attempts_max
TEST_F(Eyeballs, UpdatesAddNoMoreThanSoManyAttempts) {
  struct steps {
    static task<> all(address silent) {
      changing_attempt attempt(*loop::current(), co_await coro::this_environment());
      attempt.work.spawn(changing_attempt::run(attempt, {silent}));
      for (int network = 0; network < 4; ++network) {
        std::vector<address> now = {silent};
        for (int host = 1; host <= 100; ++host)
          now.push_back(at("10.7." + std::to_string(network) + "." + std::to_string(host) + ":1"));
        EXPECT_TRUE(attempt.by.change_to(now));
        co_await sleep_for(1s);
        EXPECT_FALSE(attempt.outcome);
      }
      EXPECT_TRUE(attempt.by.change_to({}));
      co_await attempt.work.join();
      EXPECT_TRUE(attempt.outcome);
      const std::string text(attempt.outcome->status().message());
      EXPECT_THAT(text, HasSubstr("none of " + std::to_string(attempts_max - 1) + " addresses"));
      EXPECT_THAT(text, HasSubstr("10.7.0.3:1"));
      EXPECT_EQ(text.find("10.7.0.4:1"), text.npos) << "an update would make the text as long as it likes";
    }
  };
  sync_wait(world_.host("client"), steps::all(of("silent")));
}

TEST_F(Eyeballs, AnAddressThatHasFailedIsNotTriedAgainWhenItComesBack) {
  struct steps {
    static task<> all(address silent, address refusing) {
      changing_attempt attempt(*loop::current(), co_await coro::this_environment());
      attempt.work.spawn(changing_attempt::run(attempt, {silent}));
      for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(attempt.by.change_to({silent, refusing}));
        co_await sleep_for(300ms);
        EXPECT_TRUE(attempt.by.change_to({silent}));
      }
      EXPECT_TRUE(attempt.by.change_to({}));
      co_await attempt.work.join();
      EXPECT_EQ(attempt.outcome->status(),
                status::unavailable("connection refused: no process listens on " + refusing.to_string()));
    }
  };
  sync_wait(world_.host("client"), steps::all(of("silent"), of("refusing")));
}

TEST_F(Eyeballs, WhenAllFailEachErrorIsNamed) {
  const result<stream> s = connect_to({of("refusing"), at("10.0.0.99:1")});
  EXPECT_EQ(s.status(),
            status::unavailable(
                "none of 2 addresses accepted the connection: connection refused: no process listens on " +
                of("refusing").to_string() + "; cannot connect to 10.0.0.99:1: No route to host"));
}

TEST_F(Eyeballs, OneAddressSpeaksForItself) {
  EXPECT_EQ(connect_one("refusing").status(),
            status::unavailable("connection refused: no process listens on " + of("refusing").to_string()));
}

TEST_F(Eyeballs, NoAddressIsTold) {
  EXPECT_EQ(connect_to({}).status().code(), status_code::invalid_argument);
}

task<status> within_limit(duration limit, std::vector<address> to) {
  task<result<stream>> connecting = connect(std::move(to));
  const result<stream> s = co_await with_timeout(limit, std::move(connecting));
  co_return s.status();
}

TEST_F(Eyeballs, TheDeadlineEndsAllAttempts) {
  const time_point start = world_.now();
  const status s =
      sync_wait(world_.host("client"), within_limit(600ms, {of("silent"), of("silent"), of("silent")}));
  EXPECT_EQ(
      s, status::deadline_exceeded("the deadline passed before any of 3 addresses accepted the connection"));
  EXPECT_EQ(world_.now() - start, 600ms);
  const status alone = sync_wait(world_.host("client"), within_limit(600ms, {of("silent")}));
  EXPECT_EQ(alone.code(), status_code::deadline_exceeded);
  EXPECT_THAT(std::string(alone.message()), HasSubstr("connecting to " + of("silent").to_string()));
}

task<> close_it(result<stream>& s) {
  s->close();
  co_return;
}

task<> connect_into(std::vector<address> to, std::optional<status>& outcome) {
  const result<stream> s = co_await connect(std::move(to));
  outcome = s.status();
}
task<> stopped_after(duration d, std::vector<address> to, std::optional<status>& outcome) {
  scope work;
  work.spawn(connect_into(std::move(to), outcome));
  co_await sleep_for(d);  // sleeps on purpose: virtual time
  work.request_stop();
  co_await work.join();
}

TEST_F(Eyeballs, AStopEndsAllAttempts) {
  for (const duration d : {0ms, 100ms, 300ms, 700ms}) {
    std::optional<status> outcome;
    const time_point start = world_.now();
    sync_wait(world_.host("client"), stopped_after(d, {of("silent"), of("silent")}, outcome));
    EXPECT_EQ(*outcome, status::cancelled("connecting was cancelled"));
    EXPECT_LE(world_.now() - start, d + 1ms);
  }
}

task<status> by_name(std::string name, std::uint16_t port) {
  const result<stream> s = co_await connect(std::move(name), port);
  co_return s.status();
}

TEST_F(Eyeballs, ANameLeadsToItsAddresses) {
  world_.set_name("service.example", sim::name_record()
                                         .address(world_.address_of("silent"))
                                         .address(world_.address_of("good"))
                                         .latency(20ms));
  const time_point start = world_.now();
  EXPECT_EQ(sync_wait(world_.host("client"), by_name("service.example", 1)), status());
  EXPECT_GE(world_.now() - start, 270ms);
  EXPECT_LT(world_.now() - start, 271ms);
  EXPECT_EQ(sync_wait(world_.host("client"), by_name("better", 1)), status());
  EXPECT_EQ(sync_wait(world_.host("client"), by_name("refusing", 1)).message(),
            "refusing:1: connection refused: no process listens on " + of("refusing").to_string());
  EXPECT_EQ(sync_wait(world_.host("client"), by_name("nowhere", 1)).code(), status_code::not_found);
}

TEST_F(Eyeballs, IPv6IsTriedWhereIPv4Fails) {
  world_.set_name("both.example", sim::name_record().address("127.0.0.1").address("::1"));
  EXPECT_EQ(sync_wait(world_.host("good"), by_name("both.example", 2)), status());
  EXPECT_EQ(sync_wait(world_.host("good"), by_name("localhost", 2)), status());
}

TEST(EyeballsTrace, TheSameSeedTakesTheSameSteps) {
  const auto run = [] {
    sim::world w(7);
    w.host("client");
    w.set_name("x.example", sim::name_record().address("10.0.0.98").address("fd00::1").address("10.0.0.99"));
    EXPECT_EQ(sync_wait(w.host("client"), by_name("x.example", 1)).code(), status_code::unavailable);
    return w.trace_hash();
  };
  EXPECT_EQ(run(), run());
}

// Both connections are established at the same moment of virtual time: one is returned, the other one closed.
task<> accept_and_read(std::uint16_t port, std::optional<std::size_t>& got) {
  listener l = listener::open(address::loopback_v4(port)).value();
  stream s = (co_await l.accept()).value();
  std::vector<std::uint8_t> buffer(10);
  const result<std::size_t> n = co_await s.read(buffer);
  if (n.ok()) got = *n;
  co_await l.close();
}

TEST(EyeballsRace, AConnectionThatComesTooLateIsClosed) {
  sim::world w(1, sim::world_options{.latency = connection_attempt_delay / 2 + 5us});
  std::optional<std::size_t> far;
  std::optional<std::size_t> near;
  struct server {
    static task<> run(std::optional<std::size_t>& got) {
      listener l = listener::open(address::parse("0.0.0.0:1").value()).value();
      stream s = (co_await l.accept()).value();
      std::vector<std::uint8_t> buffer(10);
      const result<std::size_t> n = co_await s.read(buffer);
      if (n.ok()) got = *n;
      co_await l.close();
    }
  };
  w.host("far").spawn(server::run(far));
  w.host("client").spawn(accept_and_read(1, near));
  w.run_for(1ms);
  const time_point start = w.now();
  {
    result<stream> s =
        sync_wait(w.host("client"), connect({at(w.address_of("far") + ":1"), address::loopback_v4(1)}));
    ASSERT_TRUE(s.ok()) << s.status();
    EXPECT_EQ(w.now() - start, connection_attempt_delay + 10us);
    w.run_for(1s);
    EXPECT_NE(far.has_value(), near.has_value()) << "the loser is closed, the winner is not";
    EXPECT_EQ(far.value_or(near.value_or(1)), 0u);
    sync_wait(w.host("client"), close_it(s));
  }
}

}  // namespace
}  // namespace coracle::net::happy_eyeballs_test
