// The client of control planes: each rule of gRFC A27, A46, A47, A53, A54, A57, A71 and A88 that it keeps.
#include "xds/ads/ads_client.hpp"

#include "unit/xds/resource_builders.hpp"
#include "xds/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace coracle::xds::ads_client_test {
namespace {

using namespace std::chrono_literals;
using namespace testing_resources;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto listener_kind = resource_kind::listener;
constexpr auto routes_kind = resource_kind::route_configuration;
constexpr auto cluster_kind = resource_kind::cluster;
constexpr auto endpoints_kind = resource_kind::endpoints;

constexpr server_id first{0};
constexpr server_id second{1};

std::string server_json(const std::string& uri, const std::string& features = "") {
  return R"({"server_uri":")" + uri + R"(","channel_creds":[{"type":"insecure"}],"server_features":[)" +
         features + "]}";
}
std::string bootstrap_json(const std::string& servers, const std::string& more = "") {
  return R"({"xds_servers":[)" + servers +
         R"(],"node":{"id":"the node","cluster":"c","metadata":{"m":[1,true,null,"s",{}]},
    "locality":{"region":"r"}})" +
         more + "}";
}

// Drives a client as a driver does, and writes down what it says: "open 0", "changed 1 the name", "error 1",
// "ambient 1", "ok 1".
class AdsClient : public testing::Test {
 protected:
  void begin(const std::string& servers = server_json("plane:1"), const std::string& more = "") {
    auto parsed = parse_bootstrap(bootstrap_json(servers, more));
    ASSERT_EQ(parsed.status(), status());
    client.emplace(std::make_shared<const bootstrap>(*std::move(parsed)),
                   ads_client::options{"agent", "7", [this] { return random; }, {}});
  }

  int watch(resource_kind kind, std::string_view name) {
    const auto id = static_cast<int>(client->watch(kind, name));
    drain();
    return id;
  }
  void cancel(int id) {
    client->cancel(static_cast<watch_id>(id));
    drain();
  }
  void opened(server_id s = first) {
    client->stream_opened(s, now);
    drain();
  }
  void ended(server_id s = first, const status& reason = status::unavailable("refused")) {
    client->stream_ended(s, reason, now);
    drain();
  }
  void pass(duration d) {
    now += d;
    client->advance(now);
    drain();
  }
  void receive(const wire::DiscoveryResponse& r, server_id s = first) {
    client->received(s, read_response(r, client->rules_of(s)), now);
    drain();
  }
  template <class... Messages>
  wire::DiscoveryResponse response(resource_kind kind, const std::string& version, const std::string& nonce,
                                   const Messages&... all) {
    wire::DiscoveryResponse r;
    r.set_type_url(type_url(kind));
    r.set_version_info(version);
    r.set_nonce(nonce);
    ((*r.add_resources() = packed(type_name(kind), all)), ...);
    return r;
  }

  // What has happened since the last call.
  std::vector<std::string> happened() { return std::exchange(happened_, {}); }
  std::vector<wire::DiscoveryRequest> sent() { return std::exchange(sent_, {}); }
  wire::DiscoveryRequest only_request() {
    const auto all = sent();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? wire::DiscoveryRequest() : all.front();
  }
  static std::vector<std::string> names(const wire::DiscoveryRequest& r) {
    return {r.resource_names().begin(), r.resource_names().end()};
  }

  std::optional<ads_client> client;
  time_point now{1000s};
  double random = 0.5;
  std::string last_error;
  std::vector<std::string> notes;
  std::size_t server_count = 1;

 private:
  static std::string name_of(const resource& r) {
    return std::visit([](const auto& one) { return one->name; }, r);
  }
  void drain() {
    for (std::size_t s = 0; s < server_count; ++s)
      while (auto r = client->next_request(static_cast<server_id>(s), now)) sent_.push_back(*std::move(r));
    while (const auto c = client->next_command(now)) {
      happened_.push_back((c->what == stream_command::kind::open ? "open " : "close ") +
                          std::to_string(static_cast<std::size_t>(c->server)));
    }
    while (auto n = client->next_note()) notes.push_back(std::move(n->text));
    while (const auto e = client->next_event()) {
      std::string text = std::to_string(static_cast<std::uint64_t>(e->watch));
      switch (e->what) {
        case watch_event::kind::changed: text = "changed " + text + " " + name_of(*e->resource); break;
        case watch_event::kind::error: text = "error " + text; break;
        default: text = (e->reason.ok() ? "ok " : "ambient ") + text;
      }
      if (!e->reason.ok()) {
        last_error = e->reason.message();
        EXPECT_EQ(e->reason.code(), status_code::unavailable);
      }
      happened_.push_back(std::move(text));
    }
  }

  std::vector<std::string> happened_;
  std::vector<wire::DiscoveryRequest> sent_;
};

TEST_F(AdsClient, OpensAStreamForTheFirstWatchAndClosesItAfterTheLast) {
  begin();
  EXPECT_FALSE(client->next_command(now));
  const int w = watch(cluster_kind, "c");
  const int v = watch(listener_kind, "l");
  EXPECT_THAT(happened(), ElementsAre("open 0"));
  opened();
  cancel(w);
  EXPECT_THAT(happened(), IsEmpty());
  cancel(v);
  EXPECT_THAT(happened(), ElementsAre("close 0"));
}

TEST_F(AdsClient, SendsNoRequestBeforeThereIsANameAndAStream) {
  begin();
  watch(cluster_kind, "c");
  EXPECT_THAT(sent(), IsEmpty());
  opened();
  const auto r = only_request();  // of clusters alone: one without names would ask for all
  EXPECT_EQ(r.type_url(), "type.googleapis.com/envoy.config.cluster.v3.Cluster");
  EXPECT_THAT(names(r), ElementsAre("c"));
  EXPECT_EQ(r.version_info(), "");
  EXPECT_EQ(r.response_nonce(), "");
}

