// Channels that ask their servers whether they serve (gRFC A17), in virtual time.
#include "support/server_fleet.hpp"

#include "coracle/services/health_service.hpp"

namespace coracle::testing_support {
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
    health_[name]->set_status("movies", s);
    start(name, {}, &static_cast<coracle::service&>(*health_[name]));
  }
  std::unique_ptr<channel> connect(std::initializer_list<const char*> names) {
    auto c = std::make_unique<channel>(client_, "movies", insecure(),
                                       channel_options()
                                           .resolver(std::make_shared<client::manual_resolver>(at(names)))
                                           .balance(balancing::round_robin())
                                           .health_check("movies"));
    c->connect();
    wait(1s);
    return c;
  }
  std::map<std::string, std::unique_ptr<health_service>> health_;
};

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
  EXPECT_EQ(call(*c, within(10s).wait_for_ready(true)), "a");
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
  channel c(client_, "movies", insecure(),
            channel_options()
                .resolver(std::make_shared<client::manual_resolver>(at({"a", "b"})))
                .service_config(*config));
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

}  // namespace
}  // namespace coracle::testing_support
