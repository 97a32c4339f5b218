// Clients of control planes that channels share.
#include "xds/ads/shared_clients.hpp"

#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/runtime/on.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "unit/xds/xds_channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

namespace coracle::xds::shared_clients_test {
namespace {

using namespace testing_resources;
using namespace std::chrono_literals;
using testing::IsEmpty;

using SharedClients = XdsChannel;

TEST_F(SharedClients, ServeTheChannelsOfATargetUntilTheLastOneCloses) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> all(std::optional<generic_stub> first, generic_stub made, XdsChannel& t) {
      std::optional<generic_stub> second(std::move(made));
      const std::string of_first = co_await ask(*first);
      EXPECT_EQ(of_first, "0");
      const std::string of_second = co_await ask(*second);
      EXPECT_EQ(of_second, "0");
      EXPECT_EQ(t.plane_.streams(), 1u);
      first.reset();  // it has begun, and its loop is that of the client
      co_await sleep_for(1s);
      EXPECT_EQ(t.plane_.streams(), 1u);
      t.offer_cluster("a", {{t.port(1)}});
      co_await sleep_for(1s);
      const std::string moved = co_await ask(*second);
      EXPECT_EQ(moved, "1");
      second.reset();
      co_await sleep_for(1s);
      EXPECT_EQ(t.plane_.streams(), 0u);
      second.emplace(t.stub());
      const std::string again = co_await ask(*second);
      EXPECT_EQ(again, "1");
      EXPECT_EQ(t.plane_.streams(), 1u);
    }
  };
  play(steps::all(stub(), stub(), *this));
}

// A channel that comes later has what is known at once, also while the control plane is away.
TEST_F(SharedClients, GiveTheirCacheToChannelsThatComeLater) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> all(generic_stub first, XdsChannel& t) {
      (void)co_await ask(first);
      co_await t.plane_server_->drain(duration::zero());
      const generic_stub second = t.stub();
      const std::string late = co_await ask(second);
      EXPECT_EQ(late, "0");
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(SharedClients, AreOthersForOtherTargetsBootstrapsAndOptions) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  plane_.offer(resource_kind::listener, "beside", listener_with("beside", manager_of_rds("r")));
  struct steps {
    static task<> all(std::vector<generic_stub> by, XdsChannel& t) {
      for (const generic_stub& each : by) {
        const std::string answer = co_await ask(each);
        EXPECT_FALSE(answer.empty());
      }
      EXPECT_EQ(t.plane_.streams(), by.size());
    }
  };
  channel_options beside;
  xds_options mesh;
  mesh.bootstrap = bootstrap_json();
  beside.add_resolver("xds", xds_resolver(mesh));
  xds_options more = mesh;
  more.policies["example"] = [](std::string_view) { return result<balancing>(balancing::round_robin()); };
  play(steps::all({stub(), generic_stub(channel(runtime_, "xds:///beside", insecure(), beside)),
                   stub(bootstrap_json(R"(["fail_on_data_errors"])")), stub(more)},
                  *this));
}

// The first one has the client on its loop; the other one gets what it publishes from there.
TEST(SharedClientsOverLoops, ServeChannelsOfEachLoop) {
  runtime of_servers;
  control_plane plane;
  server plane_server(of_servers);
  plane_server.set_fallback(plane);
  ASSERT_EQ(plane_server.listen("127.0.0.1:0", insecure()), status());
  backend one(of_servers, "0");
  plane.offer(resource_kind::listener, "target", listener_with("target", manager_of_rds("r")));
  plane.offer(resource_kind::route_configuration, "r", routes_to("r", "a"));
  plane.offer(resource_kind::cluster, "a", eds_cluster("a"));
  plane.offer(resource_kind::endpoints, "a", XdsChannel::assignment("a", {{one.port()}}));
  of_servers.start();

  runtime_options several;
  several.loops = 3;
  runtime of_clients(several);
  xds_options mesh;
  mesh.bootstrap = R"({"xds_servers":[{"server_uri":"127.0.0.1:)" + std::to_string(plane_server.port()) +
                   R"(","channel_creds":[{"type":"insecure"}]}],"node":{"id":"n"}})";
  struct steps {
    static task<> open(runtime& of, const xds_options& mesh) {
      channel_options options;
      options.add_resolver("xds", xds_resolver(mesh));
      const generic_stub by(channel(of, "xds:///target", insecure(), options));
      const std::string answer = co_await XdsChannel::ask(by);
      EXPECT_EQ(answer, "0");
    }
    static task<> open_on(loop& where, const xds_options& mesh) {
      auto opening = open(where.owner(), mesh);
      co_await on(where, std::move(opening));
    }
    // Channels of all loops come and go, so that the client of one ends while another one begins.
    static task<> all(runtime& of, const xds_options& mesh) {
      for (int round = 0; round < 20; ++round) {
        scope callers{co_await coro::this_environment()};
        for (std::size_t i = 0; i < of.size(); ++i) callers.spawn(open_on(of.at(i), mesh));
        co_await callers.join();
      }
    }
  };
  sync_wait(of_clients, steps::all(of_clients, mesh));
  EXPECT_THAT(plane.rejections, IsEmpty());
}

class failing final : public shared_client {
 public:
  task<> run() override {
    co_await fails;
    throw std::runtime_error("as the test wants");
  }
  void ended(std::exception_ptr why) noexcept override {
    has_failed = why != nullptr;
    has_ended.set();
  }

  event<> fails;
  event<> has_ended;
  bool has_failed = false;
};

TEST_F(SharedClients, ThatHaveFailedAreLeft) {
  struct steps {
    static std::shared_ptr<failing> join() {
      client_key key{std::make_shared<const bootstrap>(), nullptr, "xds:///target"};
      return shared_clients::join<failing>(std::move(key), [] { return std::make_shared<failing>(); });
    }
    static task<> all() {
      const auto first = join();
      EXPECT_EQ(first, join());
      first->fails.set();
      co_await first->has_ended;
      EXPECT_TRUE(first->has_failed);
      const auto second = join();
      EXPECT_NE(first, second);
      EXPECT_EQ(second, join());
    }
  };
  play(steps::all());
}

// A policy of the program's whose function cannot be copied for a while, as without memory.
class copied_maker {
 public:
  explicit copied_maker(int& failures) noexcept : failures_(failures) {}
  copied_maker(const copied_maker& other) : failures_(other.failures_) {
    if (failures_ > 0 && failures_-- > 0) throw std::bad_alloc();
  }
  copied_maker& operator=(const copied_maker&) = delete;
  ~copied_maker() = default;
  result<balancing> operator()(std::string_view) const { return balancing::round_robin(); }

 private:
  int& failures_;
};

// Its channel's calls wait meanwhile.
TEST_F(SharedClients, ThatHaveFailedAreReplacedForTheirChannel) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  int failures = 0;
  xds_options more;
  more.bootstrap = bootstrap_json();
  more.policies["example"] = copied_maker(failures);
  const generic_stub by = stub(more);
  failures = 2;
  struct steps {
    static task<> all(const generic_stub& by) {
      const std::string answer = co_await ask(by, within(1min));
      EXPECT_EQ(answer, "0");
    }
  };
  play(steps::all(by));
  EXPECT_EQ(failures, 0);
  EXPECT_THAT(log_.text(), testing::HasSubstr("the client of control planes for xds:///target begins again"));
}

}  // namespace
}  // namespace coracle::xds::shared_clients_test