TEST_F(AdsClient, IntroducesTheNodeInTheFirstRequestOfAStreamAlone) {
  begin();
  watch(cluster_kind, "c");
  watch(listener_kind, "l");
  opened();
  const auto all = sent();
  ASSERT_EQ(all.size(), 2u);
  const wire::Node& node = all[0].node();
  EXPECT_EQ(node.id(), "the node");
  EXPECT_EQ(node.cluster(), "c");
  EXPECT_EQ(node.locality().region(), "r");
  EXPECT_EQ(node.user_agent_name(), "agent");
  EXPECT_EQ(node.user_agent_version(), "7");
  EXPECT_THAT(node.client_features(),
              ElementsAre("envoy.lb.does_not_support_overprovisioning", "xds.config.resource-in-sotw"));
  const auto& list = node.metadata().fields().at("m").list_value();
  ASSERT_EQ(list.values_size(), 5);
  EXPECT_EQ(list.values(0).number_value(), 1);
  EXPECT_TRUE(list.values(4).has_struct_value());
  EXPECT_FALSE(all[1].has_node());
  ended();
  pass(2s);
  opened();
  EXPECT_TRUE(sent().at(0).has_node());
}

TEST_F(AdsClient, SendsTheWholeSetOfNamesWithTheLastVersionAndNonce) {
  begin();
  const int w = watch(endpoints_kind, "a");
  opened();
  receive(response(endpoints_kind, "v1", "n1"));
  sent();
  const int v = watch(endpoints_kind, "b");
  auto r = only_request();
  EXPECT_THAT(names(r), ElementsAre("a", "b"));
  EXPECT_EQ(r.version_info(), "v1");
  EXPECT_EQ(r.response_nonce(), "n1");
  watch(endpoints_kind, "b");
  EXPECT_THAT(sent(), IsEmpty());  // nothing new
  cancel(w);
  EXPECT_THAT(names(only_request()), ElementsAre("b"));
  cancel(v);
  EXPECT_THAT(sent(), IsEmpty());  // somebody else watches it
}

TEST_F(AdsClient, SendsAnEmptySetOnceToUnsubscribe) {
  begin();
  const int w = watch(endpoints_kind, "a");
  watch(listener_kind, "l");
  opened();
  sent();
  cancel(w);
  EXPECT_THAT(names(only_request()), IsEmpty());
  cancel(watch(endpoints_kind, "b"));
  EXPECT_EQ(sent().size(), 2u);
}

TEST_F(AdsClient, AcknowledgesEachTypeByItsOwnVersionAndNonce) {
  begin();
  watch(cluster_kind, "c");
  watch(endpoints_kind, "c");
  opened();
  sent();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  auto r = only_request();
  EXPECT_EQ(r.type_url(), type_url(cluster_kind));
  EXPECT_EQ(r.version_info(), "v1");
  EXPECT_EQ(r.response_nonce(), "n1");
  EXPECT_FALSE(r.has_error_detail());
  receive(response(endpoints_kind, "v9", "n2"));
  r = only_request();
  EXPECT_EQ(r.version_info(), "v9");
  EXPECT_EQ(r.response_nonce(), "n2");
}

TEST_F(AdsClient, RejectsWithTheLastGoodVersionAndTheNonceOfTheBadResponse) {
  begin();
  watch(cluster_kind, "c");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  sent();
  wire::Cluster bad = eds_cluster("c");
  bad.set_type(0);
  receive(response(cluster_kind, "v2", "n2", bad));
  const auto r = only_request();
  EXPECT_EQ(r.version_info(), "v1");
  EXPECT_EQ(r.response_nonce(), "n2");
  EXPECT_EQ(r.error_detail().code(), 3);
  EXPECT_EQ(r.error_detail().message(), "Cluster \"c\": type is an unsupported cluster type: 0");
  watch(cluster_kind, "d");
  EXPECT_FALSE(only_request().has_error_detail());  // which is sent once
}

TEST_F(AdsClient, RejectsAFirstResponseWithNoVersion) {
  begin();
  watch(cluster_kind, "c");
  opened();
  sent();
  receive(response(cluster_kind, "v1", "n1", wire::Cluster()));
  const auto r = only_request();
  EXPECT_EQ(r.version_info(), "");
  EXPECT_EQ(r.response_nonce(), "n1");
}

TEST_F(AdsClient, UsesTheValidResourcesOfAResponseThatItRejects) {
  begin();
  watch(cluster_kind, "a");
  watch(cluster_kind, "b");
  watch(cluster_kind, "d");
  opened();
  happened(), sent();
  wire::Cluster bad_b = eds_cluster("b");
  bad_b.set_type(0);
  wire::Cluster bad_d = eds_cluster("d");
  bad_d.set_lb_policy(9);
  receive(response(cluster_kind, "v1", "n1", bad_b, eds_cluster("a"), bad_d));
  EXPECT_THAT(happened(), ElementsAre("error 2", "changed 1 a", "error 3"));
  EXPECT_THAT(only_request().error_detail().message(),
              testing::AllOf(HasSubstr("Cluster \"b\""), HasSubstr("; Cluster \"d\"")));
}

TEST_F(AdsClient, BoundsTheTextOfARejection) {
  begin();
  watch(cluster_kind, "a");
  opened();
  wire::DiscoveryResponse r = response(cluster_kind, "v1", "n1");
  for (int i = 0; i < 1000; ++i) {
    wire::Cluster c;
    c.set_name("a long name of a cluster, number " + std::to_string(i));
    watch(cluster_kind, c.name());
    *r.add_resources() = packed(type_name(cluster_kind), c);
  }
  sent();
  receive(r);
  EXPECT_LE(only_request().error_detail().message().size(), limits::nack_text_bytes_max);
}

