// Channels for xds:///name, with a control plane and servers, in virtual time.
#include "coracle/xds/xds.hpp"

#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/coro/event.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/net/listener.hpp"
#include "coracle/net/stream.hpp"
#include "coracle/rpc/load_report.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/server/generic_service.hpp"
#include "coracle/server/server.hpp"
#include "coracle/xds/csds_service.hpp"
#include "support/connect_proxy.hpp"
#include "unit/xds/control_plane.hpp"
#include "unit/xds/resource_builders.hpp"
#include "unit/xds/xds_channel.hpp"
#include "xds/balancing/calls_in_progress.hpp"
#include "xds/limits.hpp"
#include "xds/load/cluster_load.hpp"
#include "xds/wire/balancing.pb.h"
#include "xds/wire/load_stats.pb.h"
#include "xds/wire/status.pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::xds::xds_resolver_test {
namespace {

using namespace testing_resources;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::Not;
using testing::Pair;

TEST_F(XdsChannel, FollowsTheControlPlaneToTheServer) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> all(generic_stub by) {
      const std::string answer = co_await ask(by);
      EXPECT_EQ(answer, "0");
    }
  };
  play(steps::all(stub()));
}

// Quoted by docs/guides/xds.md.
TEST_F(XdsChannel, TakesTheBootstrapOfTheEnvironment) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  ASSERT_EQ(setenv("GRPC_XDS_BOOTSTRAP_CONFIG", bootstrap_json().c_str(), 1), 0);
  runtime& runtime = runtime_;
  // --8<-- [start:channel]
  coracle::channel_options options;
  options.add_resolver("xds", coracle::xds_resolver());
  coracle::channel movies(runtime, "xds:///target", coracle::insecure(), options);
  // --8<-- [end:channel]
  struct steps {
    static task<> all(generic_stub by) {
      const std::string answer = co_await ask(by);
      EXPECT_EQ(answer, "0");
    }
  };
  play(steps::all(generic_stub(movies)));
  EXPECT_EQ(unsetenv("GRPC_XDS_BOOTSTRAP_CONFIG"), 0);
}

TEST_F(XdsChannel, RoutesByPathAndHeader) {
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "a", "/where.Where/Other");
    auto* const header = add_route(h, "b", "/where.Where/")->mutable_match()->add_headers();
    header->set_name("user");
    header->set_exact_match("special");
    add_route(h, "c", "/where.Where/Ask");
    add_route(h, "", "/where.Where/Redirected")->mutable_redirect();
  });
  offer_cluster("a", {{port(0)}});
  offer_cluster("b", {{port(1)}});
  offer_cluster("c", {{port(2)}});
  struct steps {
    static task<> all(generic_stub by) {
      const std::string other = co_await ask(by, {}, "/where.Where/Other");
      EXPECT_EQ(other, "0");
      const std::string special = co_await ask(by, with("user", "special"));
      EXPECT_EQ(special, "1");
      const std::string usual = co_await ask(by, with("user", "usual"));
      EXPECT_EQ(usual, "2");
      const std::string none = co_await ask(by, {}, "/what.What/Ask");
      EXPECT_THAT(none, HasSubstr("UNAVAILABLE: no matched route was found"));
      const std::string redirected = co_await ask(by, {}, "/where.Where/Redirected");
      EXPECT_THAT(redirected, HasSubstr("does not have a supported route action type"));
    }
  };
  play(steps::all(stub()));
}

TEST_F(XdsChannel, SplitsCallsByTheWeightsOfClusters) {
  offer_routes([](wire::VirtualHost& h) {
    auto* const split = add_route(h, "")->mutable_route()->mutable_weighted_clusters();
    for (const auto& [name, weight] : {std::pair("a", 1u), std::pair("b", 3u)}) {
      auto* const c = split->add_clusters();
      c->set_name(name);
      c->mutable_weight()->set_value(weight);
    }
  });
  offer_cluster("a", {{port(0)}});
  offer_cluster("b", {{port(1)}});
  struct steps {
    static task<> all(generic_stub by) {
      counts by_server = co_await ask_often(by, 1000);
      EXPECT_NEAR(by_server["0"], 250, 60);
      EXPECT_NEAR(by_server["1"], 750, 60);
    }
  };
  play(steps::all(stub()));
}

TEST_F(XdsChannel, SplitsCallsByTheWeightsOfLocalities) {
  offer_route_to("a");
  offer_cluster("a", {{port(0), 0, 1}, {port(1), 0, 3}});
  struct steps {
    static task<> all(generic_stub by) {
      (void)co_await ask(by);
      co_await sleep_for(1s);  // both localities are connected to
      counts by_server = co_await ask_often(by, 1000);
      EXPECT_NEAR(by_server["0"], 250, 60);
      EXPECT_NEAR(by_server["1"], 750, 60);
    }
  };
  play(steps::all(stub()));
}

TEST_F(XdsChannel, FailsOverToTheNextPriorityAndBack) {
  offer_route_to("a");
  offer_cluster("a", {{refused_port, 0}, {port(1), 1}});
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      const std::string second = co_await ask(by);
      EXPECT_EQ(second, "1");
      t.offer_cluster("a", {{t.port(0), 0}, {t.port(1), 1}});
      co_await sleep_for(1s);
      const std::string first = co_await ask(by);
      EXPECT_EQ(first, "0");
      co_await t.backends_[0]->stop();
      co_await sleep_for(1s);
      const std::string again = co_await ask(by);
      EXPECT_EQ(again, "1");
      EXPECT_EQ(t.backends_[1]->connections.size(), 1u);  // kept meanwhile
    }
  };
  play(steps::all(stub(), *this));
}

wire::Cluster aggregate(const std::string& name, const std::vector<std::string>& of) {
  wire::Cluster c;
  c.set_name(name);
  c.mutable_cluster_type()->set_name("envoy.clusters.aggregate");
  wire::AggregateCluster parts;
  for (const std::string& each : of) parts.add_clusters(each);
  *c.mutable_cluster_type()->mutable_typed_config() =
      packed("envoy.extensions.clusters.aggregate.v3.ClusterConfig", parts);
  return c;
}

TEST_F(XdsChannel, AnAggregateFailsOverToItsNextCluster) {
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "circle", "/circle.");
    add_route(h, "both");
  });
  plane_.offer(resource_kind::cluster, "both", aggregate("both", {"missing", "a", "b"}));
  plane_.offer(resource_kind::cluster, "circle", aggregate("circle", {"missing", "a", "b", "circle"}));
  offer_cluster("a", {{refused_port}});
  offer_cluster("b", {{port(1)}});
  struct steps {
    static task<> all(generic_stub by) {
      const std::string answer = co_await ask(by);
      EXPECT_EQ(answer, "1");
      const std::string round = co_await ask(by, {}, "/circle.Circle/Ask");
      EXPECT_THAT(round, HasSubstr("aggregate cluster circle contains itself"));
    }
  };
  play(steps::all(stub()));
}

// Each of them would have 100 policies. Their parts do not exist, which is known after a while.
TEST_F(XdsChannel, RefusesAggregatesThatHaveTooManyPartsTogether) {
  constexpr int parts = 100;
  std::vector<std::string> names;
  for (int i = 0; i < parts; ++i) names.push_back("part" + std::to_string(i));
  const int fitting = static_cast<int>(limits::aggregate_parts_max) / parts;
  const auto name = [](int i) { return "cluster" + std::to_string(1000 + i); };
  for (int i = 0; i <= fitting; ++i) plane_.offer(resource_kind::cluster, name(i), aggregate(name(i), names));
  offer_cluster("plain", {{port(0)}});
  offer_routes([&](wire::VirtualHost& h) {
    for (int i = 0; i <= fitting; ++i) add_route(h, name(i), "/" + name(i) + ".");
    add_route(h, "plain");
  });
  struct steps {
    static task<> all(generic_stub by, std::string last, std::string above) {
      const std::string plain = co_await ask(by);
      EXPECT_EQ(plain, "0");
      const std::string in_limit = co_await ask(by, {}, last.c_str());
      EXPECT_THAT(in_limit, HasSubstr("does not exist"));
      const std::string over_limit = co_await ask(by, {}, above.c_str());
      EXPECT_THAT(over_limit, HasSubstr("the parts of all aggregate clusters of the target exceed 10000"));
    }
  };
  play(steps::all(stub(), "/" + name(fitting - 1) + ".A/Ask", "/" + name(fitting) + ".A/Ask"));
  // Each part is a problem, and so is the aggregate that does not fit. limits.md: problems_logged_max
  EXPECT_THAT(
      log_.text(),
      HasSubstr("; and " + std::to_string(limits::aggregate_parts_max + 1 - limits::problems_logged_max) +
                " others\n"));
}

// A part that comes again has no policy of its own, but is read again with each change.
TEST_F(XdsChannel, CountsThePartsOfAnAggregateThatAreTheSame) {
  const auto times_a = [](std::size_t n) { return std::vector<std::string>(n, "a"); };
  plane_.offer(resource_kind::cluster, "fits", aggregate("fits", times_a(limits::aggregate_parts_max)));
  plane_.offer(resource_kind::cluster, "no_more", aggregate("no_more", times_a(1)));
  offer_cluster("a", {{port(0)}});
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "no_more", "/above.");
    add_route(h, "fits");
  });
  struct steps {
    static task<> all(generic_stub by) {
      const std::string in_limit = co_await ask(by);
      EXPECT_EQ(in_limit, "0");
      const std::string over_limit = co_await ask(by, {}, "/above.A/Ask");
      EXPECT_THAT(over_limit, HasSubstr("the parts of all aggregate clusters of the target exceed 10000"));
    }
  };
  play(steps::all(stub()));
}

