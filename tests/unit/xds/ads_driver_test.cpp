// A client and a control plane that speak ADS to each other, over sockets and in the simulation (gRFC A27).
#include "xds/ads/ads_driver.hpp"

#include "coracle/base/log.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/server.hpp"
#include "unit/xds/resource_builders.hpp"
#include "xds/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>

namespace coracle::xds::ads_driver_test {
namespace {

using namespace testing_resources;
using testing::ElementsAre;
using testing::HasSubstr;

// Answers each request that asks for something new with all resources of its type.
class control_plane final : public generic_service {
 public:
  replies<bytes_message> call(server_context& context, reader<bytes_message> requests) override {
    method = std::string(context.method());
    ++streams;
    std::map<std::string, std::string> asked;
    bytes_message bytes;
    int sent = 0;
    auto out = co_await replies<bytes_message>::writer();
    while (co_await requests.read(bytes)) {
      wire::DiscoveryRequest r;
      if (!r.ParseFromString(std::string(bytes.bytes()))) co_return status::internal("no request");
      seen.push_back(r);
      std::string names;
      for (const std::string& each : r.resource_names()) names += each + " ";
      std::string& before = asked[r.type_url()];
      rejections += r.has_error_detail() ? 1 : 0;
      if (rejections == 3) rejected_often.set();
      if (names == before && !(repeats && r.has_error_detail())) continue;
      before = names;
      wire::DiscoveryResponse response;
      response.set_type_url(r.type_url());
      response.set_version_info("v" + std::to_string(streams));
      response.set_nonce("n" + std::to_string(++nonce));
      for (const google::protobuf::Any& each : resources[r.type_url()]) *response.add_resources() = each;
      const bytes_message reply(response.SerializeAsString());
      co_await out.write(reply);
      if (++sent == ends_after) co_return coracle::ok;
    }
    co_return coracle::ok;
  }

  template <class Message>
  void offer(resource_kind kind, const Message& m) {
    resources[type_url(kind)].push_back(packed(type_name(kind), m));
  }

  std::map<std::string, std::vector<google::protobuf::Any>> resources;
  std::vector<wire::DiscoveryRequest> seen;
  std::string method;
  int streams = 0;
  int nonce = 0;
  int ends_after = -1;  // responses
  bool repeats = false;  // what is rejected
  int rejections = 0;
  event<> rejected_often;
};

// Loops write.
class line_recorder final : public logger {
 public:
  std::vector<std::string> lines() {
    const std::scoped_lock lock(mutex_);
    return lines_;
  }

 private:
  void record(log_level, std::string_view message) noexcept override {
    const std::scoped_lock lock(mutex_);
    lines_.emplace_back(message);
  }

  std::mutex mutex_;
  std::vector<std::string> lines_;
};

enum class world { simulated, real };

class AdsDriver : public testing::TestWithParam<world> {
 protected:
  void SetUp() override {
    if (GetParam() == world::simulated) {
      sim_.emplace(1, sim::world_options{.log = &log_});
      runtime_ = &sim_->host("host");
    } else {
      real_ = std::make_unique<runtime>(runtime_options{.loops = 1, .log = &log_});
      runtime_ = real_.get();
    }
    serve();
  }
  void serve() {
    server_.emplace(*runtime_);
    server_->set_fallback(plane_);
    ASSERT_EQ(server_->listen("127.0.0.1:0", insecure()), status());
    address_ = "127.0.0.1:" + std::to_string(server_->port());
  }
  void begin(const std::vector<std::string>& uris, ads_driver::channel_maker make = {}) {
    if (!make) make = [this](const management_server& to) { return channel(*runtime_, to.uri, insecure()); };
    std::string servers;
    for (const std::string& each : uris)
      servers += (servers.empty() ? "" : ",") + std::string(R"({"server_uri":")") + each +
                 R"(","channel_creds":[{"type":"insecure"}]})";
    auto parsed = parse_bootstrap(R"({"xds_servers":[)" + servers + R"(],"node":{"id":"n"}})");
    ASSERT_EQ(parsed.status(), status());
    driver_.emplace(std::make_shared<const bootstrap>(*std::move(parsed)),
                    ads_client::options{"agent", "1", {}, {}}, std::move(make));
  }

  // Runs the driver until `steps` has ended.
  void play(task<> steps) { sync_wait(*runtime_, runtime_->at(0), played(*driver_, std::move(steps))); }
  static task<> played(ads_driver& d, task<> steps) {
    scope both{co_await coro::this_environment()};
    both.spawn(d.run());
    both.spawn(then_stop(std::move(steps), both));
    co_await both.join();
  }
  static task<> then_stop(task<> steps, scope& all) {
    co_await std::move(steps);
    all.request_stop();
  }