TEST_F(AdsClient, PausesBetweenRejectionsInARow) {
  begin();
  watch(cluster_kind, "c");
  opened();
  sent();
  receive(response(cluster_kind, "v1", "n1", wire::Cluster()));
  EXPECT_EQ(sent().size(), 1u);
  receive(response(cluster_kind, "v1", "n2", wire::Cluster()));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(client->deadline(), now + 1s);
  pass(1s);
  EXPECT_GT(client->deadline(), now);  // the driver would wait for the past
  EXPECT_EQ(only_request().response_nonce(), "n2");
  receive(response(cluster_kind, "v2", "n3", eds_cluster("c")));
  EXPECT_EQ(only_request().version_info(), "v2");  // at once
}

TEST_F(AdsClient, IgnoresResponsesOfTypesThatItDoesNotKnowOrHasNotAskedFor) {
  begin();
  watch(cluster_kind, "c");
  opened();
  sent(), happened();
  wire::DiscoveryResponse r = response(cluster_kind, "v1", "n1");
  r.set_type_url("type.googleapis.com/odd.Type");
  receive(r);
  receive(response(listener_kind, "v1", "n1", listener_with("l", manager_of_rds("r"))));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_THAT(happened(), IsEmpty());
}

TEST_F(AdsClient, CallsAgainForTheSameBytesOnlyAfterAnError) {
  begin();
  watch(cluster_kind, "c");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  happened();
  receive(response(cluster_kind, "v2", "n2", eds_cluster("c")));
  EXPECT_THAT(happened(), IsEmpty());
  wire::Cluster bad = eds_cluster("c");
  bad.set_type(0);
  receive(response(cluster_kind, "v3", "n3", bad));
  EXPECT_THAT(happened(), ElementsAre("ambient 1"));
  receive(response(cluster_kind, "v4", "n4", eds_cluster("c")));
  EXPECT_THAT(happened(), ElementsAre("changed 1 c"));
  receive(response(cluster_kind, "v5", "n5", eds_cluster("c", "other")));
  EXPECT_THAT(happened(), ElementsAre("changed 1 c"));
}

TEST_F(AdsClient, ReportsTheRejectionOfAFirstResourceAndNotItsAbsence) {
  begin();
  watch(cluster_kind, "c");
  opened();
  happened();
  wire::Cluster bad = eds_cluster("c");
  bad.set_type(0);
  receive(response(cluster_kind, "v1", "n1", bad));
  EXPECT_THAT(happened(), ElementsAre("error 1"));
  EXPECT_EQ(last_error,
            "xDS resource Cluster \"c\": Cluster \"c\": type is an unsupported cluster type: 0 (node \"the "
            "node\", control plane plane:1)");
  pass(15s);
  EXPECT_THAT(happened(), IsEmpty());
  receive(response(cluster_kind, "v1", "n2", bad));
  EXPECT_THAT(happened(), IsEmpty());  // known already
}

TEST_F(AdsClient, TellsALaterWatchWhatIsKnown) {
  begin();
  watch(cluster_kind, "c");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  happened();
  watch(cluster_kind, "c");
  EXPECT_THAT(happened(), ElementsAre("changed 2 c"));
  receive(response(cluster_kind, "v2", "n2"));  // deleted
  EXPECT_THAT(happened(), ElementsAre("ambient 1", "ambient 2"));
  watch(cluster_kind, "c");
  EXPECT_THAT(happened(), ElementsAre("changed 3 c", "ambient 3"));
}

TEST_F(AdsClient, TellsALaterWatchTheErrorOfAResourceThatIsNotThere) {
  begin();
  watch(endpoints_kind, "c");
  opened();
  pass(15s);
  EXPECT_THAT(happened(), ElementsAre("open 0", "error 1"));
  watch(endpoints_kind, "c");
  EXPECT_THAT(happened(), ElementsAre("error 2"));
}

TEST_F(AdsClient, KeepsADeletedListenerOrClusterWithAnAmbientError) {
  begin();
  watch(listener_kind, "l");
  opened();
  receive(response(listener_kind, "v1", "n1", listener_with("l", manager_of_rds("r"))));
  happened(), sent();
  receive(response(listener_kind, "v2", "n2"));
  EXPECT_THAT(happened(), ElementsAre("ambient 1"));
  EXPECT_THAT(last_error, HasSubstr("the control plane has deleted it"));
  EXPECT_FALSE(only_request().has_error_detail());
  receive(response(listener_kind, "v3", "n3"));
  EXPECT_THAT(happened(), IsEmpty());
}

TEST_F(AdsClient, KeepsRoutesAndEndpointsThatAResponseDoesNotHave) {
  begin();
  watch(routes_kind, "r");
  watch(routes_kind, "s");
  opened();
  receive(response(routes_kind, "v1", "n1", routes_to("r", "c"), routes_to("s", "c")));
  happened();
  receive(response(routes_kind, "v2", "n2", routes_to("r", "d")));
  EXPECT_THAT(happened(), ElementsAre("changed 1 r"));
}

TEST_F(AdsClient, DropsResourcesOnDataErrorsIfTheServerAsksForIt) {
  begin(server_json("plane:1", "\"fail_on_data_errors\""));
  watch(cluster_kind, "c");
  opened();
  happened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  receive(response(cluster_kind, "v2", "n2"));
  EXPECT_THAT(happened(), ElementsAre("changed 1 c", "error 1"));
  receive(response(cluster_kind, "v3", "n3", eds_cluster("c")));
  wire::Cluster bad = eds_cluster("c");
  bad.set_type(0);
  receive(response(cluster_kind, "v4", "n4", bad));
  EXPECT_THAT(happened(), ElementsAre("changed 1 c", "error 1"));
  watch(cluster_kind, "c");
  EXPECT_THAT(happened(), ElementsAre("error 2"));
}