TEST_F(XdsChannel, RefusesAggregatesThatAreNestedTooDeep) {
  for (int i = 0; i < 20; ++i) {
    wire::Cluster one;
    one.set_name("level" + std::to_string(i));
    one.mutable_cluster_type()->set_name("envoy.clusters.aggregate");
    wire::AggregateCluster parts;
    parts.add_clusters(i == 19 ? "a" : "level" + std::to_string(i + 1));
    *one.mutable_cluster_type()->mutable_typed_config() =
        packed("envoy.extensions.clusters.aggregate.v3.ClusterConfig", parts);
    plane_.offer(resource_kind::cluster, one.name(), one);
  }
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "level0", "/deep.");
    add_route(h, "level10");
  });
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> all(generic_stub by) {
      const std::string answer = co_await ask(by);
      EXPECT_EQ(answer, "0");
      const std::string deep = co_await ask(by, {}, "/deep.Deep/Ask");
      EXPECT_THAT(deep, HasSubstr("level0 is nested deeper than 16 clusters"));
    }
  };
  play(steps::all(stub()));
}

TEST_F(XdsChannel, DropsTheShareOfCallsThatIsAskedForWhetherTheyWaitOrNot) {
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "a")->mutable_route()->mutable_retry_policy()->set_retry_on("unavailable");
  });
  auto a = assignment("a", {{port(0)}});
  auto* const drop = a.mutable_policy()->add_drop_overloads();
  drop->set_category("flood");
  drop->mutable_drop_percentage()->set_numerator(50);
  offer_cluster(eds_cluster("a"), a);
  struct steps {
    static task<> all(generic_stub by) {
      call_options waits;
      waits.wait_for_ready = true;
      counts answers = co_await ask_often(by, 1000, waits);
      EXPECT_NEAR(answers["0"], 500, 80);
      EXPECT_NEAR(answers["UNAVAILABLE: the control plane has the call dropped, category flood"], 500, 80);
    }
  };
  play(steps::all(stub()));
}

TEST_F(XdsChannel, FailsCallsAboveTheMaximumInProgressOfAllChannels) {
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "a")->mutable_route()->mutable_retry_policy()->set_retry_on("unavailable");
  });
  wire::Cluster a = eds_cluster("a");
  auto* const usual = a.mutable_circuit_breakers()->add_thresholds();
  usual->mutable_max_requests()->set_value(3);
  offer_cluster(a, assignment("a", {{port(0)}, {port(1)}}));
  for (const auto& b : backends_) b->delay = 1s;
  struct steps {
    static task<> call(const generic_stub& by, call_options options, counts& into) {
      const std::string answer = co_await ask(by, options);
      ++into[answer.substr(0, answer.find(':'))];
    }
    static task<> all(generic_stub by, generic_stub beside, XdsChannel& t) {
      (void)co_await ask(by);
      (void)co_await ask(beside);
      call_options waits;
      waits.wait_for_ready = true;
      for (int round = 0; round < 3; ++round) {
        counts answers;
        scope callers{co_await coro::this_environment()};
        for (int i = 0; i < 4; ++i) callers.spawn(call(i % 2 == 0 ? by : beside, waits, answers));
        co_await callers.join();
        EXPECT_EQ(answers["UNAVAILABLE"], 1) << round;
        EXPECT_EQ(answers["0"] + answers["1"], 3) << round;
      }
      const std::string next = co_await ask(by);
      EXPECT_EQ(next.size(), 1u) << next;
      // Calls that end in another way make room, too: attempts that are retried, and calls that are given up.
      for (const auto& b : t.backends_) b->failures = 10;
      counts failed = co_await ask_often(by, 4);
      EXPECT_EQ(failed["UNAVAILABLE: as the test wants"], 4);
      for (const auto& b : t.backends_) b->failures = 0;
      call_options brief;
      brief.timeout = 100ms;
      counts late = co_await ask_often(by, 10, brief);
      EXPECT_EQ(late["DEADLINE_EXCEEDED: the deadline passed"], 10);
      const std::string last = co_await ask(by);
      EXPECT_EQ(last.size(), 1u) << last;
      EXPECT_EQ(calls_in_progress::of("a", "")->count(), 0u);
    }
  };
  play(steps::all(stub(), stub(), *this));
}

TEST_F(XdsChannel, CountsCallsInProgressOnAfterAnUpdateOfTheMaximum) {
  offer_route_to("a");
  wire::Cluster a = eds_cluster("a");
  offer_cluster(a, assignment("a", {{port(0)}}));
  backends_[0]->delay = 1s;
  struct steps {
    static task<> call(const generic_stub& by, counts& into) {
      const std::string answer = co_await ask(by);
      ++into[answer];
    }
    static task<> all(generic_stub by, wire::Cluster a, XdsChannel& t) {
      (void)co_await ask(by);
      counts answers;
      scope callers{co_await coro::this_environment()};
      for (int i = 0; i < 5; ++i) callers.spawn(call(by, answers));
      co_await sleep_for(100ms);
      // The endpoints have another name: the calls are those of another count.
      a.mutable_eds_cluster_config()->set_service_name("other");
      auto* const usual = a.mutable_circuit_breakers()->add_thresholds();
      usual->mutable_max_requests()->set_value(5);
      t.offer_cluster(a, assignment("other", {{t.port(0)}}));
      co_await sleep_for(100ms);
      const std::string full = co_await ask(by);
      EXPECT_EQ(full, "UNAVAILABLE: the cluster has its maximum of calls in progress, which is 5");
      co_await callers.join();
      EXPECT_EQ(answers["0"], 5);
      const std::string free = co_await ask(by);
      EXPECT_EQ(free, "0");
    }
  };
  play(steps::all(stub(), a, *this));
}

TEST_F(XdsChannel, MakesAsManyConnectionsToAServerAsItsClusterSays) {
  offer_route_to("a");
  wire::Cluster a = eds_cluster("a");
  a.mutable_circuit_breakers()->add_thresholds()->mutable_max_requests()->set_value(10'000);
  offer_cluster(a, assignment("a", {{port(0)}}));
  backends_[0]->delay = 1s;
  struct steps {
    static task<> call(const generic_stub& by, counts& into) {
      const std::string answer = co_await ask(by);
      ++into[answer];
    }
    // More than two connections have streams for.
    static task<> flood(const generic_stub& by) {
      counts answers;
      scope callers{co_await coro::this_environment()};
      for (int i = 0; i < 2500; ++i) callers.spawn(call(by, answers));
      co_await callers.join();
      EXPECT_EQ(answers["0"], 2500);
    }
    static task<> all(generic_stub by, wire::Cluster a, XdsChannel& t) {
      co_await flood(by);
      EXPECT_EQ(t.backends_[0]->connections.size(), 1u);
      auto& per_host = *a.mutable_circuit_breakers()->add_per_host_thresholds();
      per_host.mutable_max_connections()->set_value(3);
      t.offer_cluster(a, assignment("a", {{t.port(0)}}));
      co_await sleep_for(100ms);
      co_await flood(by);
      EXPECT_EQ(t.backends_[0]->connections.size(), 3u);
    }
  };
  play(steps::all(stub(), a, *this));
}

// --- what operators see (CSDS, gRFC A40)

constexpr const char* status_path = "/envoy.service.status.v3.ClientStatusDiscoveryService/FetchClientStatus";

class StatusOfXds : public XdsChannel {
 public:
  StatusOfXds() : operators_(runtime_) {
    operators_.add(csds_);
    EXPECT_EQ(operators_.listen("127.0.0.1:0", insecure()), status());
  }
  [[nodiscard]] generic_stub operator_stub() {
    return generic_stub(
        channel(runtime_, "127.0.0.1:" + std::to_string(operators_.port()), insecure(), channel_options()));
  }
  static task<wire::ClientStatusResponse> fetch(const generic_stub& by, bool contents = true) {
    wire::ClientStatusRequest request;
    request.set_exclude_resource_contents(!contents);
    const bytes_message bytes(request.SerializeAsString());
    auto call = by.unary(status_path, bytes);
    const auto reply = co_await call;
    EXPECT_EQ(reply.status(), status());
    wire::ClientStatusResponse found;
    EXPECT_TRUE(reply && found.ParseFromString(std::string(reply->bytes())));
    co_return found;
  }
  // "Cluster a 3" for each resource: its type's last part, its name and its state.
  static std::set<std::string> lines_of(const wire::ClientConfig& of) {
    std::set<std::string> lines;
    for (const auto& r : of.generic_xds_configs())
      lines.insert(r.type_url().substr(r.type_url().rfind('.') + 1) + " " + r.name() + " " +
                   std::to_string(r.client_status()));
    return lines;
  }

  csds_service csds_;
  server operators_;
};

TEST_F(StatusOfXds, ShowsTheResourcesOfEachChannelWithTheirStates) {
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "missing", "/missing.");
    add_route(h, "a");
  });
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> all(std::optional<generic_stub> by, generic_stub asks, StatusOfXds& t) {
      (void)co_await ask(*by);
      co_await sleep_for(20s);  // the missing cluster is known to be missing
      const wire::ClientStatusResponse now = co_await fetch(asks);
      EXPECT_EQ(now.config_size(), 1);
      const wire::ClientConfig& c = now.config(0);
      EXPECT_EQ(c.client_scope(), "xds:///target");
      EXPECT_EQ(c.node().id(), "n");
      EXPECT_EQ(c.node().user_agent_name(), "coracle");
      EXPECT_THAT(lines_of(c),
                  testing::UnorderedElementsAre("Listener target 3", "RouteConfiguration r 3", "Cluster a 3",
                                                "Cluster missing 2", "ClusterLoadAssignment a 3"));
      for (const auto& r : c.generic_xds_configs()) {
        EXPECT_EQ(r.has_xds_config(), r.client_status() == 3);
        EXPECT_EQ(r.has_last_updated(), r.client_status() == 3);
        EXPECT_EQ(r.version_info().empty(), r.client_status() != 3);
        EXPECT_EQ(r.has_error_state(), r.client_status() != 3);
        if (r.name() != "r") continue;
        EXPECT_EQ(r.xds_config().type_url(), r.type_url());
        wire::RouteConfiguration received;
        EXPECT_TRUE(received.ParseFromString(r.xds_config().value()));
        EXPECT_EQ(received.name(), "r");
      }
      const wire::ClientStatusResponse bare = co_await fetch(asks, false);
      for (const auto& r : bare.config(0).generic_xds_configs()) EXPECT_FALSE(r.has_xds_config());
      by.reset();
      co_await sleep_for(1s);
      const wire::ClientStatusResponse none = co_await fetch(asks);
      EXPECT_EQ(none.config_size(), 0);
      (void)t;
    }
  };
  play(steps::all(stub(), operator_stub(), *this));
}