  // What a watch hears, and an event for the next of it.
  struct heard {
    std::optional<resource> latest;
    status reason;
    int events = 0;
    event<> next;
  };
  static ads_driver::watch_function into(heard& h) {
    return [&h](const watch_event& e) {
      if (e.what == watch_event::kind::changed) h.latest = e.resource;
      h.reason = e.reason;
      ++h.events;
      h.next.set();
    };
  }
  template <class T>
  static const T& as(const heard& h) {
    return *std::get<std::shared_ptr<const T>>(*h.latest);
  }

  line_recorder log_;
  std::optional<sim::world> sim_;
  std::unique_ptr<runtime> real_;
  runtime* runtime_ = nullptr;
  control_plane plane_;
  std::optional<server> server_;
  std::string address_;
  std::optional<ads_driver> driver_;
};

std::string name_of(const testing::TestParamInfo<world>& info) {
  return info.param == world::simulated ? "simulated" : "real";
}
INSTANTIATE_TEST_SUITE_P(Everywhere, AdsDriver, testing::Values(world::simulated, world::real), name_of);

wire::ClusterLoadAssignment one_endpoint(const std::string& name) {
  wire::ClusterLoadAssignment a;
  a.set_cluster_name(name);
  add_endpoint(*add_locality(a, "z", 1), "10.0.0.9", 80);
  return a;
}

TEST_P(AdsDriver, FollowsAListenerToItsEndpoints) {
  plane_.offer(resource_kind::listener, listener_with("l", manager_of_rds("r")));
  plane_.offer(resource_kind::route_configuration, routes_to("r", "c"));
  plane_.offer(resource_kind::cluster, eds_cluster("c", "s"));
  plane_.offer(resource_kind::endpoints, one_endpoint("s"));
  begin({address_});
  struct steps {
    static task<> all(ads_driver& d) {
      heard l;
      (void)d.watch(resource_kind::listener, "l", into(l));
      co_await l.next;
      heard r;
      (void)d.watch(resource_kind::route_configuration, std::get<std::string>(as<listener>(l).routes),
                    into(r));
      co_await r.next;
      heard c;
      const std::string cluster_name =
          as<route_configuration>(r).virtual_hosts.at(0).routes.at(0).action.clusters.at(0).name;
      (void)d.watch(resource_kind::cluster, cluster_name, into(c));
      co_await c.next;
      heard e;
      (void)d.watch(resource_kind::endpoints, std::get<cluster::eds>(as<cluster>(c).discovery).service_name,
                    into(e));
      co_await e.next;
      EXPECT_EQ(as<cluster_endpoints>(e).priorities.at(0).at(0).endpoints.at(0).addresses.at(0).host,
                "10.0.0.9");
    }
  };
  play(steps::all(*driver_));
  EXPECT_EQ(plane_.streams, 1);
  EXPECT_EQ(plane_.method,
            "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources");
  ASSERT_GE(plane_.seen.size(), 2u);
  EXPECT_EQ(plane_.seen[0].node().id(), "n");
  EXPECT_EQ(plane_.seen[1].version_info(), "v1");  // the acknowledgement
  EXPECT_EQ(plane_.seen[1].response_nonce(), "n1");
  EXPECT_FALSE(plane_.seen[1].has_node());
}

TEST_P(AdsDriver, TellsTheControlPlaneWhatIsInvalid) {
  wire::Cluster bad = eds_cluster("c");
  bad.set_type(0);
  plane_.offer(resource_kind::cluster, bad);
  plane_.offer(resource_kind::endpoints, one_endpoint("s"));
  begin({address_});
  struct steps {
    static task<> all(ads_driver& d) {
      heard c;
      (void)d.watch(resource_kind::cluster, "c", into(c));
      co_await c.next;
      EXPECT_THAT(std::string(c.reason.message()), HasSubstr("unsupported cluster type"));
      heard e;  // whose answer comes after the rejection
      (void)d.watch(resource_kind::endpoints, "s", into(e));
      co_await e.next;
    }
  };
  play(steps::all(*driver_));
  ASSERT_GE(plane_.seen.size(), 2u);
  EXPECT_THAT(plane_.seen[1].error_detail().message(), HasSubstr("unsupported cluster type"));
}

TEST_P(AdsDriver, RejectsAgainAndAgainWhatAControlPlaneRepeats) {
  wire::Cluster bad = eds_cluster("c");
  bad.set_type(0);
  plane_.offer(resource_kind::cluster, bad);
  plane_.repeats = true;
  begin({address_});
  struct steps {
    static task<> all(ads_driver& d, control_plane& plane) {
      heard c;
      (void)d.watch(resource_kind::cluster, "c", into(c));
      co_await c.next;
      co_await plane.rejected_often;
    }
  };
  play(steps::all(*driver_, plane_));
}

