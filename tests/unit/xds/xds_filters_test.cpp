// The HTTP filters that a control plane configures: how they are read, and what becomes of calls.
#include "coracle/xds/xds_filter.hpp"

#include "coracle/base/impl/base64.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/server/server_context.hpp"
#include "coracle/xds/xds_server.hpp"
#include "unit/xds/inbound_builders.hpp"
#include "unit/xds/xds_channel.hpp"
#include "xds/balancing/calls_in_progress.hpp"
#include "xds/limits.hpp"
#include "xds/wire/balancing.pb.h"
#include "xds/wire/cluster.pb.h"
#include "xds/wire/http_filters.pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::xds::xds_filters_test {
namespace {

using namespace testing_resources;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view fault_type = "envoy.extensions.filters.http.fault.v3.HTTPFault";
constexpr std::string_view session_type = "envoy.extensions.filters.http.stateful_session.v3.StatefulSession";
constexpr std::string_view session_override_type =
    "envoy.extensions.filters.http.stateful_session.v3.StatefulSessionPerRoute";
constexpr std::string_view cookie_type =
    "envoy.extensions.http.stateful_session.cookie.v3.CookieBasedSessionState";

// The filter before the router.
template <class Message>
void insert_filter(wire::HttpConnectionManager& m, const std::string& name, std::string_view type,
                   const Message& config) {
  wire::HttpFilter added;
  added.set_name(name);
  *added.mutable_typed_config() = packed(type, config);
  auto& all = *m.mutable_http_filters();
  *all.Add() = added;
  for (int i = all.size() - 1; i > 0; --i) all.SwapElements(i, i - 1);
}

wire::StatefulSession session_by(const std::string& cookie) {
  wire::CookieBasedSessionState state;
  state.mutable_cookie()->set_name(cookie);
  wire::StatefulSession s;
  s.mutable_session_state()->set_name("state");
  *s.mutable_session_state()->mutable_typed_config() = packed(cookie_type, state);
  return s;
}

wire::FractionalPercent percent(std::uint32_t n) {
  wire::FractionalPercent p;
  p.set_numerator(n);
  return p;
}

wire::HttpFault aborting(std::uint32_t code, std::uint32_t share = 100) {
  wire::HttpFault f;
  f.mutable_abort()->set_grpc_status(code);
  *f.mutable_abort()->mutable_percentage() = percent(share);
  return f;
}

// --- reading

template <class Message>
std::string refusal_of(std::string_view type, const Message& config, bool serves = false) {
  wire::HttpConnectionManager m = manager_of_rds("r");
  insert_filter(m, "f", type, config);
  resource_rules rules;
  const auto read = parse_listener(listener_with("l", m).SerializeAsString(), rules);
  if (!serves) return std::string(read.status().message());
  rules.serves = true;
  wire::Listener of_server = inbound_listener_at("127.0.0.1", 1);
  set_manager(*of_server.mutable_filter_chains(0), m);
  return std::string(parse_listener(of_server.SerializeAsString(), rules).status().message());
}

TEST(XdsFilters, FaultsWithCodesThatDoNotExistAreInvalid) {
  EXPECT_EQ(refusal_of(fault_type, aborting(16)), "");
  EXPECT_THAT(refusal_of(fault_type, aborting(17)),
              HasSubstr("http_filters[0].typed_config.abort.grpc_status must be at most 16"));
  wire::HttpFault f;
  for (const auto& [code, valid] : {std::pair(199u, false), {200u, true}, {599u, true}, {600u, false}}) {
    f.mutable_abort()->set_http_status(code);
    EXPECT_EQ(refusal_of(fault_type, f).empty(), valid) << code;
  }
  f.clear_abort();
  f.mutable_delay()->mutable_fixed_delay()->set_seconds(-1);
  EXPECT_THAT(refusal_of(fault_type, f), HasSubstr("delay.fixed_delay must not be negative"));
  f.clear_delay();
  f.mutable_delay()->mutable_percentage()->set_denominator(3);
  f.mutable_delay()->mutable_header_delay();
  EXPECT_THAT(refusal_of(fault_type, f), HasSubstr("delay.percentage has an unknown denominator"));
}

TEST(XdsFilters, AreOfOneSideOrTheOther) {
  EXPECT_THAT(refusal_of(fault_type, aborting(1), true), HasSubstr("which is not supported"));
  EXPECT_THAT(refusal_of(session_type, session_by("c"), true), HasSubstr("which is not supported"));
}

TEST(XdsFilters, SessionsNeedACookie) {
  EXPECT_EQ(refusal_of(session_type, session_by("c")), "");
  EXPECT_EQ(refusal_of(session_type, wire::StatefulSession()), "");  // no sessions
  EXPECT_THAT(refusal_of(session_type, session_by("")), HasSubstr("cookie.name must not be empty"));
  wire::StatefulSession s = session_by("c");
  s.mutable_session_state()->mutable_typed_config()->set_type_url("t/other.State");
  EXPECT_THAT(refusal_of(session_type, s), HasSubstr("is of the type other.State, which is not supported"));
  wire::CookieBasedSessionState state;
  state.mutable_cookie()->set_name("c");
  state.mutable_cookie()->mutable_ttl()->set_seconds(-1);
  *s.mutable_session_state()->mutable_typed_config() = packed(cookie_type, state);
  EXPECT_THAT(refusal_of(session_type, s), HasSubstr("cookie.ttl must not be negative"));
}

TEST(XdsFilters, AreLimited) {
  wire::HttpConnectionManager m = manager_of_rds("r");
  for (std::size_t i = 0; i + 1 < limits::filters_max; ++i)
    insert_filter(m, std::to_string(i), fault_type, aborting(1));
  const auto refusal = [&m] {
    return std::string(
        parse_listener(listener_with("l", m).SerializeAsString(), resource_rules()).status().message());
  };
  EXPECT_EQ(refusal(), "");
  insert_filter(m, "one more", fault_type, aborting(1));
  EXPECT_THAT(refusal(), HasSubstr("http_filters has more than 64 filters"));
  m = manager_of_rds("r");
  m.mutable_http_filters(0)->mutable_typed_config()->set_value(
      std::string(limits::filter_config_bytes_max + 1, '\0'));
  EXPECT_THAT(refusal(), HasSubstr("http_filters[0].typed_config has more than 1048576 bytes"));
  wire::RouteConfiguration r = routes_to("r", "c");
  auto& overrides = *r.mutable_virtual_hosts(0)->mutable_typed_per_filter_config();
  for (std::size_t i = 0; i <= limits::filters_max; ++i)
    overrides[std::to_string(i)] = packed(fault_type, aborting(1));
  EXPECT_THAT(std::string(parse_route_configuration(r.SerializeAsString(), {}).status().message()),
              HasSubstr("typed_per_filter_config has more than 64 overrides"));
  EXPECT_EQ(refusal_of(session_type, session_by(std::string(limits::cookie_name_bytes_max, 'c'))), "");
  EXPECT_THAT(refusal_of(session_type, session_by(std::string(limits::cookie_name_bytes_max + 1, 'c'))),
              HasSubstr("cookie.name must be a token of at most 256 bytes"));
  EXPECT_THAT(refusal_of(session_type, session_by("a b")), HasSubstr("cookie.name must be a token"));
  const auto with_path = [](const std::string& path) {
    wire::CookieBasedSessionState state;
    state.mutable_cookie()->set_name("c");
    state.mutable_cookie()->set_path(path);
    wire::StatefulSession s = session_by("c");
    *s.mutable_session_state()->mutable_typed_config() = packed(cookie_type, state);
    return s;
  };
  EXPECT_EQ(refusal_of(session_type, with_path(std::string(limits::cookie_path_bytes_max, '/'))), "");
  EXPECT_THAT(refusal_of(session_type, with_path(std::string(limits::cookie_path_bytes_max + 1, '/'))),
              HasSubstr("cookie.path must be printable"));
  EXPECT_THAT(refusal_of(session_type, with_path("/;Domain=x")), HasSubstr("cookie.path must be printable"));
}

TEST(XdsFilters, AMessageIsNotReadFromATypedStruct) {
  wire::TypedStruct inner;
  inner.set_type_url("type.googleapis.com/" + std::string(fault_type));
  EXPECT_THAT(refusal_of("xds.type.v3.TypedStruct", inner), HasSubstr("is a TypedStruct"));
}

TEST(XdsFilters, OverridesAreReadWithTheirRoutes) {
  wire::RouteConfiguration r = routes_to("r", "c");
  auto& overrides = *r.mutable_virtual_hosts(0)->mutable_typed_per_filter_config();
  const auto refusal = [&r] {
    return std::string(parse_route_configuration(r.SerializeAsString(), {}).status().message());
  };
  overrides["f"] = packed(fault_type, aborting(1));
  EXPECT_EQ(refusal(), "");
  overrides["f"] = packed(fault_type, aborting(17));
  EXPECT_THAT(refusal(), HasSubstr("abort.grpc_status must be at most 16"));
  overrides["f"] = packed(session_type, session_by("c"));  // its overrides are of another type
  EXPECT_THAT(refusal(), HasSubstr("which is not supported and not optional"));
  overrides["f"] = packed(router_type, wire::Router());
  EXPECT_THAT(refusal(), HasSubstr("overrides the router"));
}

// --- calls

class XdsFilteredCalls : public XdsChannel {
 public:
  template <class Message>
  void offer_filter(std::string_view type, const Message& config) {
    wire::HttpConnectionManager m = manager_of_rds("r");
    insert_filter(m, "f", type, config);
    plane_.offer(resource_kind::listener, "target", listener_with("target", m));
  }
  // The time that a call takes, with its answer.
  struct timed {
    std::string answer;
    duration took;
  };
  static task<timed> ask_timed(const generic_stub& by, call_options options = {}) {
    const time_point begin = loop::current()->now();
    std::string answer = co_await ask(by, std::move(options));
    co_return timed{std::move(answer), loop::current()->now() - begin};
  }
};

TEST_F(XdsFilteredCalls, AShareOfThemFails) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  offer_filter(fault_type, aborting(static_cast<std::uint32_t>(status_code::aborted), 25));
  struct steps {
    static task<> all(generic_stub by, XdsFilteredCalls& t) {
      counts answers = co_await ask_often(by, 1000);
      EXPECT_NEAR(answers["ABORTED: RPC terminated due to fault injection"], 250, 60);
      EXPECT_EQ(answers["0"], t.backends_[0]->calls);
      EXPECT_EQ(answers.size(), 2u);
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsFilteredCalls, AnHttpStatusIsMappedToACode) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  wire::HttpFault f;
  *f.mutable_abort()->mutable_percentage() = percent(100);
  struct steps {
    static task<> all(generic_stub by, XdsFilteredCalls& t, wire::HttpFault f) {
      for (const auto& [http, code] : {std::pair(200u, "UNKNOWN"),
                                       {401u, "UNAUTHENTICATED"},
                                       {404u, "UNIMPLEMENTED"},
                                       {503u, "UNAVAILABLE"},
                                       {418u, "UNKNOWN"}}) {
        f.mutable_abort()->set_http_status(http);
        t.offer_filter(fault_type, f);
        co_await sleep_for(1s);
        const std::string answer = co_await ask(by);
        EXPECT_EQ(answer, std::string(code) + ": RPC terminated due to fault injection");
      }
    }
  };
  play(steps::all(stub(), *this, f));
}

TEST_F(XdsFilteredCalls, AreDelayedWithinTheirDeadline) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  wire::HttpFault f;
  f.mutable_delay()->mutable_fixed_delay()->set_seconds(2);
  *f.mutable_delay()->mutable_percentage() = percent(100);
  offer_filter(fault_type, f);
  struct steps {
    static task<> all(generic_stub by, XdsFilteredCalls& t) {
      (void)co_await ask(by);
      const timed whole = co_await ask_timed(by);
      EXPECT_EQ(whole.answer, "0");
      EXPECT_GE(whole.took, 2s);
      EXPECT_LT(whole.took, 3s);
      call_options brief;
      brief.timeout = 1s;
      const timed late = co_await ask_timed(by, brief);
      EXPECT_THAT(late.answer, HasSubstr("DEADLINE_EXCEEDED"));
      EXPECT_LT(late.took, 2s);
      EXPECT_EQ(t.backends_[0]->calls, 2);
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsFilteredCalls, TheirCallersMayNameTheFault) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  wire::HttpFault f;
  f.mutable_abort()->mutable_header_abort();
  *f.mutable_abort()->mutable_percentage() = percent(100);
  f.mutable_delay()->mutable_header_delay();
  *f.mutable_delay()->mutable_percentage() = percent(100);
  offer_filter(fault_type, f);
  struct steps {
    static task<> all(generic_stub by) {
      const std::string plain = co_await ask(by);
      EXPECT_EQ(plain, "0");
      const std::string named = co_await ask(by, with("x-envoy-fault-abort-grpc-request", "5"));
      EXPECT_THAT(named, HasSubstr("NOT_FOUND"));
      const std::string http = co_await ask(by, with("x-envoy-fault-abort-request", "503"));
      EXPECT_THAT(http, HasSubstr("UNAVAILABLE"));
      for (const char* odd : {"17", "-1", "x", "5x", ""}) {
        const std::string passed = co_await ask(by, with("x-envoy-fault-abort-grpc-request", odd));
        EXPECT_EQ(passed, "0") << odd;
      }
      call_options none = with("x-envoy-fault-abort-grpc-request", "5");
      none.metadata.add("x-envoy-fault-abort-request-percentage", "0");
      const std::string spared = co_await ask(by, none);
      EXPECT_EQ(spared, "0");
      const timed slow = co_await ask_timed(by, with("x-envoy-fault-delay-request", "1500"));
      EXPECT_EQ(slow.answer, "0");
      EXPECT_GE(slow.took, 1500ms);
    }
  };
  play(steps::all(stub()));
}

TEST_F(XdsFilteredCalls, NoMoreAreDelayedThanMayBe) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}});
  wire::HttpFault f;
  f.mutable_delay()->mutable_fixed_delay()->set_seconds(5);
  *f.mutable_delay()->mutable_percentage() = percent(100);
  f.mutable_max_active_faults()->set_value(2);
  offer_filter(fault_type, f);
  struct steps {
    static task<> measure(const generic_stub& by, int& delayed) {
      const timed one = co_await ask_timed(by);
      EXPECT_EQ(one.answer, "0");
      delayed += one.took >= 5s;
    }
    static task<> all(generic_stub by) {
      (void)co_await ask(by);
      for (int round = 0; round < 2; ++round) {  // those that are over count no more
        int delayed = 0;
        scope callers{co_await coro::this_environment()};
        for (int i = 0; i < 10; ++i) callers.spawn(measure(by, delayed));
        co_await callers.join();
        EXPECT_EQ(delayed, 2);
      }
    }
  };
  play(steps::all(stub()));
}

