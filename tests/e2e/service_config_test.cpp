// The effects of service configs on channels, and observers of channels and servers.
#include "support/borrowed.hpp"
#include "support/server_fleet.hpp"

#include "coracle/client/client_observer.hpp"
#include "coracle/client/service_config.hpp"
#include "coracle/server/server_observer.hpp"
#include "rpc/channel_registry.hpp"

#include <gmock/gmock.h>

namespace coracle::testing_support::service_config_test {
namespace {

using namespace std::chrono_literals;

service_config config(std::string_view json) {
  const auto c = service_config::parse(json);
  EXPECT_EQ(c.status(), status());
  return *c;
}

constexpr const char* soon =
    R"({"methodConfig":[{"name":[{"service":"echo.Echo","method":"Say"}],"timeout":"0.05s"}]})";
constexpr const char* late = R"({"methodConfig":[{"name":[{}],"timeout":"5s"}]})";

class a_channel : public server_fleet {
 protected:
  a_channel() { start("a"); }
  // How long a call that gets no reply may take.
  std::int64_t patience_ms(channel& c) {
    const time_point began = world_.now();
    EXPECT_EQ(run(ask(c, {}, "hang")), "DEADLINE_EXCEEDED");
    return std::chrono::duration_cast<std::chrono::milliseconds>(world_.now() - began).count();
  }
};

TEST_F(a_channel, GoesByTheServiceConfigOfItsOptions) {
  channel_options options;
  options.service_config = config(soon);
  channel c(client_, address("a"), insecure(), options);
  EXPECT_EQ(patience_ms(c), 50);
}

TEST_F(a_channel, GoesByTheServiceConfigOfItsResolver) {
  auto found = std::make_shared<client::manual_resolver>(at({"a"}).service_config(soon));
  channel_options options;
  options.resolver = found;
  options.service_config = config(late);
  options.resolve_pause = 0s;
  channel c(client_, "any", insecure(), options);
  EXPECT_EQ(call(c), "a");
  EXPECT_EQ(patience_ms(c), 50);
  found->set(at({"a"}));
  wait(1s);
  EXPECT_EQ(patience_ms(c), 5000);
}

TEST_F(a_channel, KeepsTheLastGoodConfigWhenItsResolverBringsABadOne) {
  auto found = std::make_shared<client::manual_resolver>(at({"a"}).service_config(soon));
  channel_options options;
  options.resolver = found;
  options.resolve_pause = 0s;
  channel c(client_, "any", insecure(), options);
  EXPECT_EQ(call(c), "a");
  found->set(at({"a"}).service_config("{"));
  wait(1s);
  EXPECT_EQ(patience_ms(c), 50);
}

TEST_F(a_channel, FailsItsCallsWhileItsResolverHasBroughtNoGoodConfig) {
  auto found = std::make_shared<client::manual_resolver>(at({"a"}).service_config("{"));
  channel_options options;
  options.resolver = found;
  options.resolve_pause = 0s;
  channel c(client_, "any", insecure(), options);
  EXPECT_EQ(call(c), "UNAVAILABLE");
  found->set(at({"a"}).service_config("{}"));
  wait(1s);
  EXPECT_EQ(call(c), "a");
}

TEST_F(a_channel, SpreadsItsCallsAsItsServiceConfigSays) {
  start("b");
  auto found = std::make_shared<client::manual_resolver>(
      at({"a", "b"}).service_config(R"({"loadBalancingConfig":[{"round_robin":{}}]})"));
  channel_options options;
  options.resolver = found;
  channel c(client_, "any", insecure(), options);
  call(c);
  wait(1s);
  EXPECT_EQ(calls(c, 10), (std::map<std::string, int>{{"a", 5}, {"b", 5}}));
}

// The events of the only channel that are not about its connections.
std::vector<std::string> traced_changes(runtime& of) {
  const auto all = rpc::channel_registry::of(of)->all();
  const rpc::channel_snapshot now = sync_wait(of, of.at(0), all.begin()->second->stats());
  std::vector<std::string> found;
  for (const rpc::traced_event& e : now.trace.latest())
    if (e.description.starts_with("service config") || e.description.starts_with("Channel"))
      found.push_back(e.description);
  return found;
}

// gRFC A3.
TEST_F(a_channel, TracesAnotherServiceConfigAndAnotherPolicy) {
  constexpr const char* in_turn = R"({"loadBalancingConfig":[{"round_robin":{}}]})";
  auto found = std::make_shared<client::manual_resolver>(at({"a"}));
  channel_options options;
  options.resolver = found;
  options.service_config = config(late);
  options.resolve_pause = 0s;
  channel c(client_, "any", insecure(), options);
  EXPECT_EQ(call(c), "a");
  const auto changes_with = [&](client::resolution next) {
    const std::size_t before = traced_changes(client_).size();
    found->set(std::move(next));
    wait(1s);
    std::vector<std::string> all = traced_changes(client_);
    return std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  };
  using testing::ElementsAre;
  using testing::IsEmpty;
  EXPECT_THAT(traced_changes(client_), IsEmpty());
  EXPECT_THAT(changes_with(at({"a"}).service_config(soon)), ElementsAre("service config updated"));
  EXPECT_THAT(changes_with(at({"a"}).service_config(in_turn)),
              ElementsAre("service config updated", "Channel switches to new LB policy \"round_robin\""));
  EXPECT_THAT(changes_with(at({"a"}).service_config(in_turn)), IsEmpty());
  EXPECT_THAT(changes_with(at({"a"}).service_config("{")),
              ElementsAre(testing::StartsWith("service config: it is not valid JSON")));
  EXPECT_THAT(changes_with(at({"a"})),
              ElementsAre("service config updated", "Channel switches to new LB policy \"pick_first\""));
}

constexpr const char* three_attempts =
    R"({"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":"1s","maxBackoff":"1s",
        "backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]})";

// Replies from the second attempt on; the first attempt fails with the given status.
struct busy_service final : echo_service {
  bool at_all = true;
  int calls = 0;
  reply<echo::Text> Say(server_context& context, const echo::Text& request) override {
    if (++calls > 1) co_return request;
    if (at_all) context.retry_after(7s);
    else context.do_not_retry();
    co_return status::unavailable("busy");
  }
};

TEST_F(a_channel, ComesBackWhenAHandlerSays) {
  for (const bool at_all : {true, false}) {
    busy_service busy;
    busy.at_all = at_all;
    server s(world_.host("busy"));
    s.add(busy);
    ASSERT_EQ(s.listen("0.0.0.0:50051", insecure()), status());
    s.start();
    channel_options options;
    options.service_config = config(three_attempts);
    channel c(client_, address("busy"), insecure(), options);
    const time_point began = world_.now();
    EXPECT_EQ(call(c), at_all ? "" : "UNAVAILABLE");
    EXPECT_EQ(busy.calls, at_all ? 2 : 1);
    EXPECT_EQ(std::chrono::duration_cast<std::chrono::seconds>(world_.now() - began).count(), at_all ? 7 : 0);
  }
}

TEST_F(a_channel, MakesNoRetriesWhenToldNotTo) {
  const service_config three = config(three_attempts);
  const auto takes_s = [&](channel_options o) {
    o.service_config = three;
    channel c(client_, "10.0.0.99:1", insecure(), o);
    const time_point began = world_.now();
    EXPECT_EQ(call(c), "UNAVAILABLE");
    return std::chrono::duration_cast<std::chrono::seconds>(world_.now() - began).count();
  };
  channel_options options;
  options.retries = false;
  const auto once = takes_s(options);
  EXPECT_GE(takes_s(channel_options()), once + 1);
}

TEST_F(a_channel, TellsItsObserverAndTheServersWhoCalled) {
  struct client_side final : client_observer {
    std::string seen;
    void call_started(observed_call& c) noexcept override { seen.append(c.method).append(";"); }
    void attempt_attached(observed_attempt& a) noexcept override {
      seen.append(a.peer->to_string()).append(";");
    }
    void attempt_ended(observed_attempt& a, const status&, time_point) noexcept override {
      seen.append(std::to_string(a.traffic.bytes_sent) + "/" + std::to_string(a.traffic.bytes_received) +
                  ";");
    }
  } here;
  struct server_side final : server_observer {
    std::string seen;
    void call_started(served_call& c) noexcept override {
      c.user = this;
      seen.append(c.context.method()).append(";");
    }
    void headers_sent(served_call&) noexcept override { seen.append("head;"); }
    void message_received(served_call&, message_size m) noexcept override {
      seen.append("in " + std::to_string(m.wire_bytes) + ";");
    }
    void message_sent(served_call&, message_size m) noexcept override {
      seen.append("out " + std::to_string(m.wire_bytes) + ";");
    }
    void call_ended(served_call& c, const status& outcome, time_point now) noexcept override {
      EXPECT_EQ(c.user, this);
      EXPECT_GT(now, c.began);
      seen.append(name_of(outcome.code()));
    }
  } there;
  server_options options;
  options.observer = borrowed(there);
  start("b", options);
  channel_options options_2;
  options_2.observer = borrowed(here);
  channel c(client_, address("b"), insecure(), options_2);
  EXPECT_EQ(run(ask(c, {}, "x", 10)), "b");
  EXPECT_EQ(here.seen, "/echo.Echo/Say;" + address("b") + ";5/3;");
  EXPECT_EQ(there.seen, "/echo.Echo/Say;in 5;head;out 3;OK");
  there.seen.clear();
  EXPECT_EQ(run(ask(c, within(50ms), "hang")), "DEADLINE_EXCEEDED");
  wait(1s);
  EXPECT_TRUE(there.seen.ends_with("DEADLINE_EXCEEDED") || there.seen.ends_with("CANCELLED")) << there.seen;
  stop("b");
}

// gRFC A105: a change applies to existing subchannels, and to waiting calls.
TEST_F(a_channel, MakesAsManyConnectionsAsItsServiceConfigSays) {
  const auto scaled = [this](int n) {
    std::string json = R"({"connectionScaling":{"maxConnectionsPerSubchannel":)";
    return at({"a"}).service_config(json.append(std::to_string(n)).append("}}"));
  };
  auto found = std::make_shared<client::manual_resolver>(scaled(2));
  channel_options options;
  options.resolver = found;
  options.resolve_pause = 0s;
  options.streams_per_connection = 1;
  options.connections_per_server = 9;
  channel c(client_, "any", insecure(), options);
  struct program {
    static task<> one(channel& to) { EXPECT_EQ(co_await ask(to, {}, {}, 10'000), "a"); }
    static task<> many(channel& to, client::manual_resolver& names, client::resolution more,
                       naming_service& server) {
      scope work;
      for (int i = 0; i < 4; ++i) work.spawn(one(to));
      co_await sleep_for(1s);
      EXPECT_EQ(server.peers.size(), 2u);
      names.set(std::move(more));
      co_await sleep_for(1s);
      EXPECT_EQ(server.peers.size(), 3u);
      co_await work.join();
    }
  };
  run(program::many(c, *found, scaled(3), service("a")));
  EXPECT_EQ(service("a").peers.size(), 3u);
}

// Each of the policies is of another kind, so that its balancer is made anew.
TEST_F(a_channel, CallsThatWaitForAStreamSurviveAnotherPolicy) {
  const auto under = [this](std::string policy) {
    return at({"a"}).service_config(R"({"loadBalancingConfig":[{")" + policy + R"(":{}}]})");
  };
  auto found = std::make_shared<client::manual_resolver>(under("pick_first"));
  channel_options options;
  options.resolver = found;
  options.resolve_pause = 0s;
  options.streams_per_connection = 1;
  channel c(client_, "any", insecure(), options);
  struct program {
    static task<> one(channel& to, int& answered) {
      EXPECT_EQ(co_await ask(to, {}, {}, 10'000), "a");
      ++answered;
    }
    static task<> many(channel& to, client::manual_resolver& names, std::vector<client::resolution> next) {
      scope work;
      int answered = 0;
      for (int i = 0; i < 4; ++i) work.spawn(one(to, answered));
      for (client::resolution& r : next) {
        co_await sleep_for(1s);
        names.set(std::move(r));
      }
      co_await work.join();
      EXPECT_EQ(answered, 4);
    }
  };
  run(program::many(c, *found, {under("round_robin"), under("ring_hash_experimental"), under("pick_first")}));
}

// Publishes what the test says, when it says so.
class slow_resolver final : public client::resolver {
 public:
  explicit slow_resolver(client::resolution answer, int failures)
      : answer_(std::move(answer)), failures_(failures) {}
  task<> run(const client::target&, client::resolution_sink& to) override {
    for (int i = 0; i < failures_; ++i) {
      co_await sleep_for(20ms);
      to.fail(status::unavailable("not yet"));
    }
    co_await sleep_for(20ms);
    to.publish(answer_);
    co_await sleep_for(1h);
  }

 private:
  client::resolution answer_;
  int failures_;
};

TEST_F(a_channel, HoldsItsFirstCallsBackUntilItsResolverHasBroughtAConfig) {
  channel_options options;
  options.resolver = std::make_shared<slow_resolver>(at({"a"}).service_config(soon), 0);
  options.service_config = config(late);
  channel c(client_, "any", insecure(), options);
  EXPECT_EQ(patience_ms(c), 50) << "the time that the call has waited counts";
  channel_options options_2;
  options_2.resolver = std::make_shared<slow_resolver>(at({"a"}), 0);
  options_2.service_config = config(late);
  channel none(client_, "any", insecure(), options_2);
  EXPECT_EQ(patience_ms(none), 5000);
}

TEST_F(a_channel, FailsACallThatWaitsForAConfigUnlessItWaitsForReady) {
  const auto find = [this] {
    channel_options options;
    options.resolver = std::make_shared<slow_resolver>(at({"a"}).service_config(soon), 1);
    return options;
  };
  channel c(client_, "any", insecure(), find());
  EXPECT_EQ(call(c), "UNAVAILABLE");
  channel patient(client_, "any", insecure(), find());
  call_options waiting;
  waiting.wait_for_ready = true;
  EXPECT_EQ(run(ask(patient, waiting, "hang")), "DEADLINE_EXCEEDED");
}

TEST_F(a_channel, MayBeClosedWhileItsCallsWaitForAConfig) {
  channel_options options;
  options.resolver = std::make_shared<slow_resolver>(at({"a"}).service_config(soon), 0);
  channel c(client_, "any", insecure(), options);
  struct program {
    static task<> one(channel to, std::string& content) { content = co_await ask(to, {}, {}); }
    static task<> cancelled(channel to) { (void)co_await ask(to, {}, {}); }
    static task<std::string> go(channel to) {
      std::string output;
      scope work;
      scope stopped;
      work.spawn(one(to, output));
      stopped.spawn(cancelled(to));
      co_await sleep_for(5ms);
      stopped.request_stop();
      co_await stopped.join();
      to.close();
      co_await work.join();
      co_return output;
    }
  };
  EXPECT_EQ(run(program::go(c)), "UNAVAILABLE");
}

}  // namespace
}  // namespace coracle::testing_support::service_config_test