wire::DiscoveryResponse with_error(wire::DiscoveryResponse r, const std::string& name, int code) {
  auto& e = *r.add_resource_errors();
  e.mutable_resource_name()->set_name(name);
  e.mutable_error_detail()->set_code(code);
  e.mutable_error_detail()->set_message("why");
  return r;
}

TEST_F(AdsClient, ReportsErrorsOfResourcesAndStopsToWait) {
  begin();
  watch(endpoints_kind, "c");
  opened();
  happened(), sent();
  receive(with_error(response(endpoints_kind, "v1", "n1"), "c", 5));
  EXPECT_THAT(happened(), ElementsAre("error 1"));
  EXPECT_THAT(last_error, HasSubstr("NOT_FOUND: why"));
  EXPECT_FALSE(only_request().has_error_detail());  // it is no rejection
  pass(15s);
  EXPECT_THAT(happened(), IsEmpty());
}

TEST_F(AdsClient, DropsAResourceForErrorsOfItsDataButForNoOthers) {
  begin(server_json("plane:1", "\"fail_on_data_errors\""));
  watch(endpoints_kind, "c");
  opened();
  wire::ClusterLoadAssignment a;
  a.set_cluster_name("c");
  receive(response(endpoints_kind, "v1", "n1", a));
  happened();
  receive(with_error(response(endpoints_kind, "v2", "n2"), "c", 13));
  EXPECT_THAT(happened(), ElementsAre("ambient 1"));
  receive(with_error(response(endpoints_kind, "v3", "n3"), "c", 7));
  EXPECT_THAT(happened(), ElementsAre("error 1"));
}

TEST_F(AdsClient, DoesNotTakeAnErrorOfAClusterForItsDeletion) {
  begin();
  watch(cluster_kind, "c");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  happened();
  receive(with_error(response(cluster_kind, "v2", "n2"), "c", 13));
  EXPECT_THAT(happened(), ElementsAre("ambient 1"));
  EXPECT_THAT(last_error, HasSubstr("INTERNAL: why"));
}

TEST_F(AdsClient, WaitsFifteenSecondsFromTheRequestAndNotFromTheWatch) {
  begin();
  watch(endpoints_kind, "c");
  pass(60s);
  opened();
  happened();
  EXPECT_EQ(client->deadline(), now + 15s);
  pass(15s - 1ns);
  EXPECT_THAT(happened(), IsEmpty());
  pass(1ns);
  EXPECT_THAT(happened(), ElementsAre("error 1"));
  EXPECT_THAT(last_error, HasSubstr("\"c\": it does not exist (node \"the node\""));
  EXPECT_EQ(client->deadline(), never);
  wire::ClusterLoadAssignment a;
  a.set_cluster_name("c");
  receive(response(endpoints_kind, "v1", "n1", a));
  EXPECT_THAT(happened(), ElementsAre("changed 1 c"));
}

TEST_F(AdsClient, DoesNotWaitAgainWithTheNextRequestOfTheStream) {
  begin();
  watch(endpoints_kind, "c");
  opened();
  pass(15s);
  happened();
  receive(response(endpoints_kind, "v1", "n1"));
  pass(15s);
  EXPECT_THAT(happened(), IsEmpty());
}

TEST_F(AdsClient, TakesAnAnswerThatIsLateForATransientErrorIfTheServerSaysSo) {
  begin(server_json("plane:1", "\"resource_timer_is_transient_error\""));
  watch(endpoints_kind, "c");
  opened();
  happened();
  pass(15s);
  EXPECT_THAT(happened(), IsEmpty());
  pass(15s);
  EXPECT_THAT(happened(), ElementsAre("error 1"));
  EXPECT_THAT(last_error, HasSubstr("has not sent it within 30 s"));
  cache_state state{};
  client->visit([&](const resource_dump& d) { state = d.state; });
  EXPECT_EQ(state, cache_state::timeout);
}

TEST_F(AdsClient, StopsToWaitWhenAStreamBreaksAndWaitsAnewForWhatIsNotCached) {
  begin();
  watch(cluster_kind, "there");
  watch(cluster_kind, "missing");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("there")));
  pass(10s);
  ended();
  happened(), sent();
  pass(10s);
  EXPECT_THAT(happened(), IsEmpty());
  opened();
  EXPECT_EQ(client->deadline(), now + 15s);
  pass(15s);
  EXPECT_THAT(happened(),
              ElementsAre("error 2"));  // nothing of what is cached, though the plane has not sent it again
}

TEST_F(AdsClient, ReopensAStreamAtOnceThatHadAResponseAndLived) {
  begin();
  watch(cluster_kind, "c");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  pass(5s);
  happened(), sent();
  ended();
  EXPECT_THAT(happened(), ElementsAre("open 0"));  // and no error
  opened();
  const auto r = only_request();
  EXPECT_EQ(r.version_info(), "v1");  // of the same server
  EXPECT_EQ(r.response_nonce(), "");
  EXPECT_TRUE(r.has_node());
}

TEST_F(AdsClient, ReportsAStreamThatEndedWithoutAResponseOnce) {
  begin();
  watch(cluster_kind, "c");
  happened();
  opened();
  ended();
  EXPECT_THAT(happened(), ElementsAre("error 1"));
  EXPECT_EQ(last_error,
            "xDS resource Cluster \"c\": the control plane plane:1 cannot be reached: UNAVAILABLE: refused "
            "(node \"the node\")");
  pass(1s);
  EXPECT_THAT(happened(), ElementsAre("open 0"));
  ended();
  EXPECT_THAT(happened(), IsEmpty());
  watch(cluster_kind, "d");
  EXPECT_THAT(happened(), ElementsAre("error 2"));
  pass(1600ms);
  opened();
  happened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  EXPECT_THAT(happened(), ElementsAre("changed 1 c"));
  watch(cluster_kind, "e");
  EXPECT_THAT(happened(), IsEmpty());
}