TEST_F(XdsFilteredCalls, TheMostSpecificOverrideApplies) {
  wire::RouteConfiguration r = routes([](wire::VirtualHost& h) {
    (*h.mutable_typed_per_filter_config())["f"] = packed(fault_type, aborting(2));
    (*add_route(h, "a", "/of.Route")->mutable_typed_per_filter_config())["f"] =
        packed(fault_type, aborting(3));
    auto* const split = add_route(h, "", "/of.Cluster");
    (*split->mutable_typed_per_filter_config())["f"] = packed(fault_type, aborting(4));
    auto* const c = split->mutable_route()->mutable_weighted_clusters()->add_clusters();
    c->set_name("a");
    c->mutable_weight()->set_value(1);
    (*c->mutable_typed_per_filter_config())["f"] = packed(fault_type, wire::HttpFault());
    add_route(h, "a");
  });
  offer_filter(fault_type, aborting(1));
  plane_.offer(resource_kind::route_configuration, "r", r);
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> all(generic_stub by) {
      const std::string of_host = co_await ask(by, {}, "/any.Any/Ask");
      EXPECT_THAT(of_host, HasSubstr("UNKNOWN"));
      const std::string of_route = co_await ask(by, {}, "/of.Route/Ask");
      EXPECT_THAT(of_route, HasSubstr("INVALID_ARGUMENT"));
      const std::string of_cluster = co_await ask(by, {}, "/of.Cluster/Ask");
      EXPECT_EQ(of_cluster, "0");
    }
  };
  play(steps::all(stub()));
}