TEST_F(StatusOfXds, ShowsWhyAResourceWasRejectedAndWhatIsUsedInstead) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> all(generic_stub by, generic_stub asks, StatusOfXds& t) {
      (void)co_await ask(by);
      wire::Cluster bad = eds_cluster("a");
      bad.set_lb_policy(77);
      t.plane_.offer(resource_kind::cluster, "a", bad);
      co_await sleep_for(1s);
      const wire::ClientStatusResponse now = co_await fetch(asks);
      const wire::GenericXdsConfig* found = nullptr;
      for (const auto& r : now.config(0).generic_xds_configs())
        if (r.type_url().ends_with(".Cluster")) found = &r;
      EXPECT_NE(found, nullptr);
      if (!found) co_return;
      EXPECT_EQ(found->client_status(), 4);
      EXPECT_TRUE(found->has_xds_config());
      EXPECT_TRUE(found->error_state().has_last_update_attempt());
      EXPECT_THAT(found->error_state().details(), HasSubstr("lb_policy"));
      EXPECT_NE(found->error_state().version_info(), found->version_info());
      EXPECT_THAT(t.plane_.rejections, Contains(HasSubstr("lb_policy")));
      t.plane_.rejections.clear();
    }
  };
  play(steps::all(stub(), operator_stub(), *this));
}

TEST_F(StatusOfXds, AnswersEachRequestOfAStream) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> all(generic_stub by, generic_stub asks) {
      (void)co_await ask(by);
      auto call = asks.bidi<bytes_message, bytes_message>(
          "/envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus");
      for (int i = 0; i < 3; ++i) {
        const bytes_message request;
        const status written = co_await call.write(request);
        EXPECT_EQ(written, status());
        bytes_message reply;
        const result<bool> more = co_await call.read(reply);
        EXPECT_TRUE(more.ok() && *more);
        wire::ClientStatusResponse found;
        EXPECT_TRUE(found.ParseFromString(std::string(reply.bytes())));
        EXPECT_EQ(found.config_size(), 1);
      }
    }
  };
  play(steps::all(stub(), operator_stub()));
}

// Quoted by docs/guides/xds.md.
TEST_F(StatusOfXds, KnowsOfNoChannelWhereThereIsNone) {
  server server(runtime_);
  // --8<-- [start:status]
  coracle::csds_service csds;
  server.add(csds);
  // --8<-- [end:status]
  EXPECT_EQ(server.listen("127.0.0.1:0", insecure()), status());
  struct steps {
    static task<> all(generic_stub asks) {
      const wire::ClientStatusResponse found = co_await fetch(asks);
      EXPECT_EQ(found.config_size(), 0);
    }
  };
  play(steps::all(generic_stub(channel(runtime_, "127.0.0.1:" + std::to_string(server.port()), insecure()))));
}

TEST_F(StatusOfXds, RefusesMatchersOfNodes) {
  struct steps {
    static task<> all(generic_stub asks) {
      wire::ClientStatusRequest request;
      request.add_node_matchers();
      const bytes_message bytes(request.SerializeAsString());
      auto call = asks.unary(status_path, bytes);
      const auto reply = co_await call;
      EXPECT_EQ(reply.status().code(), status_code::invalid_argument);
    }
  };
  play(steps::all(operator_stub()));
}

wire::Cluster reporting_cluster(const std::string& name, const std::string& service = "") {
  wire::Cluster c = eds_cluster(name, service);
  c.mutable_lrs_server()->mutable_self();
  return c;
}

// The sums of several reports, as text: what a reader of tests can compare.
std::string sums_of(const std::vector<wire::LoadStatsRequest>& reports) {
  struct sums {
    std::uint64_t issued = 0, succeeded = 0, failed = 0, open = 0;
  };
  std::map<std::string, sums> by_place;
  std::map<std::string, std::uint64_t> dropped;
  for (const auto& r : reports) {
    for (const auto& c : r.cluster_stats()) {
      const std::string cluster = c.cluster_name() + "/" + c.cluster_service_name();
      for (const auto& l : c.upstream_locality_stats()) {
        sums& s = by_place[cluster + " " + l.locality().zone()];
        s.issued += l.total_issued_requests();
        s.succeeded += l.total_successful_requests();
        s.failed += l.total_error_requests();
        s.open = l.total_requests_in_progress();
      }
      if (c.total_dropped_requests() > 0) dropped[cluster] += c.total_dropped_requests();
      for (const auto& d : c.dropped_requests()) dropped[cluster + " " + d.category()] += d.dropped_count();
    }
  }
  std::string text;
  for (const auto& [place, s] : by_place)
    text += place + ": " + std::to_string(s.issued) + " issued, " + std::to_string(s.succeeded) +
            " succeeded, " + std::to_string(s.failed) + " failed, " + std::to_string(s.open) + " open\n";
  for (const auto& [what, n] : dropped) text += what + ": " + std::to_string(n) + " dropped\n";
  return text;
}

TEST_F(XdsChannel, ReportsTheLoadOfLocalitiesToItsControlPlane) {
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "quiet", "/quiet.");
    add_route(h, "a");
  });
  offer_cluster(reporting_cluster("a", "service"), assignment("service", {{port(0), 0, 1}, {port(1), 0, 1}}));
  offer_cluster("quiet", {{port(2)}});  // whose load it does not want
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      (void)co_await ask(by, {}, "/quiet.Quiet/Ask");
      (void)co_await ask(by);
      co_await sleep_for(1s);  // both localities are connected to
      t.backends_[1]->failures = 3;
      (void)co_await ask_often(by, 20);
      t.backends_[0]->delay = t.backends_[1]->delay = 1min;
      call_options brief;
      brief.timeout = 30s;
      scope callers{co_await coro::this_environment()};
      for (int i = 0; i < 4; ++i) callers.spawn(ignore(by, brief));
      co_await sleep_for(11s);
      const auto& reports = t.plane_.load_requests;
      EXPECT_GE(reports.size(), 2u);
      EXPECT_EQ(reports.front().node().id(), "n");
      EXPECT_THAT(reports.front().node().client_features(), Contains("envoy.lrs.supports_send_all_clusters"));
      EXPECT_EQ(reports.front().cluster_stats_size(), 0);
      EXPECT_FALSE(reports.back().has_node());
      EXPECT_EQ(reports.back().cluster_stats(0).load_report_interval().seconds(), 10);
      const auto calls = static_cast<std::uint64_t>(t.backends_[0]->calls + t.backends_[1]->calls);
      std::uint64_t issued = 0;
      std::uint64_t failed = 0;
      std::uint64_t open = 0;
      for (const auto& r : reports) {
        for (const auto& c : r.cluster_stats()) {
          EXPECT_EQ(c.cluster_name(), "a");
          for (const auto& l : c.upstream_locality_stats()) {
            issued += l.total_issued_requests();
            failed += l.total_error_requests();
            if (&r == &reports.back()) open += l.total_requests_in_progress();
          }
        }
      }
      EXPECT_EQ(issued, calls) << sums_of(reports);
      EXPECT_EQ(failed, 3u) << sums_of(reports);
      EXPECT_EQ(open, 4u) << sums_of(reports);
      co_await callers.join();
      co_await sleep_for(20s);
      // Calls that ended by their deadline have failed, and nothing is open.
      EXPECT_THAT(sums_of(reports), Not(HasSubstr("quiet")));
      for (const auto& l : reports.back().cluster_stats()) ADD_FAILURE() << l.cluster_name() << " is idle";
      const std::size_t before = reports.size();
      co_await sleep_for(30s);
      EXPECT_EQ(t.plane_.load_requests.size(), before + 3);
      EXPECT_EQ(t.plane_.load_streams, 1);
      // Without a cluster to report there is no stream, and with one there is another.
      t.offer_cluster(eds_cluster("a", "service"), assignment("service", {{t.port(0)}}));
      co_await sleep_for(30s);
      const std::size_t ended = t.plane_.load_requests.size();
      co_await sleep_for(1min);
      EXPECT_EQ(t.plane_.load_requests.size(), ended);
      t.offer_cluster(reporting_cluster("a", "service"), assignment("service", {{t.port(0)}}));
      co_await sleep_for(10s);
      EXPECT_EQ(t.plane_.load_streams, 2);
    }
    static task<> ignore(const generic_stub& by, call_options options) { (void)co_await ask(by, options); }
  };
  play(steps::all(stub(), *this));
}

