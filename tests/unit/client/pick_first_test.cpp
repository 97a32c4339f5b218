// pick_first over scripted servers, in virtual time.
#include "unit/client/balancer_fixture.hpp"

namespace coracle::client::test::pick_first_test {
namespace {

class pick_first_policy : public balancer_fixture {
 protected:
  static time_point now() { return loop::current()->now(); }
  static void start(recording_host& h, std::initializer_list<int> list) {
    h.update(servers(list));
    h.policy->connect();
  }
};

TEST_F(pick_first_policy, RestsUntilItIsTold) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    h.net->serve(1);
    h.update(servers({1}));
    co_await sleep_for(1h);
    EXPECT_TRUE(h.net->log.empty());
    EXPECT_EQ(h.state(), connectivity::idle);
  });
}

TEST_F(pick_first_policy, TakesTheFirstThatAnswersAndDropsTheOthers) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    for (int n : {1, 2, 3}) h.net->serve(n);
    start(h, {1, 2, 3});
    co_await sleep_for(1ms);
    co_await sleep_for(1s);
    EXPECT_EQ(h.state(), connectivity::ready);
    EXPECT_EQ(h.net->log.size(), 1u);
    held_call call;
    subchannel* const to = h.call(call);
    EXPECT_TRUE(to && to->where().address() == at(1));
    EXPECT_EQ(h.alive.size(), 1u);
  });
}

TEST_F(pick_first_policy, GoesOnAtOnceWhenTheNewestAttemptFails) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    h.net->refuse(1, 10ms);
    h.net->refuse(2, 10ms);
    h.net->serve(3);
    const time_point began = now();
    start(h, {1, 2, 3});
    co_await sleep_for(1ms);
    co_await sleep_for(100ms);
    EXPECT_EQ(h.state(), connectivity::ready);
    EXPECT_LT(h.record.back().when - began, 30ms);
  });
}

TEST_F(pick_first_policy, StartsTheNextBesideASilentOneAfter250Milliseconds) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    h.net->vanish(1);
    h.net->vanish(2);
    h.net->serve(3, 5ms);
    start(h, {1, 2, 3});
    co_await sleep_for(1ms);
    co_await sleep_for(1s);
    EXPECT_EQ(h.net->log.size(), 3u);
    if (h.net->log.size() != 3) co_return;
    EXPECT_EQ(h.net->log[1].when - h.net->log[0].when, 250ms);
    EXPECT_EQ(h.net->log[2].when - h.net->log[1].when, 250ms);
    EXPECT_EQ(h.state(), connectivity::ready);
    EXPECT_EQ(h.alive.size(), 1u);
  });
}

// RFC 8305 4: it joins those that are dialed, one delay after them.
TEST_F(pick_first_policy, TriesAServerThatComesBesideThoseThatAreSilent) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    for (const int n : {1, 2, 3}) h.net->vanish(n);
    h.net->serve(4);
    h.update(servers({1, 2, 3}));
    h.policy->connect();
    co_await sleep_for(600ms);
    h.update(servers({1, 2, 3, 4}));
    co_await sleep_for(200ms);
    EXPECT_EQ(h.state(), connectivity::connecting);
    EXPECT_EQ(h.net->dials(4), 0u);
    co_await sleep_for(100ms);
    EXPECT_EQ(h.state(), connectivity::ready);
    for (const int n : {1, 2, 3, 4}) EXPECT_EQ(h.net->dials(n), 1u) << n;
  });
}

TEST_F(pick_first_policy, LetsASlowFirstServerWinAgainstALaterOneThatIsSlower) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    h.net->serve(1, 400ms);
    h.net->serve(2, 400ms);
    start(h, {1, 2});
    co_await sleep_for(1ms);
    co_await sleep_for(1s);
    held_call call;
    subchannel* const to = h.call(call);
    EXPECT_TRUE(to && to->where().address() == at(1));
    EXPECT_TRUE(h.net->of(2).empty());
  });
}

TEST_F(pick_first_policy, TakesTheFamiliesInTurn) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    start(h, {101, 102, 103, 1, 2});
    co_await sleep_for(1ms);
    co_await sleep_for(500ms);
    std::vector<net::address> order;
    for (const auto& d : h.net->log) order.push_back(d.to);
    EXPECT_EQ(order, (std::vector{at(101), at(1), at(102), at(2), at(103)}));
  });
}