TEST_P(AdsDriver, OpensAStreamAgainThatTheControlPlaneEnds) {
  plane_.offer(resource_kind::cluster, eds_cluster("c"));
  plane_.ends_after = 1;
  begin({address_});
  struct steps {
    static task<> all(ads_driver& d, control_plane& plane) {
      heard c;
      (void)d.watch(resource_kind::cluster, "c", into(c));
      co_await c.next;
      c.next.reset();
      plane.resources.clear();
      plane.offer(resource_kind::cluster, eds_cluster("c", "new"));
      co_await c.next;
      EXPECT_EQ(std::get<cluster::eds>(as<cluster>(c).discovery).service_name, "new");
      EXPECT_EQ(c.events, 2);  // no error between them
    }
  };
  play(steps::all(*driver_, plane_));
  EXPECT_GE(plane_.streams, 2);
}

TEST_P(AdsDriver, UsesTheNextControlPlaneIfTheFirstRefuses) {
  plane_.offer(resource_kind::cluster, eds_cluster("c"));
  const std::string refused = address_;
  server_.reset();
  serve();
  begin({refused == address_ ? std::string("127.0.0.1:1") : refused, address_});
  struct steps {
    static task<> all(ads_driver& d) {
      heard c;
      (void)d.watch(resource_kind::cluster, "c", into(c));
      co_await c.next;
      EXPECT_TRUE(c.latest);
    }
  };
  play(steps::all(*driver_));
  EXPECT_EQ(plane_.streams, 1);
}

TEST_P(AdsDriver, ReportsControlPlanesThatRefuse) {
  begin({"127.0.0.1:1"});
  struct steps {
    static task<> all(ads_driver& d) {
      heard c;
      (void)d.watch(resource_kind::cluster, "c", into(c));
      co_await c.next;
      EXPECT_THAT(std::string(c.reason.message()),
                  HasSubstr("the control plane 127.0.0.1:1 cannot be reached"));
    }
  };
  play(steps::all(*driver_));
}

TEST_P(AdsDriver, TriesAgainAfterAnException) {
  plane_.offer(resource_kind::cluster, eds_cluster("c"));
  int made = 0;
  begin({address_}, [&](const management_server& to) {
    if (++made == 1) throw std::bad_alloc();
    return channel(*runtime_, to.uri, insecure());
  });
  struct steps {
    static task<> all(ads_driver& d) {
      heard c;
      (void)d.watch(resource_kind::cluster, "c", into(c));
      co_await c.next;
      EXPECT_THAT(std::string(c.reason.message()), HasSubstr("bad_alloc"));
      c.next.reset();
      co_await c.next;
      EXPECT_TRUE(c.latest);
    }
  };
  play(steps::all(*driver_));
  EXPECT_EQ(made, 2);
  EXPECT_THAT(log_.lines(), testing::Contains("xDS: the control plane " + address_ + " answers"));
}

TEST_P(AdsDriver, RejectsAResponseOfTooManyResources) {
  plane_.offer(resource_kind::endpoints, one_endpoint("s"));
  plane_.offer(resource_kind::endpoints, one_endpoint("t"));
  plane_.resources[type_url(resource_kind::cluster)].resize(limits::resources_per_response_max + 1);
  begin({address_});
  struct steps {
    static task<> all(ads_driver& d) {
      heard c;
      (void)d.watch(resource_kind::cluster, "c", into(c));
      heard first;  // whose answer is read after the one of clusters
      (void)d.watch(resource_kind::endpoints, "s", into(first));
      co_await first.next;
      heard second;  // whose request follows the rejection
      (void)d.watch(resource_kind::endpoints, "t", into(second));
      co_await second.next;
      EXPECT_EQ(c.events, 0);
    }
  };
  play(steps::all(*driver_));
  std::string rejection;
  for (const wire::DiscoveryRequest& r : plane_.seen) rejection += r.error_detail().message();
  EXPECT_THAT(rejection, HasSubstr("the response has 20001 resources and 0 errors, limit 20000"));
}

TEST_P(AdsDriver, ClosesItsStreamAfterTheLastWatchWhichMayCancelItself) {
  plane_.offer(resource_kind::cluster, eds_cluster("c"));
  begin({address_});
  struct steps {
    static task<> all(ads_driver& d) {
      for (int i = 0; i < 2; ++i) {
        event<> told;
        watch_id id{};
        id = d.watch(resource_kind::cluster, "c", [&](const watch_event&) {
          d.cancel(id);
          told.set();
        });
        co_await told;
      }
    }
  };
  play(steps::all(*driver_));
  EXPECT_EQ(plane_.streams, 2);
}

}  // namespace
}  // namespace coracle::xds::ads_driver_test