// One whose policy is not one for each locality keeps its connection.
TEST_F(XdsChannel, ReportsTheLoadOfAServerForTheLocalityThatItIsIn) {
  offer_route_to("a");
  wire::Cluster a = reporting_cluster("a", "service");
  a.set_lb_policy(2);  // ring_hash
  const auto in_zone = [this](const std::string& zone) {
    wire::ClusterLoadAssignment moved;
    moved.set_cluster_name("service");
    add_endpoint(*add_locality(moved, zone, 1), "127.0.0.1", port(0));
    add_endpoint(*add_locality(moved, "other", 1), "127.0.0.1", refused_port);
    return moved;
  };
  offer_cluster(a, in_zone("old"));
  struct steps {
    static task<> slow(const generic_stub& by) { (void)co_await ask(by); }
    static task<> all(generic_stub by, XdsChannel& t, wire::Cluster a, wire::ClusterLoadAssignment moved) {
      (void)co_await ask(by);
      co_await sleep_for(11s);
      t.backends_[0]->delay = 5s;
      scope caller{co_await coro::this_environment()};
      caller.spawn(slow(by));
      co_await sleep_for(1s);
      t.offer_cluster(a, moved);
      co_await caller.join();
      co_await sleep_for(10s);
      EXPECT_EQ(t.backends_[0]->connections.size(), 1u);
      const auto& last = t.plane_.load_requests.back();
      std::map<std::string, std::uint64_t> succeeded;
      for (const auto& c : last.cluster_stats())
        for (const auto& l : c.upstream_locality_stats())
          succeeded[l.locality().zone()] += l.total_successful_requests();
      EXPECT_THAT(succeeded, Contains(Pair("new", 1u)));
      EXPECT_EQ(succeeded["old"], 0u);
    }
  };
  play(steps::all(stub(), *this, a, in_zone("new")));
}

TEST_F(XdsChannel, AsksAControlPlaneThatTakesNoReportsOnlyWhileThereIsACluster) {
  plane_.takes_loads = false;
  offer_route_to("a");
  offer_cluster(reporting_cluster("a"), assignment("a", {{port(0)}}));
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      const std::string answer = co_await ask(by);
      EXPECT_EQ(answer, "0");
      co_await sleep_for(1min);
      EXPECT_GT(t.plane_.load_streams, 2);
      EXPECT_LT(t.plane_.load_streams, 12);  // with pauses that grow
      t.offer_cluster("a", {{t.port(0)}});
      co_await sleep_for(5min);
      const int tried = t.plane_.load_streams;
      co_await sleep_for(1h);
      EXPECT_EQ(t.plane_.load_streams, tried);
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsChannel, ReportsItsLoadOnceASecondAtMost) {
  plane_.load_interval_s = 0;
  offer_route_to("a");
  offer_cluster(reporting_cluster("a"), assignment("a", {{port(0)}}));
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      for (int i = 0; i < 100; ++i) {
        (void)co_await ask(by);
        co_await sleep_for(100ms);
      }
      EXPECT_GT(t.plane_.load_requests.size(), 8u);
      EXPECT_LT(t.plane_.load_requests.size(), 13u);
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsChannel, ReportsDropsAndOnlyTheClustersThatAreWanted) {
  plane_.loads_wanted = {"a"};
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "b", "/b.");
    add_route(h, "a");
  });
  auto a = assignment("a", {{port(0)}});
  auto* const drop = a.mutable_policy()->add_drop_overloads();
  drop->set_category("flood");
  drop->mutable_drop_percentage()->set_numerator(100);
  offer_cluster(reporting_cluster("a"), a);
  wire::Cluster b = reporting_cluster("b");
  b.mutable_circuit_breakers()->add_thresholds()->mutable_max_requests()->set_value(0);
  offer_cluster(b, assignment("b", {{port(1)}}));
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      (void)co_await ask(by);
      co_await sleep_for(1s);
      (void)co_await ask_often(by, 4);
      for (int i = 0; i < 7; ++i) (void)co_await ask(by, {}, "/b.B/Ask");
      co_await sleep_for(10s);
      const std::string first = sums_of(t.plane_.load_requests);
      EXPECT_THAT(first, HasSubstr("a/ flood: 5 dropped\n"));
      EXPECT_THAT(first, Not(HasSubstr("b/")));
      // Another stream, after a pause: what the first one did not report is not lost.
      t.plane_.loads_wanted = {};
      t.plane_.ends_load_stream_after = t.plane_.load_requests.size() + 1;
      co_await sleep_for(1min);
      EXPECT_EQ(t.plane_.load_streams, 2);
      EXPECT_THAT(sums_of(t.plane_.load_requests), HasSubstr("b/: 7 dropped\n"));
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsChannel, ReportsTheMetricsOfServersThatTheClusterNames) {
  offer_route_to("a");
  wire::Cluster a = reporting_cluster("a");
  for (const char* name : {"cpu_utilization", "named_metrics.queue"}) a.add_lrs_report_endpoint_metrics(name);
  offer_cluster(a, assignment("a", {{port(0)}}));
  backends_[0]->load = load_report().set_cpu_utilization(0.5).set_memory_utilization(0.25);
  backends_[0]->load->set_metric("queue", 3).set_metric("secret", 7);
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      (void)co_await ask_often(by, 4);
      co_await sleep_for(11s);
      metric_sum cpu;
      metric_sum queue;
      for (const auto& r : t.plane_.load_requests) {
        for (const auto& c : r.cluster_stats()) {
          for (const auto& l : c.upstream_locality_stats()) {
            cpu.calls += l.cpu_utilization().num_requests_finished_with_metric();
            cpu.total += l.cpu_utilization().total_metric_value();
            EXPECT_FALSE(l.has_mem_utilization());
            for (const auto& m : l.load_metric_stats()) {
              EXPECT_EQ(m.metric_name(), "queue");
              queue.calls += m.num_requests_finished_with_metric();
              queue.total += m.total_metric_value();
            }
          }
        }
      }
      EXPECT_EQ(cpu.calls, 4u);
      EXPECT_DOUBLE_EQ(cpu.total, 2);
      EXPECT_EQ(queue.calls, 4u);
      EXPECT_DOUBLE_EQ(queue.total, 12);
    }
  };
  play(steps::all(stub(), *this));
}

// gRFC A32: also when the server has no stream for it.
TEST_F(XdsChannel, ACallThatWaitsForAStreamIsInProgress) {
  offer_route_to("a");
  wire::Cluster a = eds_cluster("a");
  a.mutable_circuit_breakers()->add_thresholds()->mutable_max_requests()->set_value(150);
  offer_cluster(a, assignment("a", {{port(0)}}));
  backends_[0]->delay = 1s;
  struct steps {
    static task<> call(const generic_stub& by, call_options options, counts& into) {
      const std::string answer = co_await ask(by, options);
      ++into[answer.substr(0, answer.find(':'))];
    }
    static task<> all(generic_stub by) {
      (void)co_await ask(by);
      const auto in_progress = calls_in_progress::of("a", "");
      call_options brief;
      brief.timeout = 100ms;
      for (int round = 0; round < 2; ++round) {  // the server has streams for 100
        counts answers;
        scope callers{co_await coro::this_environment()};
        for (int i = 0; i < 200; ++i) callers.spawn(call(by, round == 0 ? call_options() : brief, answers));
        co_await sleep_for(10ms);
        EXPECT_EQ(in_progress->count(), 150u);
        EXPECT_EQ(answers["UNAVAILABLE"], 50);
        co_await callers.join();
        EXPECT_EQ(answers[round == 0 ? "0" : "DEADLINE_EXCEEDED"], 150);
        EXPECT_EQ(in_progress->count(), 0u);
      }
    }
  };
  play(steps::all(stub()));
}

// A call that has waited for a server of one cluster passes the limits of the other one that it goes to.
TEST_F(XdsChannel, ACallThatWaitedIsCountedByTheClusterThatItGoesTo) {
  offer_route_to("both");
  plane_.offer(resource_kind::cluster, "both", aggregate("both", {"a", "b"}));
  offer_cluster("a", {{port(0)}});
  wire::Cluster b = eds_cluster("b");
  b.mutable_circuit_breakers()->add_thresholds()->mutable_max_requests()->set_value(20);
  auto at_b = assignment("b", {{port(1)}});
  auto* const drop = at_b.mutable_policy()->add_drop_overloads();
  drop->set_category("flood");
  drop->mutable_drop_percentage()->set_numerator(50);
  offer_cluster(b, at_b);
  for (const auto& each : backends_) each->delay = 10s;
  struct steps {
    static task<> call(const generic_stub& by, counts& into) {
      const std::string answer = co_await ask(by);
      ++into[answer.substr(0, answer.find(','))];
    }
    static task<> all(generic_stub by, XdsChannel& t) {
      t.backends_[0]->delay = {};
      (void)co_await ask(by);
      t.backends_[0]->delay = 10s;
      counts answers;
      scope callers{co_await coro::this_environment()};
      for (int i = 0; i < 200; ++i) callers.spawn(call(by, answers));  // the server has streams for 100
      co_await sleep_for(1s);
      EXPECT_EQ(calls_in_progress::of("a", "")->count(), 200u);
      callers.spawn(t.backends_[0]->leave());
      co_await sleep_for(1s);
      EXPECT_EQ(calls_in_progress::of("a", "")->count(), 100u);
      EXPECT_EQ(calls_in_progress::of("b", "")->count(), 20u);
      const int dropped = answers["UNAVAILABLE: the control plane has the call dropped"];
      EXPECT_NEAR(dropped, 50, 25);
      EXPECT_EQ(answers["UNAVAILABLE: the cluster has its maximum of calls in progress"], 80 - dropped);
      co_await callers.join();
      EXPECT_EQ(answers["0"], 100);
      EXPECT_EQ(answers["1"], 20);
      EXPECT_EQ(calls_in_progress::of("b", "")->count(), 0u);
    }
  };
  play(steps::all(stub(), *this));
}