TEST_F(pick_first_policy, FailsWhenEveryServerHasFailedAndAsksForNewNames) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    start(h, {1, 2, 1});
    co_await sleep_for(1ms);
    co_await sleep_for(500ms);
    EXPECT_EQ(h.net->log.size(), 2u);  // a server that is named twice is tried once
    EXPECT_EQ(h.state(), connectivity::transient_failure);
    EXPECT_EQ(h.questions, 1);
    EXPECT_NE(h.reason().find("none of 2 servers"), std::string::npos) << h.reason();
    EXPECT_NE(h.reason().find("refused by 10.0.0.2:1"), std::string::npos) << h.reason();
  });
}

TEST_F(pick_first_policy, TriesEachServerAgainByItselfAfterItsPauseAndStaysFailedMeanwhile) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    start(h, {1, 2});
    co_await sleep_for(1ms);
    co_await sleep_for(1min);
    EXPECT_GT(h.net->dials(1), 3u);
    EXPECT_GT(h.net->dials(2), 3u);
    bool failed = false;
    for (const auto& s : h.record) {
      failed |= s.state == connectivity::transient_failure;
      EXPECT_TRUE(!failed || s.state == connectivity::transient_failure);
    }
    h.net->serve(2);
    co_await sleep_for(3min);
    EXPECT_EQ(h.state(), connectivity::ready);
    EXPECT_EQ(h.net->of(2).size(), 1u);
    EXPECT_TRUE(h.net->of(1).empty());
  });
}

TEST_F(pick_first_policy, RestsWhenItsServerIsLostAndBeginsAnewFromTheFront) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    h.net->refuse(1);
    h.net->serve(2);
    start(h, {1, 2});
    co_await sleep_for(1ms);
    co_await sleep_for(1s);
    EXPECT_EQ(h.net->of(2).size(), 1u);
    h.net->serve(1);
    for (scripted_server* s : h.net->of(2)) s->die();
    co_await sleep_for(10s);
    EXPECT_EQ(h.state(), connectivity::idle);
    EXPECT_EQ(h.questions, 1);
    h.policy->connect();
    co_await sleep_for(1s);
    EXPECT_EQ(h.state(), connectivity::ready);
    EXPECT_EQ(h.net->of(1).size(), 1u);
  });
}

// As a server of a mesh does whose configuration changes just then: a call must not fail because of that.
TEST_F(pick_first_policy, ConnectsAgainToAServerThatDrainsTheFirstConnectionAtOnce) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    h.net->drain_at_once(1, 1);
    start(h, {1});
    co_await sleep_for(100ms);
    EXPECT_EQ(h.state(), connectivity::ready);
    EXPECT_EQ(h.net->dials(1), 2u);
    EXPECT_GE(h.questions, 1) << "a server that drains may have been replaced";
    for (const auto& each : h.record) EXPECT_NE(each.state, connectivity::transient_failure);
  });
}

TEST_F(pick_first_policy, FailsWithAServerThatDrainsEachConnectionAtOnce) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    h.net->drain_at_once(1, 1000);
    start(h, {1});
    co_await sleep_for(500ms);
    EXPECT_EQ(h.state(), connectivity::transient_failure);
    EXPECT_EQ(h.net->dials(1), 2u);
    co_await sleep_for(10s);
    EXPECT_LE(h.net->dials(1), 10u);
    h.net->serve(1);
    co_await sleep_for(2min);
    EXPECT_EQ(h.state(), connectivity::ready);
  });
}

// "localhost" is two addresses of one server. While one is in its backoff, the other is tried, and must not
// erase it.
TEST_F(pick_first_policy, PausesBetweenSeveralAddressesThatAllBreakTheirConnections) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    h.net->serve(1, 0ms);
    h.net->serve(2, 0ms);
    h.update(servers({1, 2}));
    for (int i = 0; i < 60'000; ++i) {
      h.policy->connect();
      co_await sleep_for(1ms);
      for (const auto& s : h.net->made) s->die();
    }
    EXPECT_GE(h.net->log.size(), 12u);
    EXPECT_LE(h.net->log.size(), 24u);
    EXPECT_LE(h.alive.size(), 2u);
  });
}

TEST_F(pick_first_policy, KeepsItsServerWhenANewListHasItToo) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    for (int n : {1, 2, 3}) h.net->serve(n);
    start(h, {1, 2});
    co_await sleep_for(1ms);
    co_await sleep_for(1s);
    h.update(servers({3, 1}));
    co_await sleep_for(1s);
    EXPECT_EQ(h.net->log.size(), 1u);
    EXPECT_EQ(h.state(), connectivity::ready);
  });
}

