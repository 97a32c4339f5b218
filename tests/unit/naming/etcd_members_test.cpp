// A cluster of etcd of which members are cut off from the others, in simulated time.
#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/naming/with_etcd.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/server.hpp"
#include "rpc/proto_wire.hpp"
#include "support/kept_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::naming::etcd_members_test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct key_put {
  std::uint64_t revision = 0;
  std::string key;
  std::string value;
};

// What the members that are not cut off agree on.
struct cluster {
  void put(std::string key, std::string value) {
    history.push_back({++revision, std::move(key), std::move(value)});
  }
  std::uint64_t revision = 1;
  std::vector<key_put> history;
  std::uint64_t last_lease = 0;
};

std::string pair_of(const key_put& one) {
  std::string pair;
  rpc::put_text(pair, 1, one.key);
  rpc::put_text(pair, 5, one.value);
  return pair;
}

// While it is cut off, it has what it had then, and it answers nothing that needs the others.
class member final : public generic_service {
 public:
  explicit member(cluster& of) : of_(of) {}

  void cut_off() { old_.emplace(of_); }
  void join() { old_.reset(); }
  void fail() { fails_ = true; }

  replies<bytes_message> call(server_context& context, reader<bytes_message> requests) override {
    const std::string method(context.method());
    bytes_message request;
    auto out = co_await replies<bytes_message>::writer();
    while (co_await requests.read(request)) {
      std::map<std::uint32_t, std::string> texts;
      std::map<std::uint32_t, std::uint64_t> numbers;
      rpc::proto_reader fields(request.bytes());
      while (fields.next()) {
        texts[fields.field()] = std::string(fields.text());
        numbers[fields.field()] = fields.number();
      }
      std::string reply;
      if (method == "/etcdserverpb.Watch/Watch") {
        const bool has_leader = context.metadata().find("hasleader").has_value();
        for (std::uint64_t sent = of_.revision;;) {
          if (old_ && has_leader) co_return status::unavailable("etcdserver: no leader");
          std::string events;
          for (const key_put& one : of_.history) {
            std::string event;
            rpc::put_text(event, 2, pair_of(one));
            if (one.revision > sent && !old_) rpc::put_text(events, 11, event);
          }
          sent = of_.revision;
          const bytes_message message(events);
          if (!events.empty()) co_await out.write(message);
          co_await sleep_for(100ms);
        }
      }
      if (method == "/etcdserverpb.KV/Range") {
        const bool serializable = numbers[7] == 1;
        lists_at.push_back(loop::current()->now());
        if (fails_) co_return status::unavailable("etcdserver: no leader");
        if (old_ && !serializable) co_await sleep_for(1h);
        const cluster& seen = old_ ? *old_ : of_;
        std::string header;
        rpc::put_number(header, 3, seen.revision);
        rpc::put_text(reply, 1, header);
        for (const key_put& one : seen.history) rpc::put_text(reply, 2, pair_of(one));
      } else {
        if (old_) co_await sleep_for(1h);
        if (method == "/etcdserverpb.Lease/LeaseGrant") {
          rpc::put_number(reply, 2, ++of_.last_lease);
          rpc::put_number(reply, 3, 15);
        } else if (method == "/etcdserverpb.KV/Put") {
          of_.put(texts[1], texts[2]);
        } else if (method == "/etcdserverpb.Lease/LeaseKeepAlive") {
          kept_alive_at = loop::current()->now();
          rpc::put_number(reply, 2, numbers[1]);
          rpc::put_number(reply, 3, 15);
        }
      }
      const bytes_message message(reply);
      co_await out.write(message);
    }
    co_return coracle::ok;
  }

  std::optional<time_point> kept_alive_at;
  std::vector<time_point> lists_at;  // when it was asked for them

 private:
  cluster& of_;
  std::optional<cluster> old_;  // while it is cut off
  bool fails_ = false;
};

std::string value_of(int number) { return R"({"Addr":"10.1.1.)" + std::to_string(number) + R"(:1"})"; }

class ClusterOfEtcd : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::string name = "member" + std::to_string(i);
      servers_.push_back(std::make_unique<server>(world_.host(name)));
      servers_.back()->set_fallback(members_[i]);
      ASSERT_EQ(servers_.back()->listen("0.0.0.0:2379", insecure()), status());
      servers_.back()->start();
      target_ += (i == 0 ? "ipv4:" : ",") + world_.address_of(name) + ":2379";
    }
  }

  void put(int from, int to) {
    for (int i = from; i < to; ++i) cluster_.put("movies/" + std::to_string(i), value_of(i));
  }
  void cut_off_all() {
    for (member& one : members_) one.cut_off();
  }

  // A channel to etcd:///movies, which follows its servers from now on.
  void follow() {
    channel_options options;
    with_etcd(options, {target_, insecure()});
    client_.emplace(host_, "etcd:///movies", insecure(), options);
    host_.spawn(call(*client_));
  }
  static task<> call(channel to) {
    const generic_stub stub(std::move(to));
    const bytes_message request;
    call_options options;
    options.wait_for_ready = true;
    static_cast<void>(co_await stub.unary("/a.B/C", request, options));
  }

  testing_support::kept_log log_;
  sim::world world_{1, sim::world_options{.log = &log_}};
  cluster cluster_;
  std::array<member, 2> members_{member(cluster_), member(cluster_)};
  std::vector<std::unique_ptr<server>> servers_;
  runtime& host_ = world_.host("client");
  std::string target_;
  std::optional<channel> client_;
};