// --- sessions

// The answer with the cookie that came with it.
struct session_answer {
  std::string by;
  std::string cookie;  // what a browser would send back; empty: none was set
  std::string attributes;
};

task<session_answer> ask_in_session(const generic_stub& by, const std::string& cookie,
                                    const char* path = "/where.Where/Ask") {
  const bytes_message nothing;
  call_options options;
  if (!cookie.empty()) options.metadata.add("cookie", "other=1; " + cookie);
  auto call = by.unary(path, nothing, options);
  const auto reply = co_await call;
  session_answer to;
  to.by = reply ? std::string(reply->bytes()) : reply.status().to_string();
  const auto set = call.initial_metadata().find("set-cookie");
  if (set) {
    const auto end = set->find(';');
    to.cookie = set->substr(0, end);
    if (end != set->npos) to.attributes = set->substr(end);
  }
  co_return to;
}

TEST_F(XdsFilteredCalls, OfASessionStayOnItsServer) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}, {port(1)}, {port(2)}});
  wire::CookieBasedSessionState state;
  state.mutable_cookie()->set_name("home");
  state.mutable_cookie()->mutable_ttl()->set_seconds(60);
  state.mutable_cookie()->set_path("/where.Where");
  wire::StatefulSession s = session_by("home");
  *s.mutable_session_state()->mutable_typed_config() = packed(cookie_type, state);
  offer_filter(session_type, s);
  struct steps {
    static task<> all(generic_stub by, XdsFilteredCalls& t) {
      const session_answer first = co_await ask_in_session(by, "");
      EXPECT_EQ(first.attributes, "; HttpOnly; Path=/where.Where; Max-Age=60");
      EXPECT_THAT(first.cookie, testing::StartsWith("home="));
      co_await sleep_for(1s);  // all servers are connected to
      for (int i = 0; i < 20; ++i) {
        const session_answer again = co_await ask_in_session(by, first.cookie);
        EXPECT_EQ(again.by, first.by);
        EXPECT_EQ(again.cookie, "");
      }
      const session_answer elsewhere = co_await ask_in_session(by, "", "/what.What/Ask");
      EXPECT_EQ(elsewhere.cookie, "");
      const session_answer confused = co_await ask_in_session(by, "home=???");
      EXPECT_THAT(confused.cookie, testing::StartsWith("home="));
      // The server goes: another one takes the session over.
      const auto home = static_cast<std::size_t>(first.by[0] - '0');
      co_await t.backends_[home]->stop();
      co_await sleep_for(1s);
      const session_answer moved = co_await ask_in_session(by, first.cookie);
      EXPECT_EQ(moved.by.size(), 1u);  // a server's name
      EXPECT_NE(moved.by, first.by);
      EXPECT_THAT(moved.cookie, testing::StartsWith("home="));
      EXPECT_NE(moved.cookie, first.cookie);
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsFilteredCalls, OfASessionMayReachADrainingServer) {
  offer_route_to("a");
  wire::Cluster c = eds_cluster("a");
  auto a = assignment("a", {{port(0)}, {port(1)}});
  a.mutable_endpoints(1)->mutable_lb_endpoints(0)->set_health_status(3);  // DRAINING
  offer_cluster(c, a);
  offer_filter(session_type, session_by("home"));
  struct steps {
    static task<> all(generic_stub by, XdsFilteredCalls& t, wire::Cluster c, wire::ClusterLoadAssignment a) {
      const std::string cookie =
          "home=" + base::padded_base64("127.0.0.1:" + std::to_string(t.port(1)) + ";cluster:a");
      const session_answer not_allowed = co_await ask_in_session(by, cookie);
      EXPECT_EQ(not_allowed.by, "0");
      for (const int s : {0, 1, 3})
        c.mutable_common_lb_config()->mutable_override_host_status()->add_statuses(s);
      t.offer_cluster(c, a);
      co_await sleep_for(1s);
      for (int i = 0; i < 3; ++i) {
        const session_answer stays = co_await ask_in_session(by, cookie);
        EXPECT_EQ(stays.by, "1");
        EXPECT_EQ(stays.cookie, "");
      }
      const session_answer other = co_await ask_in_session(by, "");
      EXPECT_EQ(other.by, "0");
      // It is gone now.
      t.offer_cluster(c, assignment("a", {{t.port(0)}}));
      co_await sleep_for(1s);
      const session_answer moved = co_await ask_in_session(by, cookie);
      EXPECT_EQ(moved.by, "0");
      EXPECT_THAT(moved.cookie, testing::StartsWith("home="));
      // A cluster may allow no endpoint with the health that these have.
      c.mutable_common_lb_config()->mutable_override_host_status()->clear_statuses();
      t.offer_cluster(c, assignment("a", {{t.port(0)}, {t.port(1)}}));
      co_await sleep_for(1s);
      counts by_server;
      for (int i = 0; i < 20; ++i) {
        const session_answer any = co_await ask_in_session(by, cookie);
        ++by_server[any.by];
      }
      EXPECT_GT(by_server["0"], 0);
      EXPECT_GT(by_server["1"], 0);
    }
  };
  play(steps::all(stub(), *this, c, a));
}

// gRFC A55: its connection outlives the change, also if it accepts no other one.
TEST_F(XdsFilteredCalls, OfASessionKeepTheConnectionOfAServerThatDrains) {
  offer_route_to("a");
  wire::Cluster c = eds_cluster("a");
  for (const int s : {0, 1, 3}) c.mutable_common_lb_config()->mutable_override_host_status()->add_statuses(s);
  auto a = assignment("a", {{port(0)}, {port(1)}});
  offer_cluster(c, a);
  offer_filter(session_type, session_by("home"));
  struct steps {
    static task<> all(generic_stub by, XdsFilteredCalls& t, wire::Cluster c, wire::ClusterLoadAssignment a) {
      (void)co_await ask(by);
      co_await sleep_for(1s);
      const std::string cookie =
          "home=" + base::padded_base64("127.0.0.1:" + std::to_string(t.port(1)) + ";cluster:a");
      const session_answer first = co_await ask_in_session(by, cookie);
      EXPECT_EQ(first.by, "1");
      const auto connections = t.backends_[1]->connections;
      a.mutable_endpoints(1)->mutable_lb_endpoints(0)->set_health_status(3);  // DRAINING
      t.offer_cluster(c, a);
      co_await sleep_for(1s);
      for (int i = 0; i < 3; ++i) {
        const session_answer stays = co_await ask_in_session(by, cookie);
        EXPECT_EQ(stays.by, "1");
      }
      EXPECT_EQ(t.backends_[1]->connections, connections);
      counts others = co_await ask_often(by, 10);
      EXPECT_EQ(others["0"], 10);
    }
  };
  play(steps::all(stub(), *this, c, a));
}

std::string cookie_of(std::uint16_t port) {
  return "home=" + base::padded_base64("127.0.0.1:" + std::to_string(port) + ";cluster:a");
}

// gRFC A75: the other calls stay where the priorities send them.
TEST_F(XdsFilteredCalls, OfASessionReachTheirServerInAPriorityThatIsNotInUse) {
  offer_route_to("a");
  offer_cluster("a", {{port(0), 0}, {port(1), 1}, {refused_port, 1}});
  offer_filter(session_type, session_by("home"));
  struct steps {
    static task<> all(generic_stub by, XdsFilteredCalls& t) {
      for (int i = 0; i < 3; ++i) {
        const session_answer stays = co_await ask_in_session(by, cookie_of(t.port(1)));
        EXPECT_EQ(stays.by, "1");
        EXPECT_EQ(stays.cookie, "");
        const session_answer other = co_await ask_in_session(by, "");
        EXPECT_EQ(other.by, "0");
      }
      EXPECT_EQ(t.backends_[1]->connections.size(), 1u);
      // One that does not answer is left.
      const session_answer moved = co_await ask_in_session(by, cookie_of(refused_port));
      EXPECT_EQ(moved.by, "0");
      EXPECT_THAT(moved.cookie, testing::StartsWith("home="));
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsFilteredCalls, OfASessionKeepTheConnectionOfAServerThatMovesToAnotherPriority) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}, {port(1)}});
  offer_filter(session_type, session_by("home"));
  struct steps {
    static task<> all(generic_stub by, XdsFilteredCalls& t) {
      (void)co_await ask(by);
      co_await sleep_for(1s);
      const session_answer first = co_await ask_in_session(by, cookie_of(t.port(1)));
      EXPECT_EQ(first.by, "1");
      const auto connections = t.backends_[1]->connections;
      EXPECT_EQ(connections.size(), 1u);
      for (const std::uint32_t priority : {1u, 0u, 1u}) {
        t.offer_cluster("a", {{t.port(0), 0}, {t.port(1), priority}});
        co_await sleep_for(1s);
        for (int i = 0; i < 3; ++i) {
          const session_answer stays = co_await ask_in_session(by, cookie_of(t.port(1)));
          EXPECT_EQ(stays.by, "1") << priority;
        }
        counts others = co_await ask_often(by, 20);
        EXPECT_EQ(others["1"] > 0, priority == 0) << priority;
        EXPECT_EQ(t.backends_[1]->connections, connections) << priority;
      }
    }
  };
  play(steps::all(stub(), *this));
}