TEST_F(AdsClient, KeepsWhatIsCachedWhileThePlaneIsUnreachable) {
  begin(server_json("plane:1", "\"fail_on_data_errors\""));
  watch(cluster_kind, "c");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  pass(5s);
  ended();
  happened();
  ended();
  EXPECT_THAT(happened(), ElementsAre("ambient 1"));
  watch(cluster_kind, "c");
  EXPECT_THAT(happened(), ElementsAre("changed 2 c", "ambient 2"));
  pass(1s);
  opened();
  happened();
  receive(response(endpoints_kind, "v1", "n1"));  // any response shows that it is reachable
  EXPECT_THAT(happened(), ElementsAre("ok 1", "ok 2"));
}

TEST_F(AdsClient, RetriesWithBackoffThatAResponseResets) {
  begin();
  watch(cluster_kind, "c");
  const auto delay = [&] {
    happened();
    ended();
    const duration d = client->deadline() - now;
    pass(d - 1ns);
    EXPECT_THAT(happened(), testing::Not(testing::Contains("open 0")));
    pass(1ns);
    EXPECT_THAT(happened(), ElementsAre("open 0"));
    return d;
  };
  EXPECT_EQ(delay(), 1s);
  EXPECT_EQ(delay(), 1600ms);
  EXPECT_EQ(delay(), 2560ms);
  random = 0;
  EXPECT_EQ(std::chrono::round<std::chrono::milliseconds>(delay()), 3277ms);  // 4.096 s less a fifth
  random = 1;
  EXPECT_EQ(std::chrono::round<std::chrono::milliseconds>(delay()), 7864ms);  // 6.5536 s and a fifth
  random = 0.5;
  for (int i = 0; i < 40; ++i) delay();
  EXPECT_EQ(delay(), 120s);
  opened();
  receive(response(cluster_kind, "v1", "n1"));
  pass(5s);
  ended();
  EXPECT_EQ(delay(), 1s);
}

// gRFC A57. What responds but is cut soon has a backoff of its own.
TEST_F(AdsClient, ForgetsEarlierFailuresWithAResponse) {
  begin();
  watch(cluster_kind, "c");
  for (int i = 0; i < 10; ++i) {
    ended();
    pass(client->deadline() - now);
  }
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  pass(1s);
  ended();
  EXPECT_EQ(client->deadline(), now + 1s);
  pass(1s);
  ended();
  EXPECT_EQ(client->deadline(), now + 1s);
}

// The stream that is closed has connected in the same turn.
TEST_F(AdsClient, DoesNotTakeAStreamThatItLeavesForTheNextOne) {
  begin();
  const int w = watch(cluster_kind, "c");
  happened();
  client->cancel(static_cast<watch_id>(w));
  client->watch(cluster_kind, "c");
  client->stream_opened(first, now);
  pass(0s);
  EXPECT_THAT(happened(), ElementsAre("close 0", "open 0"));
  EXPECT_THAT(sent(), IsEmpty());
  EXPECT_EQ(client->deadline(), never);
  opened();
  EXPECT_THAT(names(only_request()), ElementsAre("c"));
}

TEST_F(AdsClient, SubscribesAnewAfterAnUnsubscription) {
  begin();
  watch(listener_kind, "l");
  const int w = watch(cluster_kind, "c");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  cancel(w);
  happened();
  watch(cluster_kind, "c");
  EXPECT_THAT(happened(), IsEmpty());  // there is no copy
  EXPECT_EQ(client->deadline(), now + 15s);
}

TEST_F(AdsClient, KeepsAResourceWhoseUnsubscriptionHasNotBeenSent) {
  begin();
  watch(listener_kind, "l");
  const int w = watch(cluster_kind, "c");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  happened(), sent();
  client->cancel(static_cast<watch_id>(w));  // without taking the request
  watch(cluster_kind, "c");
  EXPECT_THAT(happened(), ElementsAre("changed 3 c"));
  EXPECT_THAT(names(only_request()), ElementsAre("c"));
}

// The control plane takes it for subscribed, and would not send it again.
TEST_F(AdsClient, UpdatesAResourceWhoseUnsubscriptionHasNotBeenSent) {
  begin();
  const int w = watch(cluster_kind, "c");
  watch(cluster_kind, "d");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c"), eds_cluster("d")));
  receive(response(cluster_kind, "v2", "n2", wire::Cluster()));
  receive(response(cluster_kind, "v2", "n3", wire::Cluster()));  // the next request waits for a second
  cancel(w);
  sent(), happened();
  const auto r = response(cluster_kind, "v3", "n4", eds_cluster("c", "another"), eds_cluster("d"));
  client->received(first, read_response(r, client->rules_of(first)), now);
  client->visit([&](const resource_dump& shown) { EXPECT_EQ(shown.version, "v3") << shown.name; });
  watch(cluster_kind, "c");  // before the next request is taken
  EXPECT_THAT(happened(), ElementsAre("changed 3 c"));
}

TEST_F(AdsClient, SendsNoEventsOfAWatchThatIsCancelled) {
  begin();
  const int w = watch(cluster_kind, "c");
  watch(cluster_kind, "c");
  opened();
  happened();
  client->received(first, read_response(response(cluster_kind, "v1", "n1", eds_cluster("c")), {}), now);
  cancel(w);
  EXPECT_THAT(happened(), ElementsAre("changed 2 c"));
  cancel(w);  // nothing
  cancel(99);
}

