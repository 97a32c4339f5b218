// Each fault of a simulated world, observed through streams.
#include "sim/byte_programs.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>

namespace coracle::testing_support::faults_test {
namespace {

using namespace std::chrono_literals;

// A host "server" that receives `connections` and hosts that send.
class faulty_world {
 public:
  explicit faulty_world(std::uint64_t seed, const sim::faults& f, std::size_t connections = 1)
      : got(connections), sent(connections), world(seed, sim::world_options{.faults = f, .keep_events = 50}) {
    world.host("server").spawn(byte_programs::receive_on(7, got));
  }
  void send(std::size_t which, std::string text) {
    world.host("client" + std::to_string(which))
        .spawn(byte_programs::send_to(there(), std::move(text), sent[which]));
  }
  [[nodiscard]] std::string there() const { return world.address_of("server") + ":7"; }

  std::vector<received> got;
  std::vector<status> sent;
  sim::world world;  // its tasks refer to the others until its end
};

TEST(SimFaults, ShortReadsAndWritesCutEverywhereAndLoseNothing) {
  const std::string text = pattern(20'000);
  std::set<std::size_t> sizes;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    faulty_world w(seed, sim::faults().short_reads(0.7).short_writes(0.7));
    w.send(0, text);
    w.world.run();
    EXPECT_EQ(w.got[0].bytes, text) << seed;
    EXPECT_EQ(w.got[0].end, status()) << seed;
    sizes.insert(w.got[0].reads.begin(), w.got[0].reads.end());
  }
  EXPECT_GT(sizes.size(), 200u);
}

TEST(SimFaults, ASingleByteCannotBeCut) {
  faulty_world w(1, sim::faults().short_reads(1).short_writes(1));
  w.send(0, pattern(3));
  w.world.run();
  EXPECT_EQ(w.got[0].bytes, pattern(3));
}

TEST(SimFaults, JitterLetsConnectionsOvertakeEachOther) {
  std::map<std::string, int> first;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<received> got(2);
    std::vector<status> sent(2);
    sim::world world(seed, sim::world_options{.faults = sim::faults().jitter(5ms)});
    world.host("server").spawn(byte_programs::receive_on(7, got));
    for (int i = 0; i < 2; ++i)
      world.host("client").spawn(byte_programs::send_to(world.address_of("server") + ":7", std::to_string(i),
                                                        sent[static_cast<std::size_t>(i)]));
    world.run();
    ++first[got[0].bytes];
    EXPECT_EQ(got[0].bytes.size() + got[1].bytes.size(), 2u);
  }
  EXPECT_GT(first["0"], 5);
  EXPECT_GT(first["1"], 5);
}

TEST(SimFaults, LostPacketsComeLateAndInOrder) {
  const std::string text = pattern(200'000);
  faulty_world w(3, sim::faults().packet_loss(0.3).short_writes(0.9));
  w.send(0, text);
  const time_point start = w.world.now();
  w.world.run();
  EXPECT_EQ(w.got[0].bytes, text);
  EXPECT_GT(w.world.now() - start, 200ms);
}

TEST(SimFaults, AResetIsSeenOnBothSides) {
  faulty_world w(1, sim::faults().resets(1));
  w.send(0, pattern(10));
  w.world.run();
  EXPECT_EQ(w.got[0].end.code(), status_code::unavailable);
  EXPECT_EQ(w.got[0].bytes, "");
  EXPECT_EQ(w.sent[0].code(), status_code::unavailable);
}

TEST(SimFaults, OnlyWhoHasSentNoticesSilence) {
  faulty_world w(1, sim::faults().blackholes(1));
  const time_point start = w.world.now();
  w.send(0, pattern(10));
  w.world.run();
  EXPECT_EQ(w.sent[0].code(), status_code::unavailable);
  EXPECT_GE(w.world.now() - start, sim::blackhole_timeout);
  EXPECT_FALSE(w.got[0].has_ended);  // and waits forever
  EXPECT_EQ(w.got[0].bytes, "");
}

TEST(SimFaults, ASendMayFindNoBuffers) {
  faulty_world w(1, sim::faults().no_buffers(1));
  w.send(0, pattern(10));
  w.world.run();
  EXPECT_EQ(w.sent[0].code(), status_code::resource_exhausted);
}

TEST(SimFaults, DescriptorsMayRunOutOnBothSides) {
  int refused = 0;
  int served = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    faulty_world w(seed, sim::faults().no_descriptors(0.5));
    w.send(0, "here");
    w.world.run();
    if (w.sent[0].code() == status_code::resource_exhausted) ++refused;
    else if (w.got[0].bytes == "here") ++served;
  }
  EXPECT_GT(refused, 5);
  EXPECT_GT(served, 5);
  EXPECT_EQ(refused + served, 40);
}

TEST(SimFaults, ASlowAcceptKeepsBytesWaiting) {
  faulty_world w(1, sim::faults().slow_accepts(1, 10s));
  const time_point start = w.world.now();
  w.send(0, "patient");
  w.world.run();
  EXPECT_EQ(w.got[0].bytes, "patient");
  EXPECT_GT(w.got[0].ended - start, 100ms);
}

TEST(SimFaults, APartitionHoldsBytesBackUntilItHeals) {
  const std::string text = pattern(600'000);  // more than the sockets hold
  faulty_world w(1, {});
  w.send(0, text);
  const time_point start = w.world.now();
  w.world.run_for(120us);  // connected, and writing
  w.world.partition("client0", "server");
  w.world.run_for(60s);
  EXPECT_LT(w.got[0].bytes.size(), text.size());
  EXPECT_FALSE(w.got[0].has_ended);
  w.world.heal("client0", "server");
  w.world.run();
  EXPECT_EQ(w.got[0].bytes, text);
  EXPECT_EQ(w.got[0].end, status());
  EXPECT_GE(w.got[0].ended - start, 60s);
}

TEST(SimFaults, ALongPartitionEndsTheConnection) {
  faulty_world w(1, {});
  w.send(0, pattern(600'000));
  w.world.run_for(120us);
  w.world.partition("client0", "server");
  w.world.run();
  EXPECT_EQ(w.sent[0].code(), status_code::unavailable);
  w.world.heal();
  w.world.run();
  EXPECT_FALSE(w.got[0].has_ended);  // it was not notified
}

TEST(SimFaults, NobodyConnectsThroughAPartition) {
  faulty_world w(1, {}, 3);
  w.send(0, "a");
  w.send(1, "b");
  w.world.partition("client0", "server");
  w.world.run();
  EXPECT_EQ(w.sent[0].code(), status_code::unavailable);
  EXPECT_EQ(w.sent[1], status());  // the others continue
  w.world.heal();
  w.world.host("client0").spawn(byte_programs::send_to(w.there(), "again", w.sent[2]));
  w.world.run();
  EXPECT_EQ(w.got[1].bytes, "again");
}

TEST(SimFaults, TheLastEventsAreTold) {
  faulty_world w(1, sim::faults().resets(1));
  w.send(0, "x");
  w.world.run();
  const std::vector<std::string> observed = w.world.last_events();
  ASSERT_FALSE(observed.empty());
  EXPECT_LE(observed.size(), 50u);
  EXPECT_TRUE(std::any_of(observed.begin(), observed.end(),
                          [](const std::string& l) { return l.find("reset") != std::string::npos; }));
}

TEST(SimFaults, TheSameSeedMeetsTheSameFaults) {
  struct run {
    static std::pair<std::uint64_t, std::uint64_t> world(std::uint64_t seed) {
      faulty_world w(seed, sim::faults::everything(), 4);
      for (std::size_t i = 0; i < 4; ++i) w.send(i, pattern(100'000, static_cast<unsigned>(i)));
      w.world.run();
      return {w.world.trace_hash(), w.world.trace_length()};
    }
  };
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto first = run::world(seed);
    EXPECT_EQ(first, run::world(seed)) << seed;
    hashes.insert(first.first);
  }
  EXPECT_EQ(hashes.size(), 30u);
}

}  // namespace
}  // namespace coracle::testing_support::faults_test
