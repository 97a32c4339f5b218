// The code of docs/concepts/loops.md.
// --8<-- [start:includes]
#include "greeter.coracle.hpp"

#include <coracle/server.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
// --8<-- [end:includes]

#include "coracle/client.hpp"
#include "coracle/testing/service_fixture.hpp"

#include <gtest/gtest.h>

namespace concept_loops {

// --8<-- [start:program]
// Stands for work that blocks or computes for long.
std::string sorted(std::string letters) {
  std::sort(letters.begin(), letters.end());
  return letters;
}

class greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                  const helloworld::HelloRequest& request) override {
    // On a thread of the pool. The handler resumes on its own loop.
    const std::string letters = co_await coracle::offload(&sorted, request.name());
    helloworld::HelloReply reply;
    reply.set_message(letters + " on loop " + std::to_string(coracle::loop::current()->index()));
    co_return reply;
  }
};

int main() {
  greeter service;
  // --8<-- [start:loops]
  coracle::runtime runtime({.loops = 0});  // one loop per core, or as many as you name
  coracle::server server(runtime);
  // --8<-- [end:loops]
  server.add(service);
  const auto bound = server.listen("127.0.0.1:50051", coracle::insecure());
  if (!bound.ok()) {
    std::fprintf(stderr, "%s\n", bound.to_string().c_str());
    return 1;
  }
  return server.run();
}
// --8<-- [end:program]

TEST(ConceptLoops, AHandlerResumesOnItsLoop) {
  coracle::testing::service_fixture<greeter> fixture;
  helloworld::HelloRequest request;
  request.set_name("Ada");
  const auto reply = coracle::sync_wait(helloworld::rpc::Greeter::stub(fixture.channel()).SayHello(request));
  EXPECT_EQ(reply->message(), "Aad on loop 0");
}

}  // namespace concept_loops
