// guestbook_client [ADDRESS [NAME]]: greets once, and then three times over a stream.
#include "guestbook.coracle.hpp"

#include <coracle/client.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

namespace {

using namespace std::chrono_literals;

// Every call should have a deadline: without one it could wait indefinitely.
constexpr auto patience = 10s;

coracle::task<> greet(const guestbook::rpc::Greeter::stub& greeter, std::string name) {
  guestbook::GreetRequest once;
  once.set_name(name);
  const auto reply = co_await greeter.Greet(once, coracle::within(patience));
  std::printf("%s\n", reply.value().text().c_str());  // value() throws the status if there is no reply

  guestbook::GreetOftenRequest often;
  often.set_name(name);
  often.set_times(3);
  auto call = greeter.GreetOften(often, coracle::within(patience));
  while (const auto greeting = (co_await call.next()).value()) std::printf("%s\n", greeting->text().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string address = argc > 1 ? argv[1] : "127.0.0.1:50051";
    const std::string name = argc > 2 ? argv[2] : "world";
    coracle::runtime runtime;
    coracle::channel channel(runtime, address, coracle::insecure());
    const guestbook::rpc::Greeter::stub greeter(channel);
    coracle::sync_wait(runtime, greet(greeter, name));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "guestbook_client: %s\n", error.what());
    return 1;
  }
}