TEST_F(AdsClient, IgnoresResourcesThatNobodyWatches) {
  begin();
  watch(cluster_kind, "c");
  opened();
  happened(), sent();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("d")));
  EXPECT_THAT(happened(), IsEmpty());
  EXPECT_EQ(only_request().version_info(), "v1");
  wire::Cluster bad;
  bad.set_name("e");
  receive(response(cluster_kind, "v2", "n2", bad));
  const auto r = only_request();
  EXPECT_EQ(r.version_info(), "v2");
  EXPECT_FALSE(r.has_error_detail());
  int shown = 0;
  client->visit([&](const resource_dump&) { ++shown; });
  EXPECT_EQ(shown, 1);
}

TEST_F(AdsClient, LimitsSubscriptions) {
  begin();
  for (std::size_t i = 0; i < limits::subscriptions_max; ++i)
    (void)client->watch(cluster_kind, "c" + std::to_string(i));
  EXPECT_FALSE(client->next_event());
  watch(cluster_kind, "c0");
  EXPECT_EQ(happened(), std::vector<std::string>{"open 0"});
  const int w = watch(cluster_kind, "one too many");
  EXPECT_EQ(happened(), std::vector<std::string>{"error " + std::to_string(w)});
  EXPECT_THAT(last_error, HasSubstr("the limit of 10000 subscriptions is reached"));
  cancel(w);
}

TEST_F(AdsClient, ShowsWhatItKnows) {
  begin();
  watch(cluster_kind, "c");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  client->visit([&](const resource_dump& d) {
    EXPECT_EQ(d.kind, cluster_kind);
    EXPECT_EQ(d.name, "c");
    EXPECT_EQ(d.state, cache_state::acked);
    EXPECT_EQ(d.version, "v1");
    EXPECT_EQ(d.bytes, eds_cluster("c").SerializeAsString());
    EXPECT_TRUE(d.error.ok());
  });
  wire::Cluster bad = eds_cluster("c");
  bad.set_type(0);
  receive(response(cluster_kind, "v2", "n2", bad));
  client->visit([&](const resource_dump& d) {
    EXPECT_EQ(d.state, cache_state::nacked);
    EXPECT_EQ(d.version, "v1");
    EXPECT_FALSE(d.error.ok());
  });
}

// --- Several servers (gRFC A71)

class AdsFallback : public AdsClient {
 protected:
  void begin_with_two(const std::string& more = "") {
    server_count = 2;
    begin(server_json("plane:1") + "," + server_json("plane:2"), more);
  }
};

TEST_F(AdsFallback, UsesTheNextServerWhenOneIsUnreachableAndSomethingIsMissing) {
  begin_with_two();
  watch(cluster_kind, "c");
  EXPECT_THAT(happened(), ElementsAre("open 0"));
  ended(first);
  EXPECT_THAT(happened(), ElementsAre("open 1"));  // and no error yet
  opened(second);
  EXPECT_THAT(names(only_request()), ElementsAre("c"));
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")), second);
  EXPECT_THAT(happened(), ElementsAre("changed 1 c"));
  pass(1s);
  EXPECT_THAT(happened(), ElementsAre("open 0"));  // the better one is tried again
}

TEST_F(AdsFallback, StaysWhereItIsWhileEverythingIsCached) {
  begin_with_two();
  watch(cluster_kind, "c");
  opened(first);
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  ended(first);
  happened();
  ended(first);
  EXPECT_THAT(happened(), IsEmpty());
  watch(cluster_kind, "d");  // which is not cached
  EXPECT_THAT(happened(), ElementsAre("open 1"));
  sent();
  opened(second);
  const auto r = only_request();
  EXPECT_THAT(names(r), ElementsAre("c", "d"));
  EXPECT_EQ(r.version_info(), "");  // that of the other server is not carried over
}

TEST_F(AdsFallback, StaysWhereItIsIfWhatIsMissingIsKnownNotToExist) {
  begin_with_two();
  watch(cluster_kind, "c");
  watch(cluster_kind, "d");
  opened(first);
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  pass(15s);
  EXPECT_THAT(last_error, HasSubstr("it does not exist"));
  ended(first);
  happened();
  ended(first);
  EXPECT_THAT(happened(), IsEmpty());
}

TEST_F(AdsFallback, KeepsTheFallbacksResourcesWhenTheBetterServerReturnsWithoutThem) {
  server_count = 2;
  begin(server_json("plane:1", "\"fail_on_data_errors\"") + "," + server_json("plane:2"));
  watch(cluster_kind, "c");
  ended(first);
  opened(second);
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c", "fallback")), second);
  pass(1s);
  opened(first);
  happened(), sent();
  wire::Cluster bad = eds_cluster("c");
  bad.set_type(0);
  receive(response(cluster_kind, "v2", "n1", bad));
  EXPECT_THAT(only_request().error_detail().message(), HasSubstr("Cluster \"c\""));
  receive(with_error(response(cluster_kind, "v2", "n2"), "c", 5));
  EXPECT_THAT(happened(), IsEmpty());
  receive(response(cluster_kind, "v3", "n3", eds_cluster("c", "better")));
  EXPECT_THAT(happened(), ElementsAre("close 1", "changed 1 c"));
}

TEST_F(AdsFallback, ReturnsToTheBetterServerWithItsFirstResource) {
  begin_with_two();
  watch(cluster_kind, "c");
  ended(first);
  opened(second);
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c", "fallback")), second);
  pass(1s);
  opened(first);
  happened();
  receive(response(endpoints_kind, "v1", "n0"));  // of no type that was asked for
  receive(response(cluster_kind, "v1", "n1", wire::Cluster()));  // nor a resource
  EXPECT_THAT(happened(), IsEmpty());
  receive(response(cluster_kind, "v2", "n2", eds_cluster("c", "better")));
  EXPECT_THAT(happened(), ElementsAre("close 1", "changed 1 c"));
}

