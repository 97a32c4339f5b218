// Channels that use the health service of their servers (gRFC A17), in virtual time.
#include "support/borrowed.hpp"
#include "support/server_fleet.hpp"

#include "coracle/services/health_service.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace coracle::testing_support::client_health_test {
namespace {

using namespace std::chrono_literals;

class a_channel_that_asks_for_health : public server_fleet {
 protected:
  void TearDown() override {
    servers_.clear();
    health_.clear();
  }
  void start_healthy(const std::string& name, health_status s) {
    health_[name] = std::make_unique<health_service>();
    health_[name]->set_status(asked_, s);
    start(name, {}, &static_cast<coracle::service&>(*health_[name]));
  }
  std::unique_ptr<channel> connect(std::initializer_list<const char*> names) {
    channel_options options;
    options.resolver = std::make_shared<client::manual_resolver>(at(names));
    options.balance = balancing::round_robin();
    options.health_check = asked_;
    auto c = std::make_unique<channel>(client_, "movies", insecure(), options);
    c->connect();
    wait(1s);
    return c;
  }
  std::string asked_ = "movies";
  std::map<std::string, std::unique_ptr<health_service>> health_;
};

TEST_F(a_channel_that_asks_for_health, AsksForAServiceWithALongName) {
  asked_ = std::string(200, 'm');
  start_healthy("a", health_status::serving);
  start_healthy("b", health_status::not_serving);
  const auto c = connect({"a", "b"});
  EXPECT_EQ(calls(*c, 10), (std::map<std::string, int>{{"a", 10}}));
}

TEST_F(a_channel_that_asks_for_health, LeavesOutAServerThatDoesNotServe) {
  start_healthy("a", health_status::serving);
  start_healthy("b", health_status::not_serving);
  const auto c = connect({"a", "b"});
  EXPECT_EQ(calls(*c, 10), (std::map<std::string, int>{{"a", 10}}));
  health_["b"]->set_status("movies", health_status::serving);
  wait(1s);
  EXPECT_EQ(calls(*c, 10), (std::map<std::string, int>{{"a", 5}, {"b", 5}}));
  health_["a"]->set_status("movies", health_status::not_serving);
  wait(1s);
  EXPECT_EQ(calls(*c, 10), (std::map<std::string, int>{{"b", 10}}));
}

TEST_F(a_channel_that_asks_for_health, FailsWithThatReasonWhenNobodyServes) {
  start_healthy("a", health_status::not_serving);
  const auto c = connect({"a"});
  EXPECT_EQ(c->state(), connectivity::transient_failure);
  EXPECT_EQ(call(*c), "UNAVAILABLE");
  health_["a"]->set_status("movies", health_status::serving);
  call_options waiting = within(10s);
  waiting.wait_for_ready = true;
  EXPECT_EQ(call(*c, waiting), "a");
}

TEST_F(a_channel_that_asks_for_health, TakesAServerWithoutHealthForOneThatServes) {
  start("a");
  const auto c = connect({"a"});
  EXPECT_EQ(call(*c), "a");
}

TEST_F(a_channel_that_asks_for_health, GoesByAServiceConfigToo) {
  start_healthy("a", health_status::serving);
  start_healthy("b", health_status::not_serving);
  auto config = service_config::parse(
      R"({"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": "movies"}})");
  ASSERT_EQ(config.status(), status());
  channel_options options;
  options.resolver = std::make_shared<client::manual_resolver>(at({"a", "b"}));
  options.service_config = *config;
  channel c(client_, "movies", insecure(), options);
  c.connect();
  wait(1s);
  EXPECT_EQ(calls(c, 10), (std::map<std::string, int>{{"a", 10}}));
}

TEST_F(a_channel_that_asks_for_health, RestsAsOthersDo) {
  start_healthy("a", health_status::serving);
  const auto c = connect({"a"});
  EXPECT_EQ(call(*c), "a");
  wait(61min);
  EXPECT_EQ(c->state(), connectivity::idle);
}

// --- a server that does not answer everybody

// Rejects Watch() without the token, with the status of the test.
class health_guard final : public server_interceptor {
 public:
  task<status> intercept(server_context& context, next_handler next) override {
    if (context.method() != "/grpc.health.v1.Health/Watch") co_return co_await next();
    const auto token = context.metadata().find("authorization");
    tokens.emplace_back(token ? *token : "none");
    if (!refusal.ok()) co_return refusal;
    co_return co_await next();
  }
  std::vector<std::string> tokens;
  status refusal;
};

class given_token final : public credentials_source {
 public:
  task<result<metadata>> metadata_for(credentials_request call) override {
    asked_for.insert(call.method());
    co_await sleep_for(1s);
    if (!failure.ok()) co_return failure;
    metadata m;
    m.add("authorization", "Given token");
    co_return m;
  }
  std::set<std::string> asked_for;
  status failure;
};

class a_guarded_health_service : public ::testing::Test {
 protected:
  a_guarded_health_service() {
    server_.add(service_);
    server_.add(health_);
    server_.add_interceptor(borrowed(guard_));
    health_.set_status("movies", health_status::serving);
  }
  void connect(const call_options& o = {}) {
    channel_options options;
    options.balance = balancing::round_robin();
    options.health_check = "movies";
    options.calls = o;
    channel_.emplace(host_, server_.in_process(), options);
    channel_->connect();
  }
  static task<> pause(duration d) { co_await sleep_for(d); }
  void wait(duration d) { sync_wait(host_, host_.at(0), pause(d)); }
  static task<status> ask(channel& c) {
    const auto reply = co_await echo_stub(c).Say(echo::Text(), within(10min));
    co_return reply.status();
  }
  static task<status> patient(channel& c) {
    call_options waiting = within(10min);
    waiting.wait_for_ready = true;
    const auto reply = co_await echo_stub(c).Say(echo::Text(), waiting);
    co_return reply.status();
  }
  status call() { return sync_wait(host_, host_.at(0), ask(*channel_)); }

