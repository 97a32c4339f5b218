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

coracle::task<> converse(const project_name::rpc::Greeter::stub& stub) {
  project_name::GreetRequest ada;
  ada.set_name("Ada");
  auto call = stub.Converse();
  (co_await call.write(ada)).throw_if_error();
  const auto reply = (co_await call.next()).value();
  check(reply && reply->text() == "Hello, Ada", "it replies before the client is done");
  co_await call.writes_done();
  const auto end = (co_await call.next()).value();
  check(!end, "it ends when the client is done");
}

coracle::task<> greet_all(const project_name::rpc::Greeter::stub& stub) {
  auto call = stub.GreetAll();
  for (const char* name : {"Ada", "Grace"}) {
    project_name::GreetRequest request;
    request.set_name(name);
    (co_await call.write(request)).throw_if_error();
  }
  const auto reply = co_await call.finish();
  check(reply.ok() && reply->text() == "Hello, Ada and Grace", "it greets all at once");
}

}  // namespace

int main() {
  coracle::testing::service_fixture<project_name::greeter> fixture;
  const project_name::rpc::Greeter::stub stub(fixture.channel());

  project_name::GreetOftenRequest often;
  often.set_name("Ada");
  often.set_times(3);
  auto call = stub.GreetOften(often);
  int count = 0;
  while (const auto greeting = coracle::sync_wait(call.next()).value()) ++count;
  check(count == 3, "it greets as often as was asked for");

  coracle::sync_wait(fixture.runtime(), greet_all(stub));
  coracle::sync_wait(fixture.runtime(), converse(stub));
  return failures == 0 ? 0 : 1;
}