TEST_F(AdsFallback, ReportsFailureWhenAllServersHaveFailed) {
  begin_with_two();
  watch(cluster_kind, "c");
  ended(first);
  happened();
  ended(second, status::unavailable("down"));
  EXPECT_THAT(happened(), ElementsAre("error 1"));
  EXPECT_THAT(last_error, HasSubstr("plane:2 cannot be reached: UNAVAILABLE: down"));
}

TEST_F(AdsFallback, MayDependOnReachabilityAlone) {
  server_count = 2;
  begin(server_json("old:1"), R"(,"authorities":{"a":{"fallback_on_reachability_only":true,"xds_servers":[)" +
                                  server_json("old:1") + "," + server_json("plane:2") + "]}}");
  const std::string name = "xdstp://a/envoy.config.cluster.v3.Cluster/c";
  watch(cluster_kind, name);
  opened(first);
  receive(response(cluster_kind, "v1", "n1", eds_cluster(name, "s")));
  ended(first);
  happened();
  ended(first);
  EXPECT_THAT(happened(), ElementsAre("open 1"));
}

TEST_F(AdsFallback, OpensASecondStreamOfAServerAfterItWasLeft) {
  begin_with_two();
  watch(cluster_kind, "c");
  ended(first);
  opened(second);
  pass(1s);
  opened(first);
  receive(response(cluster_kind, "v2", "n2", eds_cluster("c")));
  pass(5s);
  happened(), sent();
  ended(first);
  ended(first);
  watch(cluster_kind, "d");
  EXPECT_THAT(happened(), ElementsAre("open 0", "open 1"));
  opened(second);
  EXPECT_TRUE(only_request().has_node());
}

// --- Authorities (gRFC A47)

TEST_F(AdsClient, AsksTheServersOfTheAuthorityOfAName) {
  server_count = 2;
  begin(server_json("old:1"), R"(,"authorities":{"a":{"xds_servers":[)" + server_json("plane:2") + "]}}");
  watch(cluster_kind, "c");
  EXPECT_THAT(happened(), ElementsAre("open 0"));
  watch(cluster_kind, "xdstp://a/envoy.config.cluster.v3.Cluster/c?z=1&b=2");
  EXPECT_THAT(happened(), ElementsAre("open 1"));
  opened(second);
  const std::string canonical = "xdstp://a/envoy.config.cluster.v3.Cluster/c?b=2&z=1";
  EXPECT_THAT(names(only_request()), ElementsAre(canonical));
  happened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")), second);  // not of this server
  EXPECT_THAT(happened(), IsEmpty());
  const std::string other_order = "xdstp://a/envoy.config.cluster.v3.Cluster/c?z=1&b=2";
  receive(response(cluster_kind, "v2", "n2", eds_cluster(other_order, "s")), second);
  EXPECT_THAT(happened(), ElementsAre("changed 2 " + other_order));
}

TEST_F(AdsClient, SharesTheStreamOfAServerBetweenAuthorities) {
  begin(server_json("plane:1"), R"(,"authorities":{"a":{}})");
  watch(cluster_kind, "c");
  const int w = watch(cluster_kind, "xdstp://a/envoy.config.cluster.v3.Cluster/c");
  EXPECT_THAT(happened(), ElementsAre("open 0"));
  opened();
  EXPECT_EQ(only_request().resource_names_size(), 2);
  cancel(w);
  EXPECT_THAT(happened(), IsEmpty());
  EXPECT_EQ(only_request().resource_names_size(), 1);
}

TEST_F(AdsClient, RefusesNamesOfAuthoritiesAndTypesThatItDoesNotKnow) {
  begin();
  const int w = watch(cluster_kind, "xdstp://a/envoy.config.cluster.v3.Cluster/c");
  EXPECT_THAT(last_error, HasSubstr("the bootstrap has no authority \"a\""));
  watch(cluster_kind, "xdstp://a/envoy.config.listener.v3.Listener/c");
  EXPECT_THAT(last_error, HasSubstr("the name is not valid for its type"));
  EXPECT_THAT(happened(), ElementsAre("error 1", "error 2"));
  cancel(w);
}

TEST_F(AdsClient, OpensAStreamThatIsCutSoonWithABackoffThatGrows) {
  begin();
  watch(cluster_kind, "c");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  happened();
  for (const duration wait : {duration(1s), duration(1600ms), duration(2560ms)}) {
    ended();
    EXPECT_THAT(happened(), IsEmpty());  // and no error
    EXPECT_EQ(client->deadline(), now + wait);
    pass(wait);
    EXPECT_THAT(happened(), ElementsAre("open 0"));
    opened();
    receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
    pass(4999ms);
  }
  pass(1ms);
  happened();
  ended();
  EXPECT_THAT(happened(), ElementsAre("open 0"));
}

TEST_F(AdsClient, ReportsAResponseThatIsTooLargeWhileTheResourceStays) {
  begin();
  watch(cluster_kind, "c");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  happened();
  ended(first, status::resource_exhausted("a message of 70 MiB"));
  EXPECT_THAT(happened(), ElementsAre("ambient 1"));
  EXPECT_THAT(last_error, HasSubstr("a message of 70 MiB"));
  pass(1s);
  opened();
  happened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  EXPECT_THAT(happened(), ElementsAre("ok 1"));
}

TEST_F(AdsClient, DeletesNothingByOmissionBesideAResourceWithoutAName) {
  begin();
  watch(cluster_kind, "c");
  opened();
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  happened();
  receive(response(cluster_kind, "v2", "n2", wire::Cluster()));
  EXPECT_THAT(happened(), IsEmpty());
  receive(response(cluster_kind, "v3", "n3"));
  EXPECT_THAT(happened(), ElementsAre("ambient 1"));
  EXPECT_THAT(last_error, HasSubstr("has deleted it"));
}

