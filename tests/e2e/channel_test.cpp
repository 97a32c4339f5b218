// Channels to several servers that start and stop, in virtual time: names, balancing, waiting, idleness.
#include "support/server_fleet.hpp"

#include <set>

namespace coracle::testing_support::channel_test {
namespace {

using namespace std::chrono_literals;

class channel_to_servers : public server_fleet {
 protected:
  void TearDown() override { servers_.clear(); }
};

// --- names

TEST_F(channel_to_servers, AsksForItsNameAndConnects) {
  start("a");
  world_.set_name("movies.example", sim::name_record().address(world_.address_of("a")));
  for (const char* target : {"movies.example:50051", "dns:///movies.example:50051",
                             "dns:movies.example:50051", "passthrough:///movies.example:50051"}) {
    channel c(client_, target, insecure());
    EXPECT_EQ(call(c), "a") << target;
  }
}

TEST_F(channel_to_servers, FailsWithTheReasonWhileItsNameIsUnknownAndServesWhenItIsKnown) {
  start("a");
  channel c(client_, "movies.example:50051", insecure());
  struct program {
    static task<status> ask(channel& to) {
      const echo::Text request;
      const auto reply = co_await echo_stub(to).Say(request);
      co_return reply.status();
    }
  };
  const status reason = run(program::ask(c));
  EXPECT_EQ(reason.code(), status_code::unavailable);
  EXPECT_NE(reason.message().find("cannot resolve movies.example:50051"), std::string_view::npos) << reason;
  EXPECT_EQ(c.state(), connectivity::transient_failure);
  world_.set_name("movies.example", sim::name_record().address(world_.address_of("a")));
  wait(5s);
  EXPECT_EQ(call(c), "a");
}

TEST_F(channel_to_servers, LooksItsNameUpAgainWhenItsServerIsLostButNotWithin30Seconds) {
  start("a");
  start("b");
  world_.set_name("movies.example", sim::name_record().address(world_.address_of("a")));
  channel c(client_, "movies.example:50051", insecure());
  const time_point began = client_.now();
  EXPECT_EQ(call(c), "a");
  world_.set_name("movies.example", sim::name_record().address(world_.address_of("b")));
  wait(1s);
  stop("a");
  EXPECT_EQ(call(c), "UNAVAILABLE");
  call_options waiting;
  waiting.wait_for_ready = true;
  EXPECT_EQ(run(ask(c, waiting)), "b");
  EXPECT_GT(client_.now() - began, 29s);
  EXPECT_LT(client_.now() - began, 40s);
}

TEST_F(channel_to_servers, KeepsWhatItKnowsWhenTheNameServersFail) {
  start("a");
  world_.set_name("movies.example", sim::name_record().address(world_.address_of("a")));
  channel c(client_, "movies.example:50051", insecure());
  EXPECT_EQ(call(c), "a");
  world_.set_name("movies.example", sim::name_record().failing());
  stop("a");
  EXPECT_EQ(call(c), "UNAVAILABLE");
  wait(2min);
  start("a");
  call_options waiting;
  waiting.wait_for_ready = true;
  EXPECT_EQ(run(ask(c, waiting)), "a");
}

TEST_F(channel_to_servers, GoesByAResolverOfTheUsersAndByWhatItSaysLater) {
  start("a");
  start("b");
  auto names = std::make_shared<client::manual_resolver>(at({"a"}));
  channel_options options;
  options.resolver = names;
  channel c(client_, "movies", insecure(), options);
  EXPECT_EQ(call(c), "a");
  names->set(at({"b"}));
  wait(1s);
  EXPECT_EQ(call(c), "b");
  names->set(at({}));  // an empty list is none
  wait(1s);
  EXPECT_EQ(call(c), "b");
}

class throwing_resolver final : public client::resolver {
  task<> run(const client::target& of, client::resolution_sink&) override {
    co_await sleep_for(1ms);
    throw std::runtime_error("no " + of.endpoint() + " today");
  }
};

TEST_F(channel_to_servers, TakesAResolverThatThrowsForOneThatFails) {
  channel_options options;
  options.resolver = std::make_shared<throwing_resolver>();
  channel c(client_, "movies", insecure(), options);
  struct program {
    static task<status> ask(channel& to) {
      const echo::Text request;
      const auto reply = co_await echo_stub(to).Say(request);
      co_return reply.status();
    }
  };
  const status reason = run(program::ask(c));
  EXPECT_EQ(reason.code(), status_code::unavailable);
  EXPECT_NE(reason.message().find("no movies today"), std::string_view::npos) << reason;
}

// Fails with an exception as long as it has no value.
class late_resolver final : public client::resolver {
 public:
  std::optional<client::resolution> found;