TEST_F(XdsFilteredCalls, OfASessionLoseAConnectionThatTheyHaveNotUsedForTheIdleTimeoutOfTheCluster) {
  offer_route_to("a");
  wire::UpstreamHttpOptions options;
  options.mutable_common_http_protocol_options()->mutable_idle_timeout()->set_seconds(60);
  wire::Cluster c = eds_cluster("a");
  *c.mutable_upstream_config()->mutable_typed_config() =
      packed("envoy.extensions.upstreams.http.v3.HttpProtocolOptions", options);
  offer_cluster(c, assignment("a", {{port(0), 0}, {port(1), 1}}));
  offer_filter(session_type, session_by("home"));
  struct steps {
    static task<> all(generic_stub by, XdsFilteredCalls& t) {
      for (int i = 0; i < 5; ++i) {
        const session_answer stays = co_await ask_in_session(by, cookie_of(t.port(1)));
        EXPECT_EQ(stays.by, "1");
        co_await sleep_for(50s);
      }
      EXPECT_EQ(t.backends_[1]->connections.size(), 1u);
      (void)co_await ask_in_session(by, cookie_of(t.port(1)));
      EXPECT_EQ(t.backends_[1]->connections.size(), 1u);
      co_await sleep_for(70s);
      const session_answer again = co_await ask_in_session(by, cookie_of(t.port(1)));
      EXPECT_EQ(again.by, "1");
      EXPECT_EQ(t.backends_[1]->connections.size(), 2u);
    }
  };
  play(steps::all(stub(), *this));
}