INSTANTIATE_TEST_SUITE_P(Whose, ClusterOfEtcd, testing::Values(0, 1), [](const auto& one) {
  return one.param == 0 ? std::string("FirstMemberIsCutOff") : std::string("SecondMemberIsCutOff");
});

TEST_P(ClusterOfEtcd, RegistersAServerAtAnotherMember) {
  members_[GetParam()].cut_off();
  etcd_registration registration({target_, insecure()});
  registration.announce(host_, "movies", "10.0.0.1:50051");
  world_.run_for(20s);
  EXPECT_EQ(cluster_.history.size(), 1u);
}

TEST_P(ClusterOfEtcd, KeepsALeaseAliveAtAnotherMember) {
  etcd_registration registration({target_, insecure()});
  registration.announce(host_, "movies", "10.0.0.1:50051");
  world_.run_for(20s);
  ASSERT_EQ(cluster_.history.size(), 1u);
  const std::size_t first = members_[0].kept_alive_at ? 0 : 1;
  ASSERT_TRUE(members_[first].kept_alive_at);
  members_[first].cut_off();
  world_.run_for(60s);
  ASSERT_TRUE(members_[1 - first].kept_alive_at);
  EXPECT_LT(world_.now() - *members_[1 - first].kept_alive_at, 15s);
}

TEST_P(ClusterOfEtcd, GivesTheFirstListFromAMemberThatIsInTouchWithTheOthers) {
  put(1, 2);
  members_[GetParam()].cut_off();
  put(2, 4);
  follow();
  world_.run_for(60s);
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("etcd:///movies: 3 servers\n"), Not(HasSubstr(": 1 servers"))));
}

TEST_P(ClusterOfEtcd, GivesTheFirstListAtOnceIfOneMemberIsDown) {
  put(1, 3);
  members_[GetParam()].fail();
  follow();
  world_.run_for(500ms);
  EXPECT_THAT(log_.text(), HasSubstr("etcd:///movies: 2 servers\n"));
}

// One request after the other: each after a pause, and at the next member. Only the first pause is short.
TEST_P(ClusterOfEtcd, IsAskedForItsFirstListWithPauses) {
  for (member& one : members_) one.fail();
  follow();
  world_.run_for(20s);
  std::vector<std::pair<time_point, std::size_t>> asked;
  for (std::size_t i = 0; i < members_.size(); ++i)
    for (const time_point at : members_[i].lists_at) asked.emplace_back(at, i);
  std::ranges::sort(asked);
  ASSERT_GE(asked.size(), 3u);
  ASSERT_LE(asked.size(), 8u);
  for (std::size_t i = 1; i < asked.size(); ++i) {
    EXPECT_GE(asked[i].first - asked[i - 1].first, i == 1 ? 200ms : 500ms) << i;
    EXPECT_NE(asked[i].second, asked[i - 1].second) << i;
  }
}

TEST_P(ClusterOfEtcd, IsWatchedAtAnotherMember) {
  put(1, 3);
  follow();
  world_.run_for(20s);
  EXPECT_THAT(log_.text(), HasSubstr("etcd:///movies: 2 servers\n"));
  members_[GetParam()].cut_off();
  put(3, 5);
  world_.run_for(20s);
  EXPECT_THAT(log_.text(), HasSubstr("etcd:///movies: 4 servers, 2 added"));
}

TEST_P(ClusterOfEtcd, GivesAnOldFirstListWithoutAQuorumAndTheNewOneAfterwards) {
  put(1, 3);
  cut_off_all();
  put(3, 5);
  follow();
  world_.run_for(30s);
  EXPECT_THAT(log_.text(), HasSubstr("etcd:///movies: 2 servers\n"));
  members_[GetParam()].join();
  world_.run_for(60s);
  EXPECT_THAT(log_.text(), HasSubstr("etcd:///movies: 4 servers, 2 added"));
}

TEST_P(ClusterOfEtcd, GivesNoLaterListThatIsOlder) {
  put(1, 3);
  members_[0].cut_off();
  members_[1].cut_off();
  members_[GetParam()].join();  // the other one is behind from here on
  put(3, 5);
  follow();
  world_.run_for(30s);
  EXPECT_THAT(log_.text(), HasSubstr("etcd:///movies: 4 servers\n"));
  members_[GetParam()].cut_off();
  world_.run_for(5min);
  EXPECT_THAT(log_.text(), AllOf(HasSubstr("The last 4 servers stay in use"), Not(HasSubstr("2 servers"))));
  members_[GetParam()].join();
  put(5, 6);
  world_.run_for(60s);
  EXPECT_THAT(log_.text(), HasSubstr("etcd:///movies: 5 servers, 1 added"));
}

}  // namespace
}  // namespace coracle::naming::etcd_members_test