// Its server is the same, and counts for another limit now.
TEST_F(XdsChannel, ACallThatWaitsTakesItsPlaceUnderAnotherLimit) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> call(const generic_stub& by, counts& into) {
      const std::string answer = co_await ask(by);
      ++into[answer.substr(0, answer.find(','))];
    }
    static task<> all(generic_stub by, XdsChannel& t) {
      (void)co_await ask(by);
      t.backends_[0]->delay = 10s;
      counts answers;
      scope callers{co_await coro::this_environment()};
      for (int i = 0; i < 150; ++i) callers.spawn(call(by, answers));  // the server has streams for 100
      co_await sleep_for(1s);
      wire::Cluster a = eds_cluster("a", "other");
      a.mutable_circuit_breakers()->add_thresholds()->mutable_max_requests()->set_value(120);
      t.offer_cluster(a, assignment("other", {{t.port(0)}}));
      co_await sleep_for(1s);
      EXPECT_EQ(calls_in_progress::of("a", "")->count(), 0u);
      EXPECT_EQ(calls_in_progress::of("a", "other")->count(), 120u);
      EXPECT_EQ(answers["UNAVAILABLE: the cluster has its maximum of calls in progress"], 30);
      co_await callers.join();
      EXPECT_EQ(answers["0"], 120);
      EXPECT_EQ(calls_in_progress::of("a", "other")->count(), 0u);
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsChannel, ACallThatLosesItsServerIsInProgressNoLonger) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> call(const generic_stub& by, counts& into) {
      call_options waits;
      waits.wait_for_ready = true;
      const std::string answer = co_await ask(by, waits);
      ++into[answer.substr(0, answer.find(':'))];
    }
    static task<> all(generic_stub by, XdsChannel& t) {
      (void)co_await ask(by);
      t.backends_[0]->delay = 10s;
      counts answers;
      scope callers{co_await coro::this_environment()};
      for (int i = 0; i < 150; ++i) callers.spawn(call(by, answers));  // the server has streams for 100
      co_await sleep_for(1s);
      EXPECT_EQ(calls_in_progress::of("a", "")->count(), 150u);
      callers.spawn(t.backends_[0]->leave());
      co_await sleep_for(1s);
      EXPECT_EQ(calls_in_progress::of("a", "")->count(), 100u);
      t.offer_cluster("a", {{t.port(1)}});
      co_await callers.join();
      EXPECT_EQ(answers["0"], 100);
      EXPECT_EQ(answers["1"], 50);
      EXPECT_EQ(calls_in_progress::of("a", "")->count(), 0u);
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsChannel, DrawsACallThatWaitsForAStreamOnce) {
  offer_route_to("a");
  auto a = assignment("a", {{port(0)}});
  auto* const drop = a.mutable_policy()->add_drop_overloads();
  drop->set_category("flood");
  drop->mutable_drop_percentage()->set_numerator(10);
  wire::Cluster many = eds_cluster("a");
  many.mutable_circuit_breakers()->add_thresholds()->mutable_max_requests()->set_value(2000);
  offer_cluster(many, a);
  backends_[0]->delay = 1ms;
  struct steps {
    static task<> call(const generic_stub& by, counts& into) {
      const std::string answer = co_await ask(by);
      ++into[answer];
    }
    static task<> all(generic_stub by) {
      (void)co_await ask(by);
      counts answers;
      scope callers{co_await coro::this_environment()};
      for (int i = 0; i < 2000; ++i) callers.spawn(call(by, answers));  // the server has streams for 100
      co_await callers.join();
      EXPECT_NEAR(answers["0"], 1800, 60);
      EXPECT_EQ(calls_in_progress::of("a", "")->count(), 0u);
    }
  };
  play(steps::all(stub()));
}

TEST_F(XdsChannel, LosesNoCallWhenRoutesAndEndpointsChange) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  offer_cluster("b", {{port(1)}});
  for (const auto& b : backends_) b->delay = 10ms;
  struct steps {
    static task<> call(const generic_stub& by, const bool& ends, counts& into) {
      while (!ends) {
        const std::string answer = co_await ask(by);
        ++into[answer];
      }
    }
    static task<> all(generic_stub by, XdsChannel& t) {
      counts answers;
      bool ends = false;
      scope callers{co_await coro::this_environment()};
      for (int i = 0; i < 10; ++i) callers.spawn(call(by, ends, answers));
      for (int i = 0; i < 20; ++i) {
        co_await sleep_for(37ms);
        t.offer_route_to(i % 2 == 0 ? "b" : "a");
        if (i % 5 == 4) t.offer_cluster("a", {{t.port(i % 2 == 0 ? 2 : 0)}, {t.port(3), 1}});
      }
      co_await sleep_for(37ms);
      ends = true;
      co_await callers.join();
      for (const auto& [answer, n] : answers) EXPECT_EQ(answer.size(), 1u) << answer;
      EXPECT_GT(answers["0"], 0);
      EXPECT_GT(answers["1"], 0);
      EXPECT_GT(answers["2"], 0);
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsChannel, FailsCallsWhileItsListenerIsDeletedIfTheControlPlaneWantsThat) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      (void)co_await ask(by);
      t.plane_.take_back(resource_kind::listener, "target");
      co_await sleep_for(1s);
      const std::string answer = co_await ask(by);
      EXPECT_THAT(answer, HasSubstr(R"(UNAVAILABLE: xDS resource Listener "target")"));
      t.offer_route_to("a");
      co_await sleep_for(1s);
      const std::string again = co_await ask(by);
      EXPECT_EQ(again, "0");
    }
  };
  play(steps::all(stub(bootstrap_json(R"(["fail_on_data_errors"])")), *this));
}

TEST_F(XdsChannel, KeepsWhatItHasWhenResourcesAreDeletedOrTheControlPlaneGoes) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      (void)co_await ask(by);
      t.plane_.take_back(resource_kind::listener, "target");
      t.plane_.take_back(resource_kind::cluster, "a");
      co_await sleep_for(1min);
      const std::string answer = co_await ask(by);
      EXPECT_EQ(answer, "0");
      co_await t.plane_server_->drain(duration::zero());
      co_await sleep_for(1min);
      const std::string without = co_await ask(by);
      EXPECT_EQ(without, "0");
    }
  };
  play(steps::all(stub(), *this));
}

// A line of the log for each change of what is wrong with the configuration of a target, and none without
// one.
TEST_F(XdsChannel, ItsLogSaysWhatIsWrongAndWhenItIsOver) {
  const auto lines = [this] {
    const std::string begin = "xds:///target: ";
    std::vector<std::string> all;
    std::istringstream text(log_.text());
    for (std::string line; std::getline(text, line);)
      if (const auto at = line.find(begin); at != line.npos) all.push_back(line.substr(at + begin.size()));
    return all;
  };
  const std::string complete = "its control plane's configuration is complete again";
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "a", "/where.Where");
    add_route(h, "b");
  });
  offer_cluster("a", {{port(0)}});
  offer_cluster("b", {{port(1)}});
  struct steps {
    static task<> all(XdsChannel& t, generic_stub by, std::function<std::vector<std::string>()> lines,
                      std::string complete) {
      const std::string first = co_await ask(by);
      EXPECT_EQ(first, "0");
      co_await sleep_for(1s);
      EXPECT_THAT(lines(), IsEmpty()) << "it was never incomplete";
      std::size_t expected = 0;
      for (int i = 0; i < 3; ++i) {
        t.plane_.take_back(resource_kind::cluster, "b");
        co_await sleep_for(1s);
        EXPECT_EQ(lines().size(), ++expected);
        EXPECT_THAT(lines().back(), AllOf(HasSubstr("Cluster \"b\""), HasSubstr("has deleted it")));
        // Changes of something else, and the same state again.
        for (const std::size_t server : {2, 3, 0}) {
          t.offer_cluster("a", {{t.port(server)}});
          co_await sleep_for(1s);
          t.offer_cluster("a", {{t.port(server)}});
          co_await sleep_for(1s);
        }
        EXPECT_EQ(lines().size(), expected);
        t.offer_cluster("b", {{t.port(1)}});
        co_await sleep_for(1s);
        EXPECT_EQ(lines().size(), ++expected);
        EXPECT_EQ(lines().back(), complete);
        for (const std::size_t server : {3, 0}) {
          t.offer_cluster("a", {{t.port(server)}});
          co_await sleep_for(1s);
        }
        EXPECT_EQ(lines().size(), expected);
      }
      // Another problem beside the first one is a change; so is the end of one of the two.
      t.plane_.take_back(resource_kind::cluster, "b");
      co_await sleep_for(1s);
      t.plane_.take_back(resource_kind::cluster, "a");
      co_await sleep_for(1s);
      expected += 2;
      EXPECT_EQ(lines().size(), expected);
      EXPECT_THAT(lines().back(), AllOf(HasSubstr("Cluster \"a\""), HasSubstr("Cluster \"b\"")));
      t.offer_cluster("b", {{t.port(1)}});
      co_await sleep_for(1s);
      EXPECT_EQ(lines().size(), ++expected);
      EXPECT_THAT(lines().back(), AllOf(HasSubstr("Cluster \"a\""), Not(HasSubstr("Cluster \"b\""))));
      const std::string last = co_await ask(by);
      EXPECT_EQ(last, "0") << "what was deleted is still used";
    }
  };
  play(steps::all(*this, stub(), lines, complete));
}

// The stream is silent otherwise, and its connection has vanished without a word.
TEST_F(XdsChannel, NoticesWithinSixMinutesThatItsControlPlaneHasVanished) {
  server elsewhere(world_.host("plane"));
  elsewhere.set_fallback(plane_);
  ASSERT_EQ(elsewhere.listen("0.0.0.0:50050", insecure()), status());
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      (void)co_await ask(by);
      t.world_.set_faults(sim::faults().blackholes(1));
      t.offer_cluster("a", {{t.port(1)}});
      co_await sleep_for(100ms);
      t.world_.set_faults(sim::faults());
      co_await sleep_for(1min);
      const std::string before = co_await ask(by);
      EXPECT_EQ(before, "0");
      co_await sleep_for(5min);
      const std::string after = co_await ask(by);
      EXPECT_EQ(after, "1");
    }
  };
  play(steps::all(stub(R"({"xds_servers":[{"server_uri":")" + world_.address_of("plane") +
                       R"(:50050","channel_creds":[{"type":"insecure"}]}],"node":{"id":"n"}})"),
                  *this));
}

