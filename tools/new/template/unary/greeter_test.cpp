// Calls the service through Coracle's test kit: a real server and a real channel in this process, without a
// port. The kit also works inside GoogleTest or any other framework.
#include "greeter.hpp"

#include <coracle/client.hpp>
#include <coracle/testing/service_fixture.hpp>

#include <cstdio>
#include <string>

namespace {

int failures = 0;

void check(bool truth, const char* sentence) {
  std::printf("%s: %s\n", truth ? "passed" : "FAILED", sentence);
  if (!truth) ++failures;
}

}  // namespace

int main() {
  coracle::testing::service_fixture<project_name::greeter> fixture;
  const project_name::rpc::Greeter::stub stub(fixture.channel());

  project_name::GreetRequest ada;
  ada.set_name("Ada");
  const auto reply = coracle::sync_wait(stub.Greet(ada));
  check(reply.ok() && reply->text() == "Hello, Ada", "it greets by name");

  const auto refused = coracle::sync_wait(stub.Greet(project_name::GreetRequest()));
  check(refused.status().code() == coracle::status_code::invalid_argument,
        "a request without a name is an INVALID_ARGUMENT");

  return failures == 0 ? 0 : 1;
}