 private:
  task<> run(const client::target&, client::resolution_sink& to) override {
    co_await sleep_for(1ms);
    if (!found) throw std::runtime_error("not yet");
    to.publish(*found);
    co_await to.wait_until_requested();
  }
};

TEST_F(channel_to_servers, RunsAResolverThatThrewAgain) {
  start("a");
  auto names = std::make_shared<late_resolver>();
  channel_options options;
  options.resolver = names;
  channel c(client_, "movies", insecure(), options);
  EXPECT_EQ(call(c), "UNAVAILABLE");
  names->found = at({"a"});
  call_options waiting;
  waiting.wait_for_ready = true;
  EXPECT_EQ(run(ask(c, waiting)), "a");
}

// --- servers

TEST_F(channel_to_servers, StaysWithOneServerUntilItIsLost) {
  for (const char* n : {"a", "b"}) start(n);
  channel c(client_, "ipv4:" + address("a") + "," + address("b"), insecure());
  EXPECT_EQ(calls(c, 10), (std::map<std::string, int>{{"a", 10}}));
  stop("a");
  EXPECT_EQ(calls(c, 10), (std::map<std::string, int>{{"b", 10}}));
}

TEST_F(channel_to_servers, ReachesTheSecondServerWithin250MillisecondsOfASilentFirst) {
  for (const char* n : {"a", "b"}) start(n);
  world_.partition("client", "a");
  channel c(client_, "ipv4:" + address("a") + "," + address("b"), insecure());
  const time_point began = client_.now();
  EXPECT_EQ(call(c), "b");
  EXPECT_GE(client_.now() - began, 250ms);
  EXPECT_LT(client_.now() - began, 260ms);
}

TEST_F(channel_to_servers, SpreadsItsCallsInTurn) {
  for (const char* n : {"a", "b", "c"}) start(n);
  channel_options options;
  options.resolver = std::make_shared<client::manual_resolver>(at({"a", "b", "c"}));
  options.balance = balancing::round_robin();
  channel c(client_, "movies", insecure(), options);
  EXPECT_NE(call(c), "UNAVAILABLE");
  wait(1s);
  EXPECT_EQ(calls(c, 30), (std::map<std::string, int>{{"a", 10}, {"b", 10}, {"c", 10}}));
  stop("b");
  wait(1s);
  EXPECT_EQ(calls(c, 30), (std::map<std::string, int>{{"a", 15}, {"c", 15}}));
}

// --- waiting

TEST_F(channel_to_servers, FailsACallAtOnceWhileNobodyIsThereUnlessItWaitsForReady) {
  (void)world_.host("a");
  channel c(client_, address("a"), insecure());
  EXPECT_EQ(call(c), "UNAVAILABLE");
  const time_point began = client_.now();
  EXPECT_EQ(call(c), "UNAVAILABLE");
  EXPECT_EQ(client_.now(), began);
  call_options waiting = within(10s);
  waiting.wait_for_ready = true;
  EXPECT_EQ(call(c, waiting), "DEADLINE_EXCEEDED");
  EXPECT_EQ(client_.now() - began, 10s);
  start("a");
  call_options waiting_2 = within(10s);
  waiting_2.wait_for_ready = true;
  EXPECT_EQ(call(c, waiting_2), "a");
}

TEST_F(channel_to_servers, QueuesCallsBeyondItsStreamsInOrderAndWithinTheirDeadlines) {
  start("a");
  channel_options options;
  options.streams_per_connection = 1;
  channel c(client_, address("a"), insecure(), options);
  struct program {
    static task<> one(channel& to, int number, call_options o, std::vector<std::string>& ends) {
      const std::string end = co_await ask(to, o, {}, 100);
      ends.push_back(std::to_string(number) + " " + end);
    }
    static task<> race(channel& to, std::vector<std::string>& ends) {
      scope work;
      work.spawn(one(to, 1, {}, ends));
      work.spawn(one(to, 2, {}, ends));
      work.spawn(one(to, 3, within(150ms), ends));
      work.spawn(one(to, 4, {}, ends));
      co_await work.join();
    }
  };
  std::vector<std::string> ends;
  run(program::race(c, ends));
  EXPECT_EQ(ends, (std::vector<std::string>{"1 a", "3 DEADLINE_EXCEEDED", "2 a", "4 a"}));
  EXPECT_EQ(service("a").calls, 3);
  EXPECT_EQ(service("a").peers.size(), 1u);
}

TEST_F(channel_to_servers, ForgetsAQueuedCallThatIsCancelled) {
  start("a");
  channel_options options;
  options.streams_per_connection = 1;
  channel c(client_, address("a"), insecure(), options);
  struct program {
    static task<> one(channel& to, int& ended, int pause_ms) {
      (void)co_await ask(to, {}, {}, pause_ms);
      ++ended;
    }
    static task<int> cancel(channel& to) {
      int ended = 0;
      scope first;
      first.spawn(one(to, ended, 100));
      scope second;
      second.spawn(one(to, ended, 0));
      co_await sleep_for(10ms);
      second.request_stop();
      co_await second.join();
      co_await first.join();
      (void)co_await ask(to);
      co_return ended;
    }
  };
  EXPECT_EQ(run(program::cancel(c)), 2);
  EXPECT_EQ(service("a").calls, 2);
}

TEST_F(channel_to_servers, MakesFurtherConnectionsForCallsThatWait) {
  start("a");
  channel_options options;
  options.streams_per_connection = 2;
  options.connections_per_server = 3;
  channel c(client_, address("a"), insecure(), options);
  struct program {
    static task<> one(channel& to) { EXPECT_EQ(co_await ask(to, {}, {}, 1000), "a"); }
    static task<> many(channel& to) {
      scope work;
      for (int i = 0; i < 6; ++i) work.spawn(one(to));
      co_await work.join();
    }
  };
  const time_point began = client_.now();
  run(program::many(c));
  EXPECT_EQ(service("a").peers.size(), 3u);
  EXPECT_LT(client_.now() - began, 1100ms);
}

TEST_F(channel_to_servers, MakesNoMoreThanTenConnectionsToOneServer) {
  start("a");
  channel_options options;
  options.streams_per_connection = 1;
  options.connections_per_server = 100;
  channel c(client_, address("a"), insecure(), options);
  struct program {
    static task<> one(channel& to) { EXPECT_EQ(co_await ask(to, {}, {}, 1000), "a"); }
    static task<> many(channel& to) {
      scope work;
      for (int i = 0; i < 12; ++i) work.spawn(one(to));
      co_await work.join();
    }
  };
  run(program::many(c));
  EXPECT_EQ(service("a").peers.size(), channel_options::connections_limit);
}

// --- states and rest

TEST_F(channel_to_servers, SaysItsState) {
  start("a");
  channel c(client_, address("a"), insecure());
  EXPECT_EQ(c.state(), connectivity::idle);
  struct program {
    static task<bool> watch(channel& of, connectivity from, duration at_most) {
      co_return co_await of.wait_for_state_change(from, at_most);
    }
    static task<> connect(channel& to) {
      to.connect();
      EXPECT_EQ(to.state(), connectivity::connecting);
      EXPECT_TRUE(co_await to.wait_for_state_change(connectivity::connecting));
      EXPECT_EQ(to.state(), connectivity::ready);
      const time_point began = loop::current()->now();
      EXPECT_FALSE(co_await to.wait_for_state_change(connectivity::ready, 1s));
      EXPECT_EQ(loop::current()->now() - began, 1s);
    }
    static task<> outlive(std::unique_ptr<channel> c) {
      task<bool> change = c->wait_for_state_change(connectivity::idle);
      c.reset();
      EXPECT_TRUE(co_await std::move(change));
    }
  };
  run(program::connect(c));
  EXPECT_EQ(call(c), "a");
  stop("a");
  EXPECT_TRUE(run(program::watch(c, connectivity::ready, 1min)));
  EXPECT_EQ(c.state(), connectivity::idle);
  EXPECT_EQ(call(c), "UNAVAILABLE");
  EXPECT_EQ(c.state(), connectivity::transient_failure);
  run(program::outlive(std::make_unique<channel>(client_, address("a"), insecure())));
}

TEST_F(channel_to_servers, RestsWithoutCallsAndWakesWithTheNext) {
  start("a");
  channel_options options;
  options.idle_timeout = 10min;
  channel c(client_, address("a"), insecure(), options);
  EXPECT_EQ(call(c), "a");
  wait(9min);
  EXPECT_EQ(c.state(), connectivity::ready);
  EXPECT_EQ(call(c), "a");
  EXPECT_EQ(service("a").peers.size(), 1u);
  wait(21min);
  EXPECT_EQ(c.state(), connectivity::idle);
  EXPECT_EQ(call(c), "a");
  EXPECT_EQ(service("a").peers.size(), 2u);
}

TEST_F(channel_to_servers, DoesNotRestWhileACallGoesOn) {
  start("a");
  channel_options options;
  options.idle_timeout = 10min;
  channel c(client_, address("a"), insecure(), options);
  EXPECT_EQ(run(ask(c, {}, "hang")), "a");
  EXPECT_EQ(service("a").peers.size(), 1u);
}

TEST_F(channel_to_servers, RestsAlsoWhileItsServersAreGone) {
  (void)world_.host("a");
  channel c(client_, address("a"), insecure());
  EXPECT_EQ(call(c), "UNAVAILABLE");
  world_.run();  // ends: no connection attempt is repeated forever
  EXPECT_EQ(c.state(), connectivity::idle);
}

TEST_F(channel_to_servers, MayGoInAnyState) {
  start("a");
  world_.set_name("slow.example", sim::name_record().address(world_.address_of("a")).latency(1s));
  for (const char* target : {"slow.example:50051", "127.0.0.1:1", "no.example:1", "http://nonsense"}) {
    for (const duration after : {0ms, 1ms, 500ms, 1500ms}) {
      struct program {
        static task<> end(runtime& rt, std::string to, duration d) {
          channel c(rt, to, insecure());
          scope work;
          work.spawn(one(c));
          co_await sleep_for(d);
          c.connect();
          {
            const channel gone(rt, to, insecure());
          }
          work.request_stop();
          co_await work.join();
        }
        static task<> one(channel& c) {
          call_options waiting;
          waiting.wait_for_ready = true;
          (void)co_await ask(c, waiting);
        }
      };
      run(program::end(client_, target, after));
    }
  }
}

}  // namespace
}  // namespace coracle::testing_support::channel_test