TEST_F(XdsChannel, AMissingClusterFailsItsOwnCallsAlone) {
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "missing", "/other.");
    add_route(h, "a");
  });
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> all(generic_stub by) {
      const std::string answer = co_await ask(by);
      EXPECT_EQ(answer, "0");
      const std::string failed = co_await ask(by, {}, "/other.Other/Ask");
      EXPECT_THAT(failed, HasSubstr(R"(UNAVAILABLE: xDS resource Cluster "missing")"));
    }
  };
  play(steps::all(stub()));
}

TEST_F(XdsChannel, NamesWhatIsMissingFromTheBeginning) {
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      const std::string no_listener = co_await ask(by);
      EXPECT_THAT(no_listener, HasSubstr(R"(UNAVAILABLE: xDS resource Listener "target")"));
      t.plane_.offer(resource_kind::listener, "target", listener_with("target", manager_of_rds("r")));
      auto elsewhere = routes_to("r", "a");
      elsewhere.mutable_virtual_hosts(0)->set_domains(0, "elsewhere");
      t.plane_.offer(resource_kind::route_configuration, "r", elsewhere);
      co_await sleep_for(1s);
      const std::string no_host = co_await ask(by);
      EXPECT_THAT(no_host, HasSubstr("could not find VirtualHost for target"));
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsChannel, SendsCallsWithTheSameHashToTheSameServer) {
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "a")->mutable_route()->add_hash_policy()->mutable_header()->set_header_name("user");
  });
  auto c = eds_cluster("a");
  c.set_lb_policy(2);
  offer_cluster(c, assignment("a", {{port(0)}, {port(1)}, {port(2)}, {port(3)}}));
  struct steps {
    static task<> all(generic_stub by) {
      std::map<int, std::string> home;
      std::set<std::string> used;
      for (int round = 0; round < 3; ++round) {
        for (int user = 0; user < 40; ++user) {
          const std::string answer = co_await ask(by, with("user", std::to_string(user)));
          EXPECT_EQ(answer, home.emplace(user, answer).first->second);
          used.insert(answer);
        }
      }
      EXPECT_THAT(used, ElementsAre("0", "1", "2", "3"));
    }
  };
  play(steps::all(stub()));
}

// gRFC A76: a server that takes the key of another takes its calls.
TEST_F(XdsChannel, AKeyStandsForTheAddressOfAServerOnTheRing) {
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "a")->mutable_route()->add_hash_policy()->mutable_header()->set_header_name("user");
  });
  auto c = eds_cluster("a");
  c.set_lb_policy(2);
  const auto keyed = [&](std::size_t first) {
    wire::ClusterLoadAssignment a = assignment("a", {{port(first)}, {port(first + 1)}});
    for (int i = 0; i < 2; ++i) {
      auto& lb = (*a.mutable_endpoints(i)
                       ->mutable_lb_endpoints(0)
                       ->mutable_metadata()
                       ->mutable_filter_metadata())["envoy.lb"];
      (*lb.mutable_fields())["hash_key"].set_string_value("key " + std::to_string(i));
    }
    return a;
  };
  offer_cluster(c, keyed(0));
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t, wire::Cluster c, wire::ClusterLoadAssignment next) {
      std::map<std::string, std::string> before;
      for (int user = 0; user < 20; ++user) {
        const std::string name = std::to_string(user);
        const std::string answer = co_await ask(by, with("user", name));
        before[name] = answer;
      }
      t.offer_cluster(c, next);
      co_await sleep_for(1s);
      for (const auto& [name, answer] : before) {
        const std::string now = co_await ask(by, with("user", name));
        EXPECT_EQ(now, answer == "0" ? "2" : "3");
      }
    }
  };
  play(steps::all(stub(), *this, c, keyed(2)));
}

// gRFC A61
TEST_F(XdsChannel, ConnectsToTheFirstAddressOfAnEndpointThatAnswers) {
  offer_route_to("a");
  wire::ClusterLoadAssignment a = assignment("a", {{refused_port}});
  auto& server = *a.mutable_endpoints(0)->mutable_lb_endpoints(0)->mutable_endpoint();
  set_address(*server.add_additional_addresses()->mutable_address(), "10.0.0.77", 80);  // never answers
  set_address(*server.add_additional_addresses()->mutable_address(), "127.0.0.1", port(1));
  offer_cluster(eds_cluster("a"), a);
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      const std::string answer = co_await ask(by);
      EXPECT_EQ(answer, "1");
      EXPECT_EQ(t.backends_[1]->connections.size(), 1u);
    }
  };
  play(steps::all(stub(), *this));
}

// Under every policy, as in pick_first: SETTINGS are the answer, and not a connection that TCP establishes.
TEST_F(XdsChannel, TriesTheNextAddressBesideOneThatIsSilentAndAfterOneThatBreaks) {
  struct steps {
    static task<> break_all(net::listener& door) {
      bool open = true;
      while (open) {
        const auto next = co_await door.accept();
        open = next.ok();
      }
    }
    static task<> all(XdsChannel& t) {
      auto silent = net::listener::open(net::address::loopback_v4(0)).value();
      auto breaks = net::listener::open(net::address::loopback_v4(0)).value();
      scope work{co_await coro::this_environment()};
      work.spawn(break_all(breaks));
      for (const int policy : {0, 1, 2}) {  // ROUND_ROBIN, LEAST_REQUEST, RING_HASH
        t.offer_route_to("a");
        wire::Cluster c = eds_cluster("a");
        c.set_lb_policy(policy);
        wire::ClusterLoadAssignment a = assignment("a", {{silent.local_address().port()}});
        auto& server = *a.mutable_endpoints(0)->mutable_lb_endpoints(0)->mutable_endpoint();
        for (const std::uint16_t p : {breaks.local_address().port(), refused_port, t.port(1)})
          set_address(*server.add_additional_addresses()->mutable_address(), "127.0.0.1", p);
        t.offer_cluster(c, a);
        const generic_stub by = t.stub();
        const time_point begun = loop::current()->now();
        const std::string answer = co_await ask(by);
        EXPECT_EQ(answer, "1") << policy;
        EXPECT_GE(loop::current()->now() - begun, 250ms);
        EXPECT_LT(loop::current()->now() - begun, 400ms);
        co_await sleep_for(1min);
        const std::string later = co_await ask(by);
        EXPECT_EQ(later, "1") << policy;
        EXPECT_EQ(t.backends_[1]->connections.size(), 1u);
        t.backends_[1]->connections.clear();

        // None of those that are left answers.
        server.mutable_additional_addresses(2)->mutable_address()->mutable_socket_address()->set_port_value(
            refused_port + 1);
        t.offer_cluster(c, a);
        const generic_stub failing = t.stub();
        const time_point failing_since = loop::current()->now();
        const std::string failed = co_await ask(failing);
        EXPECT_THAT(failed, HasSubstr("UNAVAILABLE")) << policy;
        EXPECT_GE(loop::current()->now() - failing_since, 20s);
        EXPECT_LT(loop::current()->now() - failing_since, 21s);
        server.mutable_additional_addresses(2)->mutable_address()->mutable_socket_address()->set_port_value(
            t.port(1));
        t.offer_cluster(c, a);
        co_await sleep_for(30s);
        const std::string recovered = co_await ask(failing);
        EXPECT_EQ(recovered, "1") << policy;
        t.backends_[1]->connections.clear();
      }
      work.request_stop();
      co_await work.join();
      co_await breaks.close();
      co_await silent.close();
    }
  };
  play(steps::all(*this));
}

TEST_F(XdsChannel, LeavesAnAddressThatAnEndpointNoLongerHas) {
  offer_route_to("a");
  const auto with = [](const std::vector<std::uint16_t>& ports) {
    wire::ClusterLoadAssignment a = assignment("a", {{refused_port}});
    auto& server = *a.mutable_endpoints(0)->mutable_lb_endpoints(0)->mutable_endpoint();
    for (const std::uint16_t p : ports)
      set_address(*server.add_additional_addresses()->mutable_address(), "127.0.0.1", p);
    return a;
  };
  offer_cluster(eds_cluster("a"), with({port(1), port(2)}));
  backends_[1]->delay = 5s;
  struct steps {
    static task<> slow(const generic_stub& by, std::string& answer) { answer = co_await ask(by); }
    static task<> all(generic_stub by, XdsChannel& t, wire::ClusterLoadAssignment same,
                      wire::ClusterLoadAssignment fewer) {
      std::string answer;
      scope caller{co_await coro::this_environment()};
      caller.spawn(slow(by, answer));
      co_await sleep_for(2s);
      t.offer_cluster(eds_cluster("a"), same);
      co_await sleep_for(1s);
      t.offer_cluster(eds_cluster("a"), fewer);
      co_await sleep_for(1s);
      const std::string next = co_await ask(by);
      EXPECT_EQ(next, "2");
      co_await caller.join();  // with its old connection
      EXPECT_EQ(answer, "1");
      EXPECT_EQ(t.backends_[1]->calls, 1);
    }
  };
  play(steps::all(stub(), *this, with({port(2), port(1)}), with({port(2)})));
}