TEST_F(pick_first_policy, LeavesAServerThatANewListHasNotAndLetsItsCallsEnd) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    for (int n : {1, 2, 3}) h.net->serve(n);
    start(h, {1, 2});
    co_await sleep_for(1ms);
    co_await sleep_for(1s);
    held_call call;
    EXPECT_TRUE(h.call(call));
    h.update(servers({3, 2}));
    co_await sleep_for(1s);
    EXPECT_EQ(h.state(), connectivity::ready);
    EXPECT_EQ(h.net->of(3).size(), 1u);
    EXPECT_EQ(h.net->of(1).size(), 1u);
    EXPECT_TRUE(call.open());
    call.end();
    co_await sleep_for(10s);
    EXPECT_TRUE(h.net->of(1).empty());
  });
}

TEST_F(pick_first_policy, ServesFromANewListWhileItFails) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    h.net->serve(7);
    start(h, {1, 2});
    co_await sleep_for(1ms);
    co_await sleep_for(100ms);
    EXPECT_EQ(h.state(), connectivity::transient_failure);
    h.update(servers({7}));
    co_await sleep_for(100ms);
    EXPECT_EQ(h.state(), connectivity::ready);
  });
}

TEST_F(pick_first_policy, ShufflesWhenAskedTo) {
  run(balancing::pick_first(true), [](recording_host& h) -> task<> {
    std::vector<int> firsts(10);
    for (int i = 0; i < 60; ++i) {
      h.update(servers({1, 2, 3}));
      h.policy = nullptr;
      h.use(balancing::pick_first(true));
      h.update(servers({1, 2, 3}));
      h.net->log.clear();
      h.policy->connect();
      co_await sleep_for(10ms);
      for (int n : {1, 2, 3}) firsts[static_cast<std::size_t>(n)] += h.net->log.front().to == at(n);
    }
    for (std::size_t n : {1u, 2u, 3u}) EXPECT_GT(firsts[n], 5);
  });
}

TEST_F(pick_first_policy, KeepsAConnectionToTheSecondAddressOfAServer) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    h.net->refuse(1);
    h.net->serve(2);
    endpoint both(at(1));
    both.add_address(at(2));
    h.update({both});
    h.policy->connect();
    co_await sleep_for(100ms);
    EXPECT_EQ(h.state(), connectivity::ready);
    h.net->log.clear();
    h.record.clear();
    h.update({both, endpoint(at(3))});
    co_await sleep_for(100ms);
    EXPECT_TRUE(h.net->log.empty());
    EXPECT_TRUE(h.record.empty());
  });
}

TEST_F(pick_first_policy, ShufflesByTheWeightsOfServers) {
  run(balancing::pick_first(true), [](recording_host& h) -> task<> {
    const std::vector<endpoint> weighted = {endpoint(at(1), 1), endpoint(at(2), 3), endpoint(at(3), 0)};
    std::vector<int> firsts(4);
    for (int i = 0; i < 400; ++i) {
      h.policy = nullptr;
      h.use(balancing::pick_first(true));
      h.update(weighted);
      h.net->log.clear();
      h.policy->connect();
      co_await sleep_for(10ms);
      for (int n : {1, 2, 3}) firsts[static_cast<std::size_t>(n)] += h.net->log.front().to == at(n);
    }
    EXPECT_NEAR(firsts[1], 100, 40);
    EXPECT_NEAR(firsts[2], 300, 40);
    EXPECT_EQ(firsts[3], 0);
  });
}

TEST_F(pick_first_policy, GivesUpAServerThatTakesAConnectionAndNeverSpeaks) {
  run(balancing::pick_first(), [](recording_host& h) -> task<> {
    h.net->be_mute(1);
    start(h, {1});
    co_await sleep_for(1ms);
    co_await sleep_for(19s);
    EXPECT_EQ(h.state(), connectivity::connecting);
    co_await sleep_for(2s);
    EXPECT_EQ(h.state(), connectivity::transient_failure);
    EXPECT_NE(h.reason().find("sent no HTTP/2 SETTINGS"), std::string::npos) << h.reason();
  });
}

TEST_F(pick_first_policy, MayGoInAnyState) {
  for (int state = 0; state < 4; ++state) {
    struct program {
      static task<> play(int which) {
        recording_host h(*loop::current());
        h.net->vanish(1);
        if (which == 2) h.net->serve(1);
        if (which == 3) h.net->refuse(1);
        h.use(balancing::pick_first());
        h.update(servers({1, 2}));
        if (which > 0) h.policy->connect();
        co_await sleep_for(10ms);
        co_await h.end();
      }
    };
    sync_wait(host_, host_.at(0), program::play(state));
  }
}

}  // namespace
}  // namespace coracle::client::test::pick_first_test