// They wait for a stream of it, and calls to the other servers do not wait behind them.
TEST_F(XdsFilteredCalls, OfASessionWaitForTheirServerAlone) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}, {port(1)}});
  offer_filter(session_type, session_by("home"));
  struct steps {
    static task<> one_of_session(const generic_stub& by, const std::string& cookie, int& answered) {
      const session_answer got = co_await ask_in_session(by, cookie);
      EXPECT_EQ(got.by, "1");
      ++answered;
    }
    static task<> all(generic_stub by, XdsFilteredCalls& t) {
      (void)co_await ask(by);
      co_await sleep_for(1s);
      t.backends_[1]->delay = 10s;
      const std::string cookie =
          "home=" + base::padded_base64("127.0.0.1:" + std::to_string(t.port(1)) + ";cluster:a");
      int answered = 0;
      scope session{co_await coro::this_environment()};
      constexpr int more_than_streams = 250;  // a connection has 100
      for (int i = 0; i < more_than_streams; ++i) session.spawn(one_of_session(by, cookie, answered));
      co_await sleep_for(1s);
      EXPECT_EQ(answered, 0);
      const std::string to_other =
          "home=" + base::padded_base64("127.0.0.1:" + std::to_string(t.port(0)) + ";cluster:a");
      const session_answer other = co_await ask_in_session(by, to_other);
      EXPECT_EQ(other.by, "0");
      EXPECT_EQ(answered, 0);
      co_await session.join();
      EXPECT_EQ(answered, more_than_streams);
    }
  };
  play(steps::all(stub(), *this));
}