TEST_F(XdsChannel, FailsWithTheLastErrorIfNoAddressOfAnEndpointAnswers) {
  offer_route_to("a");
  wire::ClusterLoadAssignment a = assignment("a", {{refused_port}});
  auto& server = *a.mutable_endpoints(0)->mutable_lb_endpoints(0)->mutable_endpoint();
  set_address(*server.add_additional_addresses()->mutable_address(), "127.0.0.1", refused_port + 1);
  offer_cluster(eds_cluster("a"), a);
  struct steps {
    static task<> all(generic_stub by) {
      const std::string answer = co_await ask(by);
      EXPECT_THAT(answer, HasSubstr("UNAVAILABLE"));
      EXPECT_THAT(answer, HasSubstr("refused"));
    }
  };
  play(steps::all(stub()));
}

TEST_F(XdsChannel, ResolvesTheNameOfAClusterUntilItHasAnAddress) {
  offer_route_to("a");
  offer_cluster_by_name("a", "movies.example", port(1));
  world_.set_name("movies.example", sim::name_record().failing());
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      const std::string failed = co_await ask(by);
      EXPECT_THAT(failed, HasSubstr("cluster a: the name movies.example cannot be resolved"));
      t.world_.set_name("movies.example", sim::name_record().address("127.0.0.1"));
      co_await sleep_for(3s);
      const std::string answer = co_await ask(by);
      EXPECT_EQ(answer, "1");
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsChannel, MayCloseWhileTheNameOfAClusterIsResolved) {
  offer_route_to("a");
  offer_cluster_by_name("a", "movies.example", port(1));
  world_.set_name("movies.example", sim::name_record().address("127.0.0.1").latency(10s));
  struct steps {
    static task<> all(std::optional<generic_stub> by) {
      call_options brief;
      brief.timeout = 1s;
      const std::string late = co_await ask(*by, brief);
      EXPECT_THAT(late, HasSubstr("DEADLINE_EXCEEDED"));
      by.reset();
      co_await sleep_for(20s);
    }
  };
  play(steps::all(stub()));
}

// At the earliest 30 s after the last time, like the names of other channels.
TEST_F(XdsChannel, ResolvesTheNameOfAClusterAgainWhenItsServerIsLost) {
  offer_route_to("a");
  offer_cluster_by_name("a", "movies.example", port(1));
  world_.set_name("movies.example", sim::name_record().address("127.0.0.1"));
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      const std::string answer = co_await ask(by);
      EXPECT_EQ(answer, "1");
      t.world_.set_name("movies.example", sim::name_record().address("127.0.0.2").address("127.0.0.1"));
      co_await t.backends_[1]->stop();
      co_await sleep_for(60s);
      const std::string lost = co_await ask(by);
      EXPECT_THAT(lost, HasSubstr("127.0.0.2"));
    }
  };
  play(steps::all(stub(), *this));
}

// Ejects servers more than half of whose calls fail, if three have had calls.
wire::Cluster judging_cluster(int interval_s) {
  auto c = eds_cluster("a");
  auto* const o = c.mutable_outlier_detection();
  o->mutable_interval()->set_seconds(interval_s);
  o->mutable_max_ejection_percent()->set_value(50);
  o->mutable_enforcing_success_rate()->set_value(0);
  o->mutable_enforcing_failure_percentage()->set_value(100);
  o->mutable_failure_percentage_threshold()->set_value(50);
  o->mutable_failure_percentage_minimum_hosts()->set_value(3);
  o->mutable_failure_percentage_request_volume()->set_value(5);
  return c;
}

TEST_F(XdsChannel, EjectsAServerThatFails) {
  offer_route_to("a");
  offer_cluster(judging_cluster(1), assignment("a", {{port(0)}, {port(1)}, {port(2)}}));
  backends_[1]->failures = 1'000'000;
  backends_[1]->failure = status_code::internal;
  struct steps {
    static task<> all(generic_stub by) {
      (void)co_await ask(by);
      co_await sleep_for(100ms);
      counts before = co_await ask_often(by, 90);
      EXPECT_GT(before["INTERNAL: as the test wants"], 10);
      co_await sleep_for(2s);
      counts after = co_await ask_often(by, 90);
      EXPECT_EQ(after["INTERNAL: as the test wants"], 0);
      EXPECT_GT(after["0"], 10);
      EXPECT_GT(after["2"], 10);
    }
  };
  play(steps::all(stub()));
}

// gRFC A75
TEST_F(XdsChannel, JudgesTheServersOfAllPrioritiesTogether) {
  offer_route_to("a");
  offer_cluster(judging_cluster(10), assignment("a", {{port(0), 0}, {port(1), 1}, {port(2), 1}}));
  backends_[0]->failures = 1'000'000;
  backends_[0]->failure = status_code::internal;
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      counts first = co_await ask_often(by, 30);
      EXPECT_EQ(first["INTERNAL: as the test wants"], 30);
      t.offer_cluster(judging_cluster(10), assignment("a", {{t.port(0), 1}, {t.port(1), 0}, {t.port(2), 0}}));
      co_await sleep_for(1s);
      counts others = co_await ask_often(by, 60);
      EXPECT_EQ(others["1"] + others["2"], 60);
      co_await sleep_for(10s);
      t.offer_cluster(judging_cluster(10), assignment("a", {{t.port(0), 0}, {t.port(1), 1}, {t.port(2), 1}}));
      co_await sleep_for(1s);
      counts after = co_await ask_often(by, 60);
      EXPECT_EQ(after["1"] + after["2"], 60);
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsChannel, AppliesTheTimeoutsAndRetriesOfRoutes) {
  offer_routes([](wire::VirtualHost& h) {
    auto* const slow = add_route(h, "a", "/slow.")->mutable_route();
    slow->mutable_max_stream_duration()->mutable_max_stream_duration()->set_seconds(1);
    auto* const retried = add_route(h, "b")->mutable_route()->mutable_retry_policy();
    retried->set_retry_on("internal");
    retried->mutable_num_retries()->set_value(2);
  });
  offer_cluster("a", {{port(0)}});
  offer_cluster("b", {{port(1)}});
  backends_[0]->delay = 1min;
  backends_[1]->failures = 2;
  backends_[1]->failure = status_code::internal;
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t) {
      const std::string slow = co_await ask(by, {}, "/slow.Slow/Ask");
      EXPECT_THAT(slow, HasSubstr("DEADLINE_EXCEEDED"));
      const std::string retried = co_await ask(by);
      EXPECT_EQ(retried, "1");
      EXPECT_EQ(t.backends_[1]->calls, 3);
    }
  };
  play(steps::all(stub(), *this));
}

// gRFC A81
TEST_F(XdsChannel, TheAuthorityIsTheNameOfTheServerIfATrustedControlPlaneSaysSo) {
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "a", "/plain.");
    add_route(h, "b", "/dns.")->mutable_route()->mutable_auto_host_rewrite()->set_value(true);
    add_route(h, "a")->mutable_route()->mutable_auto_host_rewrite()->set_value(true);
  });
  wire::ClusterLoadAssignment a = assignment("a", {{port(0)}});
  a.mutable_endpoints(0)->mutable_lb_endpoints(0)->mutable_endpoint()->set_hostname("zero.example");
  offer_cluster(eds_cluster("a"), a);
  offer_cluster_by_name("b", "movies.example", port(1));
  world_.set_name("movies.example", sim::name_record().address("127.0.0.1"));
  struct steps {
    static task<> all(generic_stub trusting, generic_stub other, XdsChannel& t,
                      wire::ClusterLoadAssignment a) {
      const std::string& seen = t.backends_[0]->authority;
      for (int i = 0; i < 3; ++i) {  // headers that are sent again are remembered
        (void)co_await ask(trusting);
        EXPECT_EQ(seen, "zero.example");
        (void)co_await ask(trusting, {}, "/plain.Plain/Ask");
        EXPECT_EQ(seen, "target");
        call_options own;
        own.authority = "own.example";
        (void)co_await ask(trusting, own);
        EXPECT_EQ(seen, "own.example");
        (void)co_await ask(other);
        EXPECT_EQ(seen, "target");
      }
      (void)co_await ask(trusting, {}, "/dns.Dns/Ask");
      EXPECT_EQ(t.backends_[1]->authority, "movies.example:" + std::to_string(t.port(1)));
      auto& e = *a.mutable_endpoints(0)->mutable_lb_endpoints(0)->mutable_endpoint();
      e.set_hostname("new.example");
      t.plane_.offer(resource_kind::endpoints, "a", a);
      co_await sleep_for(1s);
      (void)co_await ask(trusting);
      EXPECT_EQ(seen, "new.example");
      e.set_hostname("user@not.valid");
      t.plane_.offer(resource_kind::endpoints, "a", a);
      co_await sleep_for(1s);
      (void)co_await ask(trusting);
      EXPECT_EQ(seen, "target");
      EXPECT_EQ(t.backends_[0]->connections.size(), 2u);
    }
  };
  play(steps::all(stub(bootstrap_json(R"(["trusted_xds_server"])")), stub(), *this, a));
}

// What is known of a server is found by each of its addresses: the first one may leave, and the connection to
// another one stays.
TEST_F(XdsChannel, AServerWhoseFirstAddressLeavesKeepsItsName) {
  offer_routes([](wire::VirtualHost& h) {
    add_route(h, "a")->mutable_route()->mutable_auto_host_rewrite()->set_value(true);
  });
  const auto with = [this](bool first) {
    wire::ClusterLoadAssignment a = assignment("a", {{first ? refused_port : port(0)}});
    auto& server = *a.mutable_endpoints(0)->mutable_lb_endpoints(0)->mutable_endpoint();
    server.set_hostname("zero.example");
    if (first) set_address(*server.add_additional_addresses()->mutable_address(), "127.0.0.1", port(0));
    return a;
  };
  offer_cluster(eds_cluster("a"), with(true));
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t, wire::ClusterLoadAssignment later) {
      (void)co_await ask(by);
      EXPECT_EQ(t.backends_[0]->authority, "zero.example");
      t.plane_.offer(resource_kind::endpoints, "a", later);
      co_await sleep_for(1s);
      (void)co_await ask(by);
      EXPECT_EQ(t.backends_[0]->authority, "zero.example");
      EXPECT_EQ(t.backends_[0]->connections.size(), 1u);
    }
  };
  play(steps::all(stub(bootstrap_json(R"(["trusted_xds_server"])")), *this, with(false)));
}

