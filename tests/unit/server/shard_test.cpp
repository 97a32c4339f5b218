// A server that another process replaces sends its GOAWAYs in parts, evenly, to its oldest connections first.
#include "server/shard.hpp"

#include "coracle/net/address.hpp"
#include "coracle/net/stream.hpp"
#include "coracle/runtime/sim.hpp"
#include "server/server_state.hpp"
#include "support/raw_frames.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace coracle::server_internal::shard_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
namespace frames = testing_support::raw_frames;

class GoawaysOfAShard : public testing::Test {
 protected:
  GoawaysOfAShard() {
    state_->make_shards();
    EXPECT_EQ(state_->listen("0.0.0.0:50051", insecure()), status());
  }
  ~GoawaysOfAShard() override { state_->close(); }

  // A connection with a name, until the server closes it.
  void connect(int name) {
    clients_.spawn(follow(world_.address_of("server") + ":50051", name, got_goaway_));
    world_.run_for(10ms);
  }
  void begin() {
    in_shard([](shard& s) { s.begin_goaways(); });
  }
  // Who gets GOAWAY in this part.
  std::vector<int> send(std::size_t part, std::size_t parts) {
    got_goaway_.clear();
    in_shard([part, parts](shard& s) { s.send_goaways(part, parts); });
    return got_goaway_;
  }
  template <class F>
  void in_shard(F f) {
    EXPECT_TRUE(state_->with_shard(0, [f](shard* s) { f(*s); }));
    world_.run_for(10ms);
  }

  sim::world world_{1};
  runtime& clients_ = world_.host("clients");
  std::shared_ptr<server_state> state_ =
      std::make_shared<server_state>(world_.host("server"), server_options());

 private:
  static task<> follow(std::string at, int name, std::vector<int>& got_goaway) {
    result<net::stream> s = co_await net::stream::connect(net::address::parse(at).value());
    if (!s) {
      ADD_FAILURE() << s.status();
      co_return;
    }
    const std::string hello = frames::greeting();
    const status sent = co_await s->write(as_bytes(hello));
    EXPECT_EQ(sent, status());
    std::string bytes;
    std::array<unsigned char, 1024> piece{};
    for (bool has_goaway = false;;) {
      const result<std::size_t> n = co_await s->read(piece);
      if (!n || *n == 0) co_return;
      bytes.append(reinterpret_cast<const char*>(piece.data()), *n);
      if (has_goaway || bytes.find(frames::frame(frames::goaway, 0, 0, "").substr(3)) == bytes.npos) continue;
      has_goaway = true;
      got_goaway.push_back(name);
    }
  }

  std::vector<int> got_goaway_;
};

TEST_F(GoawaysOfAShard, ArePacedEvenlyInTheOrderOfTheConnections) {
  for (int i = 0; i < 10; ++i) connect(i);
  begin();
  EXPECT_THAT(send(1, 4), ElementsAre(0, 1));
  EXPECT_THAT(send(2, 4), ElementsAre(2, 3, 4));
  EXPECT_THAT(send(3, 4), ElementsAre(5, 6));
  EXPECT_THAT(send(4, 4), ElementsAre(7, 8, 9));
  EXPECT_THAT(send(4, 4), IsEmpty());
}

TEST_F(GoawaysOfAShard, AreSentInEachPartThatHasAConnection) {
  for (int i = 0; i < 3; ++i) connect(i);
  begin();
  std::vector<std::size_t> counts;
  for (std::size_t part = 1; part <= 9; ++part) counts.push_back(send(part, 9).size());
  EXPECT_THAT(counts, ElementsAre(0, 0, 1, 0, 0, 1, 0, 0, 1));
}

TEST_F(GoawaysOfAShard, GoToNoConnectionThatCameLater) {
  connect(0);
  begin();
  connect(1);
  EXPECT_THAT(send(1, 1), ElementsAre(0));
}

// A part that was left out, as by a loop that was busy, is sent with the next one.
TEST_F(GoawaysOfAShard, CatchUp) {
  for (int i = 0; i < 6; ++i) connect(i);
  begin();
  EXPECT_THAT(send(2, 3), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(send(3, 3), ElementsAre(4, 5));
}

// A successor has failed, and the next one serves: the others get theirs, and those that have had it may go.
TEST_F(GoawaysOfAShard, BeginAnewForTheNextSuccessor) {
  for (int i = 0; i < 4; ++i) connect(i);
  begin();
  EXPECT_THAT(send(1, 2), ElementsAre(0, 1));
  begin();
  EXPECT_THAT(send(1, 1), ElementsAre(2, 3));
}

}  // namespace
}  // namespace coracle::server_internal::shard_test
