// Serves the service through Coracle's test kit: a real server and a real channel in this process, without a
// port. The kit also works inside GoogleTest or any other framework.
#include "greeter.hpp"

#include <coracle/client.hpp>
#include <coracle/testing/service_fixture.hpp>

#include <chrono>
#include <cstdio>

int main() {
  coracle::testing::service_fixture<project_name::greeter> fixture;
  // Call your methods through a stub: project_name::rpc::Greeter::stub stub(fixture.channel());
  coracle::channel channel = fixture.channel();
  channel.connect();
  while (channel.state() != coracle::connectivity::ready) {
    if (!coracle::sync_wait(fixture.runtime(),
                            channel.wait_for_state_change(channel.state(), std::chrono::seconds(10)))) {
      std::printf("FAILED: no connection within 10 s\n");
      return 1;
    }
  }
  std::printf("passed: the service is served\n");
  return 0;
}