TEST_F(AdsClient, DoesNotReadResourcesThatNobodyWatches) {
  begin();
  watch(cluster_kind, "c");
  opened();
  sent();
  wire::Cluster bad = eds_cluster("d");
  bad.set_type(0);
  const auto r = response(cluster_kind, "v1", "n1", bad, eds_cluster("c"));
  EXPECT_EQ(read_response(r, client->rules_of(first)).resources.size(), 1u);
  receive(r);
  EXPECT_FALSE(only_request().has_error_detail());
  watch(cluster_kind, "d");
  sent();
  receive(r);
  EXPECT_THAT(only_request().error_detail().message(), HasSubstr("Cluster \"d\""));
}

TEST_F(AdsClient, BoundsTheBytesThatItKeeps) {
  begin();
  constexpr std::size_t size = limits::resource_bytes_max - 100;
  constexpr std::size_t fitting = limits::cache_bytes_max / size;
  const auto large = [&](std::size_t i) {
    wire::ClusterLoadAssignment a;
    a.set_cluster_name(std::to_string(i));
    wire::ClusterLoadAssignment before;
    before.set_cluster_name(std::string(size, 'x'));  // of two names, the last one holds
    wire::DiscoveryResponse r = response(endpoints_kind, "v1", "n", before);
    r.mutable_resources(0)->mutable_value()->append(a.SerializeAsString());
    return r;
  };
  std::vector<int> watches;
  for (std::size_t i = 0; i <= fitting; ++i) watches.push_back(watch(endpoints_kind, std::to_string(i)));
  opened();
  for (std::size_t i = 0; i < fitting; ++i) receive(large(i));
  EXPECT_EQ(happened().size(), 1 + fitting);
  sent();
  receive(large(fitting));
  EXPECT_THAT(happened(), ElementsAre("error " + std::to_string(watches.back())));
  EXPECT_THAT(only_request().error_detail().message(), HasSubstr("exceed what this client keeps of all"));
  receive(large(0));  // in place of itself
  EXPECT_FALSE(sent().at(0).has_error_detail());
  cancel(watches.front());
  receive(large(fitting));
  EXPECT_THAT(happened(),
              ElementsAre("changed " + std::to_string(watches.back()) + " " + std::to_string(fitting)));
}

TEST_F(AdsClient, BoundsTheRegularExpressionsOfAResponseAndOfAllThatItKeeps) {
  begin();
  const auto many = [](const std::string& name) {
    wire::RouteConfiguration r = routes_to(name, "c");
    for (std::size_t i = 0; i < limits::regexes_per_resource_max; ++i) {
      auto* const header = r.mutable_virtual_hosts(0)->mutable_routes(0)->mutable_match()->add_headers();
      header->set_name("h");
      header->mutable_safe_regex_match()->set_regex("a");
    }
    return r;
  };
  const int a = watch(routes_kind, "a");
  watch(routes_kind, "b");
  const int c = watch(routes_kind, "c");
  opened();
  happened(), sent();
  receive(response(routes_kind, "v1", "n1", many("a"), many("b"), many("c")));
  EXPECT_THAT(happened(), ElementsAre("changed 1 a", "changed 2 b", "error 3"));
  EXPECT_THAT(only_request().error_detail().message(),
              HasSubstr("exceeds 2048 regular expressions in a response"));
  receive(response(routes_kind, "v2", "n2", many("c")));
  EXPECT_THAT(last_error, HasSubstr("its 1024 regular expressions exceed what this client keeps"));
  happened();
  cancel(a);
  pass(1s);  // after which the control plane knows
  receive(response(routes_kind, "v3", "n3", many("c")));
  EXPECT_THAT(happened(), ElementsAre("changed " + std::to_string(c) + " c"));
}

TEST_F(AdsClient, NotesEachChangeOfStateOnce) {
  server_count = 2;
  begin(server_json("first:1") + "," + server_json("second:1"));
  watch(cluster_kind, "c");
  ended(first, status::unavailable("refused\n"));
  EXPECT_THAT(std::exchange(notes, {}),
              ElementsAre("xDS: the control plane first:1 cannot be reached: UNAVAILABLE: refused?",
                          "xDS: the control plane second:1 is used in place of the control plane first:1"));
  ended(first);
  EXPECT_THAT(notes, IsEmpty());
  opened(second);
  wire::Cluster bad = eds_cluster("c");
  bad.set_type(0);
  receive(response(cluster_kind, "v1", "n1", bad), second);
  receive(response(cluster_kind, "v1", "n1", bad), second);
  EXPECT_THAT(
      std::exchange(notes, {}),
      ElementsAre(
          "xDS: the control plane second:1 answers",
          "xDS: rejects envoy.config.cluster.v3.Cluster of the control plane second:1: Cluster \"c\": "
          "type is an unsupported cluster type: 0"));
  receive(response(cluster_kind, "v2", "n1", eds_cluster("c")), second);
  EXPECT_THAT(
      std::exchange(notes, {}),
      ElementsAre("xDS: accepts envoy.config.cluster.v3.Cluster of the control plane second:1 again"));
  pass(10s);
  opened(first);
  receive(response(cluster_kind, "v1", "n1", eds_cluster("c")));
  EXPECT_THAT(std::exchange(notes, {}), ElementsAre("xDS: the control plane first:1 answers",
                                                    "xDS: the control plane first:1 is used again"));
  ended(first, status());
  EXPECT_THAT(notes, ElementsAre("xDS: the control plane first:1: the stream ended: OK"));
}

}  // namespace
}  // namespace coracle::xds::ads_client_test