  sim::world world_{1};
  runtime& host_ = world_.host("host");
  naming_service service_{"a"};
  health_service health_;
  health_guard guard_;
  server server_{host_};
  std::optional<channel> channel_;
};

// gRFC A17.
TEST_F(a_guarded_health_service, FailsCallsWithItsStatusUntilAWatchIsAnswered) {
  guard_.refusal = status::permission_denied("not\nyours");
  connect();
  wait(500ms);
  EXPECT_EQ(channel_->state(), connectivity::transient_failure);
  const status reason = call();
  EXPECT_EQ(reason.code(), status_code::unavailable);
  EXPECT_NE(reason.message().find("the health check of \"movies\" failed with PERMISSION_DENIED: not?yours"),
            std::string_view::npos)
      << reason;
  wait(10s);
  EXPECT_GE(guard_.tokens.size(), 2u) << "asked again";
  guard_.refusal = status();
  wait(30s);
  EXPECT_EQ(channel_->state(), connectivity::ready);
  EXPECT_EQ(call(), status());
  EXPECT_EQ(guard_.tokens.back(), "none");
}

TEST_F(a_guarded_health_service, CountsAsOneThatServesWhenItIsUnimplemented) {
  guard_.refusal = status::unimplemented("what is health?");
  connect();
  EXPECT_EQ(call(), status());
  wait(1h);
  EXPECT_EQ(guard_.tokens.size(), 1u);
}

TEST_F(a_guarded_health_service, IsToldTheChannelsToken) {
  call_options with_token;
  with_token.credentials = call_credentials::bearer("of the channel");
  connect(with_token);
  EXPECT_EQ(call(), status());
  EXPECT_EQ(guard_.tokens, std::vector<std::string>{"Bearer of the channel"});
}

TEST_F(a_guarded_health_service, IsToldWhatTheChannelsSourceGives) {
  const auto source = std::make_shared<given_token>();
  source->failure = status::unimplemented("no vault");
  call_options with_credentials;
  with_credentials.credentials = source;
  connect(with_credentials);
  wait(1500ms);
  EXPECT_EQ(channel_->state(), connectivity::transient_failure) << "that is the client's own failure";
  EXPECT_EQ(guard_.tokens, std::vector<std::string>{});
  source->failure = status();
  EXPECT_EQ(sync_wait(host_, host_.at(0), patient(*channel_)), status());
  EXPECT_EQ(guard_.tokens, std::vector<std::string>{"Given token"});
  EXPECT_EQ(source->asked_for.count("/grpc.health.v1.Health/Watch"), 1u);
}

TEST_F(a_guarded_health_service, IsToldNoTokenInPlaintext) {
  ASSERT_EQ(server_.listen("127.0.0.1:50051", insecure()), status());
  channel_options options;
  options.balance = balancing::round_robin();
  options.health_check = "movies";
  options.calls.credentials = call_credentials::bearer("secret");
  channel_.emplace(host_, "127.0.0.1:50051", insecure(), options);
  channel_->connect();
  wait(10s);
  EXPECT_EQ(channel_->state(), connectivity::transient_failure);
  EXPECT_EQ(guard_.tokens, std::vector<std::string>{});
}

}  // namespace
}  // namespace coracle::testing_support::client_health_test
