// The code of docs/concepts/calls.md.
// --8<-- [start:includes]
#include "greeter.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/server.hpp>

#include <chrono>
#include <utility>
// --8<-- [end:includes]

#include "coracle/testing/service_fixture.hpp"

#include <gtest/gtest.h>

namespace concept_calls {

// --8<-- [start:program]
using namespace std::chrono_literals;
using greeter_stub = helloworld::rpc::Greeter::stub;

class front final : public helloworld::rpc::Greeter::service {
 public:
  explicit front(coracle::channel next) : next_(std::move(next)) {}

 private:
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                  const helloworld::HelloRequest& request) override {
    co_return co_await next_.SayHello(request);  // inherits the deadline and the cancellation
  }
  const greeter_stub next_;
};

class back final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                  const helloworld::HelloRequest&) override {
    co_await coracle::sleep_for(1h);  // throws when the call ends
    co_return helloworld::HelloReply();
  }
};

coracle::task<coracle::status> greet(greeter_stub greeter) {
  const helloworld::HelloRequest request;
  const auto reply = co_await greeter.SayHello(request, coracle::within(250ms));
  co_return reply.status();
}
// --8<-- [end:program]

TEST(ConceptCalls, ADeadlinePassesThroughAHandler) {
  coracle::testing::service_fixture<back> behind;
  front service(behind.channel());
  coracle::server server(behind.runtime());
  server.add(service);
  const coracle::channel channel(behind.runtime(), server.in_process());
  EXPECT_EQ(coracle::sync_wait(behind.runtime(), greet(greeter_stub(channel))).code(),
            coracle::status_code::deadline_exceeded);
}

}  // namespace concept_calls