// A server that drains its connection gets another one for them, also if no policy but that of sessions uses
// it.
TEST_F(XdsFilteredCalls, OfASessionThatWaitForAStreamReachAServerThatDrainsItsConnection) {
  server_options aging = backend::limited();
  aging.max_connection_age.max = 5s;
  backend aged(runtime_, "aged", aging);
  aged.delay = 10s;
  offer_route_to("a");
  offer_cluster("a", {{port(0), 0}, {aged.port(), 1}});
  offer_filter(session_type, session_by("home"));
  struct steps {
    static task<> one_of_session(const generic_stub& by, const std::string& cookie, int& answered) {
      call_options options = with("cookie", cookie);
      options.timeout = 1min;
      const std::string answer = co_await ask(by, options);
      EXPECT_EQ(answer, "aged");
      ++answered;
    }
    static task<> all(generic_stub by, const backend& aged) {
      int answered = 0;
      scope session{co_await coro::this_environment()};
      for (std::uint32_t i = 0; i < backend::streams + 50; ++i)
        session.spawn(one_of_session(by, cookie_of(aged.port()), answered));
      co_await sleep_for(3s);
      EXPECT_EQ(aged.connections.size(), 1u);
      co_await session.join();
      EXPECT_EQ(answered, static_cast<int>(backend::streams) + 50);
      EXPECT_GT(aged.connections.size(), 1u);
    }
  };
  play(steps::all(stub(), aged));
}

// Before the other policy is ready, and after that.
TEST_F(XdsFilteredCalls, OfASessionKeepWaitingWhileThePolicyOfTheClusterChangesAndReturns) {
  offer_route_to("a");
  offer_cluster("a", {{port(0)}, {port(1)}});
  offer_filter(session_type, session_by("home"));
  struct steps {
    static task<> one_of_session(const generic_stub& by, const std::string& cookie, int& answered) {
      const session_answer got = co_await ask_in_session(by, cookie);
      EXPECT_EQ(got.by, "1");
      EXPECT_EQ(got.cookie, "");
      ++answered;
    }
    static task<> all(generic_stub by, XdsFilteredCalls& t) {
      (void)co_await ask(by);
      co_await sleep_for(1s);
      t.backends_[1]->delay = 10s;
      const std::string cookie =
          "home=" + base::padded_base64("127.0.0.1:" + std::to_string(t.port(1)) + ";cluster:a");
      const auto a = assignment("a", {{t.port(0)}, {t.port(1)}});
      wire::Cluster other = eds_cluster("a");
      other.set_lb_policy(2);  // RING_HASH
      for (const duration between : {duration(1us), duration(1ms), duration(10ms), duration(1s)}) {
        int answered = 0;
        scope session{co_await coro::this_environment()};
        constexpr int more_than_streams = 250;  // a connection has 100
        for (int i = 0; i < more_than_streams; ++i) session.spawn(one_of_session(by, cookie, answered));
        co_await sleep_for(1s);
        t.offer_cluster(other, a);
        co_await sleep_for(between);
        t.offer_cluster(eds_cluster("a"), a);
        co_await sleep_for(1s);
        EXPECT_EQ(answered, 0);
        EXPECT_EQ(calls_in_progress::of("a", "")->count(), 250u);
        co_await session.join();
        EXPECT_EQ(answered, more_than_streams);
        EXPECT_EQ(calls_in_progress::of("a", "")->count(), 0u);
      }
    }
  };
  play(steps::all(stub(), *this));
}

// A policy that connects to one server alone publishes nothing when another one changes.
TEST_F(XdsFilteredCalls, OfASessionReachAServerThatPickFirstHasPassedOver) {
  offer_route_to("a");
  wire::Cluster c = eds_cluster("a");
  auto* const policy = c.mutable_load_balancing_policy()->add_policies()->mutable_typed_extension_config();
  policy->set_name("one");
  *policy->mutable_typed_config() =
      packed("envoy.extensions.load_balancing_policies.pick_first.v3.PickFirst", wire::PickFirst());
  auto a = assignment("a", {{refused_port}});
  add_endpoint(*a.mutable_endpoints(0), "127.0.0.1", port(1));
  offer_cluster(c, a);
  offer_filter(session_type, session_by("home"));
  struct steps {
    static task<> all(generic_stub by) {
      const std::string cookie =
          "home=" + base::padded_base64("127.0.0.1:" + std::to_string(refused_port) + ";cluster:a");
      for (int i = 0; i < 5; ++i) {
        call_options options = with("cookie", cookie);
        options.timeout = 30s;
        const std::string answer = co_await ask(by, options);
        EXPECT_EQ(answer, "1");
        co_await sleep_for(2s);
      }
    }
  };
  play(steps::all(stub()));
}

TEST_F(XdsFilteredCalls, OfASessionLearnAllAddressesOfTheirServer) {
  offer_route_to("a");
  auto a = assignment("a", {{port(0)}});
  set_address(*a.mutable_endpoints(0)
                   ->mutable_lb_endpoints(0)
                   ->mutable_endpoint()
                   ->add_additional_addresses()
                   ->mutable_address(),
              "127.0.0.9", port(0));
  offer_cluster(eds_cluster("a"), a);
  offer_filter(session_type, session_by("home"));
  struct steps {
    static task<> all(generic_stub by, std::uint16_t at) {
      const session_answer first = co_await ask_in_session(by, "");
      std::string text;
      EXPECT_TRUE(base::base64_decode(std::string_view(first.cookie).substr(5), text));
      EXPECT_EQ(text, "127.0.0.1:" + std::to_string(at) + ",127.0.0.9:" + std::to_string(at) + ";a");
      const session_answer again = co_await ask_in_session(by, first.cookie);
      EXPECT_EQ(again.cookie, "");
    }
  };
  play(steps::all(stub(), port(0)));
}

