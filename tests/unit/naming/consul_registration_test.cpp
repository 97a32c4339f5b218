// Servers that register at an agent of Consul, and are replaced by other processes, in simulated time.
#include "coracle/naming/with_consul.hpp"

#include "coracle/net/address.hpp"
#include "coracle/runtime/sim.hpp"
#include "coracle/server/http_request.hpp"
#include "coracle/server/http_response.hpp"
#include "coracle/server/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace coracle::naming::consul_registration_test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* identity = "movies-10.0.0.1:50051";

class ConsulInTheSimulation : public testing::Test {
 protected:
  void SetUp() override {
    agent_.emplace(host_);
    agent_->add_http("PUT", "/v1/agent/service/register", [this](http_request r) {
      // The instances of this test differ by nothing else.
      EXPECT_THAT(std::string(r.body()), testing::HasSubstr(identity));
      instances_.insert(identity);
      return answer(200);
    });
    agent_->add_http("PUT", "/v1/agent/service/deregister/{id}", [this](http_request r) {
      return answer(instances_.erase(std::string(r.path_parameter("id"))) != 0 ? 200 : 404);
    });
    agent_->add_http("PUT", "/v1/agent/check/pass/{check}", [this](http_request r) {
      const std::string of(r.path_parameter("check").substr(std::string_view("service:").size()));
      return answer(instances_.contains(of) ? 200 : 404);
    });
    ASSERT_EQ(agent_->listen("0.0.0.0:8500", insecure()), status());
  }
  static task<http_response> answer(int code) { co_return http_response::text("", code); }

  void announce(consul_registration& by) {
    by.announce(host_, "movies", client::endpoint(net::address::parse("10.0.0.1:50051").value()));
  }

  sim::world world_{1};
  runtime& host_ = world_.host("host");
  std::set<std::string> instances_;
  std::optional<server> agent_;
  const consul_options options_{"127.0.0.1:8500", insecure()};
};

TEST_F(ConsulInTheSimulation, AServerIsAnInstanceUntilItLeaves) {
  consul_registration registration(options_);
  announce(registration);
  world_.run_for(1s);
  EXPECT_THAT(instances_, ElementsAre(identity));
  registration.leaving();
  world_.run_for(1s);
  EXPECT_THAT(instances_, IsEmpty());
}

// The successor has registered the same instance again.
TEST_F(ConsulInTheSimulation, AReplacedProcessRemovesOnlyWhatItsSuccessorDoesNotServe) {
  using net::address;
  struct {
    const char* given_up;
    bool removed;
  } const cases[] = {{"10.0.0.2:50051", false}, {"10.0.0.1:50052", false}, {"0.0.0.0:50052", false},
                     {"10.0.0.1:50051", true},  {"0.0.0.0:50051", true},   {"[::]:50051", false}};
  for (const auto& c : cases) {
    consul_registration registration(options_);
    announce(registration);
    world_.run_for(1s);
    ASSERT_THAT(instances_, ElementsAre(identity));
    const address given_up = address::parse(c.given_up).value();
    registration.replaced(std::span(&given_up, 1));
    world_.run_for(1s);
    EXPECT_EQ(instances_.empty(), c.removed) << c.given_up;
    instances_.clear();
  }
}

// A replaced process does not tell the agent any more that the instance passes its check, nor does it
// register it again.
TEST_F(ConsulInTheSimulation, AReplacedProcessLeavesTheInstanceToItsSuccessor) {
  consul_registration registration(options_);
  announce(registration);
  world_.run_for(1s);
  registration.replaced({});
  world_.run_for(1s);
  EXPECT_THAT(instances_, ElementsAre(identity));
  instances_.clear();  // the successor has left
  world_.run_for(1min);
  EXPECT_THAT(instances_, IsEmpty());
}

// The process that was to be the successor has the same instance, and its end removes it.
TEST_F(ConsulInTheSimulation, AProcessThatIsNotReplacedAfterAllIsRegisteredAgain) {
  consul_registration registration(options_);
  announce(registration);
  world_.run_for(1s);
  {
    consul_registration of_successor(options_);
    announce(of_successor);
    world_.run_for(1s);
    of_successor.leaving();
    world_.run_for(1s);
  }
  EXPECT_THAT(instances_, IsEmpty());
  registration.resumed();
  world_.run_for(1s);
  EXPECT_THAT(instances_, ElementsAre(identity));
  registration.leaving();
  registration.resumed();
  world_.run_for(1s);
  EXPECT_THAT(instances_, IsEmpty());
}

}  // namespace
}  // namespace coracle::naming::consul_registration_test
