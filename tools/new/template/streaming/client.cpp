// project_name_client [ADDRESS [NAME]]: calls the three kinds of streams.
#include "project_name.coracle.hpp"

#include <coracle/client.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

namespace {

using namespace std::chrono_literals;

// Every call should have a deadline: without one it could wait indefinitely.
constexpr auto patience = 10s;

void show(const project_name::Greeting& greeting) { std::printf("%s\n", greeting.text().c_str()); }

coracle::task<> greet(const project_name::rpc::Greeter::stub& greeter, std::string name) {
  project_name::GreetOftenRequest often;
  often.set_name(name);
  often.set_times(2);
  auto downloads = greeter.GreetOften(often, coracle::within(patience));
  while (const auto greeting = (co_await downloads.next()).value()) show(*greeting);

  project_name::GreetRequest request;
  request.set_name(name);
  auto uploads = greeter.GreetAll(coracle::within(patience));
  for (int i = 0; i < 2; ++i) {
    const auto sent = co_await uploads.write(request);
    if (!sent.ok()) break;  // finish() has the reason
  }
  const auto all = co_await uploads.finish();
  show(all.value());

  auto conversation = greeter.Converse(coracle::within(patience));
  for (int i = 0; i < 2; ++i) {
    (co_await conversation.write(request)).throw_if_error();
    const auto greeting = (co_await conversation.next()).value();
    if (greeting) show(*greeting);
  }
  (co_await conversation.finish()).throw_if_error();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string address = argc > 1 ? argv[1] : "127.0.0.1:50051";
    const std::string name = argc > 2 ? argv[2] : "world";
    coracle::runtime runtime;
    coracle::channel channel(runtime, address, coracle::insecure());
    const project_name::rpc::Greeter::stub greeter(channel);
    coracle::sync_wait(runtime, greet(greeter, name));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "project_name_client: %s\n", error.what());
    return 1;
  }
}
