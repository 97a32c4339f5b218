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
  coracle::testing::service_fixture<guestbook::greeter> fixture;
  const guestbook::rpc::Greeter::stub stub(fixture.channel());

  guestbook::GreetRequest ada;
  ada.set_name("Ada");
  const auto reply = coracle::sync_wait(stub.Greet(ada));
  check(reply.ok() && reply->text() == "Hello, Ada", "it greets by name");

  const auto refused = coracle::sync_wait(stub.Greet(guestbook::GreetRequest()));
  check(refused.status().code() == coracle::status_code::invalid_argument,
        "a request without a name is an INVALID_ARGUMENT");

  guestbook::GreetOftenRequest often;
  often.set_name("Ada");
  often.set_times(3);
  auto call = stub.GreetOften(often);
  int count = 0;
  std::string last;
  while (const auto greeting = coracle::sync_wait(call.next()).value()) {
    last = greeting->text();
    ++count;
  }
  check(count == 3, "it greets as often as was asked for");
  check(last == "Hello, Ada (3 of 3)", "it counts");

  guestbook::SignRequest guest;
  guest.set_name("Ada");
  const auto signed_by_ada = coracle::sync_wait(stub.Sign(guest));
  check(signed_by_ada.ok() && signed_by_ada->guests() == 1, "it remembers a guest");
  const auto nameless = coracle::sync_wait(stub.Sign(guestbook::SignRequest()));
  check(nameless.status().code() == coracle::status_code::invalid_argument, "a guest needs a name");

  return failures == 0 ? 0 : 1;
}