// gRFC A86
TEST_F(XdsChannel, AnEndpointIsReachedThroughItsProxy) {
  offer_route_to("a");
  wire::Cluster a = eds_cluster("a");
  a.mutable_transport_socket()->set_name("proxy");
  *a.mutable_transport_socket()->mutable_typed_config() =
      packed("envoy.extensions.transport_sockets.http_11_proxy.v3.Http11ProxyUpstreamTransport",
             wire::HttpProxyTransport());
  const auto endpoints_by = [](std::uint16_t proxy) {
    wire::ClusterLoadAssignment e;
    e.set_cluster_name("a");
    auto& server = *add_endpoint(*add_locality(e, "z", 1), "10.0.0.77", 80);
    set_address(*server.mutable_endpoint()->add_additional_addresses()->mutable_address(), "10.0.0.78", 80);
    wire::Address at;
    set_address(at, "127.0.0.1", proxy);
    (*server.mutable_metadata()
          ->mutable_typed_filter_metadata())["envoy.http11_proxy_transport_socket.proxy_address"] =
        packed("envoy.config.core.v3.Address", at);
    return e;
  };
  struct steps {
    static task<> all(XdsChannel& t, wire::Cluster a,
                      std::function<wire::ClusterLoadAssignment(std::uint16_t)> endpoints_by) {
      testing_support::connect_proxy proxy;
      proxy.routes.emplace_back("10.0.0.78:80",
                                net::address::parse("127.0.0.1:" + std::to_string(t.port(0))).value());
      proxy.start();
      const std::string url = proxy.url();
      t.offer_cluster(a, endpoints_by(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)))));
      {
        const generic_stub by = t.stub();
        const std::string answer = co_await ask(by);
        EXPECT_EQ(answer, "0");
      }
      // The proxy refuses the first address, and knows the second one.
      EXPECT_EQ(proxy.questions.size(), 2u);
      EXPECT_THAT(proxy.questions.back(), testing::StartsWith("CONNECT 10.0.0.78:80 HTTP/1.1\r\n"));
      co_await proxy.stop();
      t.offer_cluster(a, endpoints_by(refused_port));
      const generic_stub by = t.stub();
      const std::string failed = co_await ask(by);
      EXPECT_THAT(failed, HasSubstr("cannot connect to the proxy"));
    }
  };
  play(steps::all(*this, a, endpoints_by));
}

// Picks the server with the highest port.
class highest final : public client::pick_policy {
 public:
  std::size_t pick(std::span<const client::pick_candidate> ready, const client::pick_info&) override {
    std::size_t best = 0;
    for (std::size_t i = 1; i < ready.size(); ++i)
      if (ready[i].where().address().port() > ready[best].where().address().port()) best = i;
    return best;
  }
};

// gRFC A52
TEST_F(XdsChannel, AControlPlaneChoosesAPolicyOfTheProgram) {
  offer_route_to("a");
  const auto cluster_with = [](const std::string& key, bool by_locality) {
    wire::TypedStruct config;
    config.set_type_url("type.googleapis.com/example.Highest");
    (*config.mutable_value()->mutable_fields())[key].set_bool_value(true);
    wire::LoadBalancingPolicy policy;
    *policy.add_policies()->mutable_typed_extension_config()->mutable_typed_config() =
        packed("xds.type.v3.TypedStruct", config);
    wire::Cluster c = eds_cluster("a");
    if (by_locality) {
      wire::WrrLocality outer;
      *outer.mutable_endpoint_picking_policy() = policy;
      *c.mutable_load_balancing_policy()
           ->add_policies()
           ->mutable_typed_extension_config()
           ->mutable_typed_config() =
          packed("envoy.extensions.load_balancing_policies.wrr_locality.v3.WrrLocality", outer);
    } else {
      *c.mutable_load_balancing_policy() = policy;
    }
    return c;
  };
  wire::ClusterLoadAssignment servers;
  servers.set_cluster_name("a");
  auto& here = *add_locality(servers, "z", 1);
  std::string expected = "0";
  for (std::size_t i = 0; i < 3; ++i) {
    add_endpoint(here, "127.0.0.1", port(i));
    if (port(i) > port(static_cast<std::size_t>(expected[0] - '0'))) expected = std::to_string(i);
  }
  offer_cluster(cluster_with("fine", false), servers);
  std::vector<std::string> configs;
  xds_options mesh;
  mesh.bootstrap = bootstrap_json();
  mesh.policies["example.Highest"] = [&configs](std::string_view config) -> result<balancing> {
    configs.emplace_back(config);
    if (config != R"({"fine":true})") return status::invalid_argument("only \"fine\" is known");
    return balancing::by([](std::uint64_t) { return std::make_unique<highest>(); });
  };
  const generic_stub by = stub(mesh);
  struct steps {
    static task<> all(generic_stub by, XdsChannel& t, std::string expected, wire::Cluster nested,
                      wire::Cluster wrong) {
      (void)co_await ask(by);
      co_await sleep_for(1s);  // all are connected
      for (int round = 0; round < 2; ++round) {
        counts answers = co_await ask_often(by, 10);
        EXPECT_THAT(answers, ElementsAre(Pair(expected, 10)));
        t.plane_.offer(resource_kind::cluster, "a", nested);
        co_await sleep_for(1s);
        (void)co_await ask(by);
        co_await sleep_for(1s);
      }
      t.plane_.offer(resource_kind::cluster, "a", wrong);
      co_await sleep_for(2s);
      const std::string last = co_await ask(by);
      EXPECT_EQ(last, expected);
    }
  };
  play(steps::all(by, *this, expected, cluster_with("fine", true), cluster_with("odd", false)));
  EXPECT_THAT(plane_.rejections, testing::Each(HasSubstr("only \"fine\" is known")));
  EXPECT_THAT(plane_.rejections, Not(testing::IsEmpty()));
  EXPECT_THAT(configs, ElementsAre(R"({"fine":true})", R"({"odd":true})"));
  plane_.rejections.clear();
}

// Quoted by docs/guides/xds.md.
// gRFC A61: the addresses of a name are those of one server, whatever the policy.
TEST_F(XdsChannel, TheServerOfANameIsUnderThePolicyOfItsCluster) {
  struct counting final : client::pick_policy {
    explicit counting(int& n) : picks(n) {}
    std::size_t pick(std::span<const client::pick_candidate> ready, const client::pick_info&) override {
      ++picks;
      EXPECT_EQ(ready.size(), 1u);
      EXPECT_EQ(ready.front().where().other_addresses().size(), 1u);
      return 0;
    }
    int& picks;
  };
  offer_route_to("a");
  wire::Cluster c = cluster_by_name("a", "movies.example", port(1));
  wire::TypedStruct config;
  config.set_type_url("type.googleapis.com/example.Counting");
  *c.mutable_load_balancing_policy()
       ->add_policies()
       ->mutable_typed_extension_config()
       ->mutable_typed_config() = packed("xds.type.v3.TypedStruct", config);
  plane_.offer(resource_kind::cluster, "a", c);
  world_.set_name("movies.example", sim::name_record().address("10.0.0.77").address("127.0.0.1"));
  int picks = 0;
  xds_options mesh;
  mesh.bootstrap = bootstrap_json();
  mesh.policies["example.Counting"] = [&picks](std::string_view) -> result<balancing> {
    return balancing::by([&picks](std::uint64_t) { return std::make_unique<counting>(picks); });
  };
  struct steps {
    static task<> all(generic_stub by, int& picks) {
      counts answers = co_await ask_often(by, 3);
      EXPECT_EQ(answers["1"], 3);
      EXPECT_EQ(picks, 3);
    }
  };
  play(steps::all(stub(mesh), picks));
}

TEST_F(XdsChannel, PoliciesOfTheProgramHaveNames) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  // --8<-- [start:policies]
  coracle::xds_options mesh;
  mesh.policies["example.Highest"] = [](std::string_view /*config*/) -> coracle::result<coracle::balancing> {
    return coracle::balancing::by([](std::uint64_t /*seed*/) { return std::make_unique<highest>(); });
  };
  // --8<-- [end:policies]
  mesh.bootstrap = bootstrap_json();
  struct steps {
    static task<> all(generic_stub by) {
      const std::string answer = co_await ask(by);
      EXPECT_EQ(answer, "0");
    }
  };
  play(steps::all(stub(mesh)));
}

TEST_F(XdsChannel, SaysWhatIsWrongWithTheBootstrap) {
  struct steps {
    static task<> fails(generic_stub by, std::string why) {
      const std::string answer = co_await ask(by);
      EXPECT_THAT(answer, HasSubstr("UNAVAILABLE"));
      EXPECT_THAT(answer, HasSubstr(why));
    }
  };
  play(steps::fails(stub("{"), "JSON"));
  const std::string tls = R"({"xds_servers":[{"server_uri":"p:1","channel_creds":[{"type":"tls"}]}]})";
  play(steps::fails(stub(tls), "UNAVAILABLE"));
  const std::string google =
      R"({"xds_servers":[{"server_uri":"p:1","channel_creds":[{"type":"google_default"}]}]})";
  play(steps::fails(stub(google),
                    "channel_creds of the type google_default alone, which is not supported; add the type "
                    "tls or insecure"));
}

}  // namespace
}  // namespace coracle::xds::xds_resolver_test