TEST_F(XdsFilteredCalls, FailIfAnOverrideIsOfAnotherKindOfFilter) {
  offer_routes([](wire::VirtualHost& h) {
    (*add_route(h, "a", "/odd.")->mutable_typed_per_filter_config())["f"] =
        packed(fault_type, wire::HttpFault());
    add_route(h, "a");
  });
  offer_cluster("a", {{port(0)}});
  offer_filter(session_type, session_by("home"));
  struct steps {
    static task<> all(generic_stub by) {
      const std::string odd = co_await ask(by, {}, "/odd.Odd/Ask");
      EXPECT_THAT(odd, HasSubstr("UNAVAILABLE: the control plane overrides a filter"));
      const std::string usual = co_await ask(by);
      EXPECT_EQ(usual, "0");
    }
  };
  play(steps::all(stub()));
}

TEST_F(XdsFilteredCalls, OfASessionStayInItsCluster) {
  offer_routes([](wire::VirtualHost& h) {
    auto* const split = add_route(h, "")->mutable_route()->mutable_weighted_clusters();
    for (const char* name : {"a", "b"}) {
      auto* const c = split->add_clusters();
      c->set_name(name);
      c->mutable_weight()->set_value(1);
    }
    (*add_route(h, "a", "/unbound.")->mutable_typed_per_filter_config())["f"] = [] {
      wire::StatefulSessionPerRoute off;
      off.set_disabled(true);
      return packed(session_override_type, off);
    }();
    h.mutable_routes()->SwapElements(0, 1);
  });
  offer_cluster("a", {{port(0)}});
  offer_cluster("b", {{port(1)}});
  offer_filter(session_type, session_by("home"));
  struct steps {
    static task<> all(generic_stub by) {
      const session_answer first = co_await ask_in_session(by, "");
      for (int i = 0; i < 20; ++i) {
        const session_answer again = co_await ask_in_session(by, first.cookie);
        EXPECT_EQ(again.by, first.by);
        EXPECT_EQ(again.cookie, "");
      }
      const session_answer unbound = co_await ask_in_session(by, "", "/unbound.Unbound/Ask");
      EXPECT_EQ(unbound.cookie, "");
    }
  };
  play(steps::all(stub()));
}

// gRPC's C core has the name of the cluster alone, and gRFC A60 a word before it.
TEST_F(XdsFilteredCalls, OfASessionNameTheirClusterAsTheCCoreOrAsTheProposal) {
  offer_routes([](wire::VirtualHost& h) {
    auto* const split = add_route(h, "")->mutable_route()->mutable_weighted_clusters();
    for (const auto& [name, weight] : {std::pair("a", 1000u), std::pair("b", 1u)}) {
      auto* const c = split->add_clusters();
      c->set_name(name);
      c->mutable_weight()->set_value(weight);
    }
  });
  offer_cluster("a", {{port(0)}});
  offer_cluster("b", {{port(1)}});
  offer_filter(session_type, session_by("home"));
  struct steps {
    static task<> all(generic_stub by, std::uint16_t at) {
      const std::string server = "127.0.0.1:" + std::to_string(at);
      for (const char* cluster : {";b", ";cluster:b"}) {
        const session_answer known =
            co_await ask_in_session(by, "home=" + base::padded_base64(server + cluster));
        EXPECT_EQ(known.by, "1") << cluster;
        EXPECT_EQ(known.cookie, "") << cluster;
      }
      const session_answer other = co_await ask_in_session(by, "home=" + base::padded_base64(server + ";no"));
      EXPECT_EQ(other.by, "0");
      const session_answer another =
          co_await ask_in_session(by, "home=" + base::padded_base64(server + ";cluster:no"));
      EXPECT_EQ(another.by, "0");
    }
  };
  play(steps::all(stub(), port(1)));
}

// --- filters of a program

// Quoted by docs/guides/xds.md.
// --8<-- [start:filter]
// Takes calls that have the key of its configuration.
class key_filter final : public xds_filter {
 public:
  explicit key_filter(std::string key) : key_(std::move(key)) {}
  task<status> before_call(xds_client_call& call) const override {
    co_await sleep_for(1ms);
    if (!call.metadata().find(key_))
      co_return status::failed_precondition(std::string(call.method()) + " without " + key_);
    call.added_metadata().add("x-passed", key_);
    co_return status();
  }
  task<status> before_handler(server_context& call) const override {
    co_await sleep_for(1ms);
    if (!call.metadata().find(key_)) co_return status::failed_precondition("server: without " + key_);
    co_return status();
  }

 private:
  const std::string key_;
};

class key_filter_type final : public xds_filter_type {
 public:
  [[nodiscard]] std::string_view type() const noexcept override { return "example.v1.Key"; }
  [[nodiscard]] std::string_view override_type() const noexcept override { return "example.v1.KeyOfRoute"; }
  [[nodiscard]] result<std::shared_ptr<const xds_filter>> read(const xds_filter_config& from) const override {
    if (from.is_json) return std::make_shared<const key_filter>("json");
    if (from.content.empty()) return status::invalid_argument("it has no key");
    if (from.content == "throw") throw std::runtime_error("as the test wants");
    return std::make_shared<const key_filter>(std::string(from.content));
  }
  [[nodiscard]] result<std::shared_ptr<const xds_filter>> read_override(
      const xds_filter_config& from) const override {
    if (from.content == "none") return std::shared_ptr<const xds_filter>();
    return read(from);
  }
};
// --8<-- [end:filter]

google::protobuf::Any key_config(const std::string& key, const std::string& type = "example.v1.Key") {
  google::protobuf::Any any;
  any.set_type_url("type.googleapis.com/" + type);
  any.set_value(key);
  return any;
}

void insert_key(wire::HttpConnectionManager& m, const google::protobuf::Any& config) {
  insert_filter(m, "f", "x", wire::Router());
  *m.mutable_http_filters(0)->mutable_typed_config() = config;
}

TEST_F(XdsFilteredCalls, PassTheFiltersOfTheProgram) {
  xds_options mesh;
  mesh.bootstrap = bootstrap_json();
  mesh.filters.push_back(std::make_shared<const key_filter_type>());
  wire::HttpConnectionManager m = manager_of_rds("r");
  insert_key(m, key_config("pass"));
  plane_.offer(resource_kind::listener, "target", listener_with("target", m));
  plane_.offer(resource_kind::route_configuration, "r", routes([](wire::VirtualHost& h) {
                 (*add_route(h, "a", "/free.")->mutable_typed_per_filter_config())["f"] =
                     key_config("none", "example.v1.KeyOfRoute");
                 add_route(h, "a");
               }));
  offer_cluster("a", {{port(0)}});
  struct steps {
    static task<> all(generic_stub by, XdsFilteredCalls& t) {
      const std::string without = co_await ask(by);
      EXPECT_EQ(without, "FAILED_PRECONDITION: /where.Where/Ask without pass");
      const std::string passed = co_await ask(by, with("pass", "1"));
      EXPECT_EQ(passed, "0");
      EXPECT_EQ(t.backends_[0]->last_metadata.find("x-passed"), "pass");
      const std::string free = co_await ask(by, {}, "/free.Free/Ask");
      EXPECT_EQ(free, "0");
      call_options brief;
      brief.timeout = 1us;
      const std::string late = co_await ask(by, brief);
      EXPECT_THAT(late, HasSubstr("DEADLINE_EXCEEDED"));
      // One that cannot be read is rejected, and what was there before stays.
      wire::HttpConnectionManager bad = manager_of_rds("r");
      insert_key(bad, key_config(""));
      t.plane_.offer(resource_kind::listener, "target", listener_with("target", bad));
      co_await sleep_for(1s);
      EXPECT_THAT(t.plane_.rejections,
                  ElementsAre(HasSubstr("http_filters[0].typed_config is not valid: it has no key")));
      t.plane_.rejections.clear();
      wire::HttpConnectionManager throwing = manager_of_rds("r");
      insert_key(throwing, key_config("throw"));
      t.plane_.offer(resource_kind::listener, "target", listener_with("target", throwing));
      co_await sleep_for(30s);  // a second rejection in a row waits
      EXPECT_THAT(t.plane_.rejections, ElementsAre(HasSubstr("threw an exception: as the test wants")));
      t.plane_.rejections.clear();
      const std::string still = co_await ask(by, with("pass", "1"));
      EXPECT_EQ(still, "0");
      wire::HttpConnectionManager json = manager_of_rds("r");
      wire::TypedStruct inner;
      inner.set_type_url("type.googleapis.com/example.v1.Key");
      insert_key(json, packed("xds.type.v3.TypedStruct", inner));
      t.plane_.offer(resource_kind::listener, "target", listener_with("target", json));
      co_await sleep_for(1s);
      const std::string by_json = co_await ask(by, with("json", "1"));
      EXPECT_EQ(by_json, "0");
    }
  };
  play(steps::all(stub(mesh), *this));
}

TEST_F(XdsFilteredCalls, PassTheFiltersOfTheProgramOnServers) {
  xds_server_options options;
  options.mesh.bootstrap = R"({"xds_servers":[{"server_uri":"127.0.0.1:)" +
                           std::to_string(plane_server_->port()) +
                           R"(","channel_creds":[{"type":"insecure"}]}],"node":{"id":"n"},)" +
                           R"("server_listener_resource_name_template":"inbound/%s"})";
  options.mesh.filters.push_back(std::make_shared<const key_filter_type>());
  class echo final : public generic_service {
   public:
    replies<bytes_message> call(server_context&, reader<bytes_message>) override {
      auto out = co_await replies<bytes_message>::writer();
      const bytes_message reply("served");
      co_await out.write(reply);
      co_return coracle::ok;
    }
  } service;
  server on(runtime_);
  on.set_fallback(service);
  xds_server serving(on, options);
  ASSERT_EQ(serving.listen("127.0.0.1:0", insecure()), status());
  wire::Listener l = inbound_listener_at("127.0.0.1", on.port());
  wire::HttpConnectionManager m = manager_of_rds("");
  *m.mutable_route_config() = accepting_routes("own");
  auto* const host = m.mutable_route_config()->mutable_virtual_hosts(0);
  auto* const free = host->add_routes();
  free->mutable_match()->set_prefix("/free.");
  free->mutable_non_forwarding_action();
  (*free->mutable_typed_per_filter_config())["f"] = key_config("none", "example.v1.KeyOfRoute");
  host->mutable_routes()->SwapElements(0, 1);
  insert_key(m, key_config("pass"));
  set_manager(*l.mutable_filter_chains(0), m);
  plane_.offer(resource_kind::listener, l.name(), l);
  struct steps {
    static task<> all(generic_stub by) {
      co_await sleep_for(1s);  // the listener serves
      const std::string without = co_await ask(by);
      EXPECT_EQ(without, "FAILED_PRECONDITION: server: without pass");
      const std::string passed = co_await ask(by, with("pass", "1"));
      EXPECT_EQ(passed, "served");
      const std::string of_route = co_await ask(by, {}, "/free.Free/Ask");
      EXPECT_EQ(of_route, "served");
    }
  };
  play(steps::all(generic_stub(channel(runtime_, "127.0.0.1:" + std::to_string(on.port()), insecure()))));
}

}  // namespace
}  // namespace coracle::xds::xds_filters_test
