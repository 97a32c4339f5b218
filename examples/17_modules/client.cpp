// greeter_client [ADDRESS [NAME...]]: greets all names at the same time.
#include <chrono>
#include <coroutine>
#include <iostream>
#include <string>
#include <vector>

import coracle;
import greeter;

coracle::task<std::string> greet(coracle::channel channel, std::string name) {
  const helloworld::rpc::Greeter::stub greeter(channel);
  helloworld::HelloRequest request;
  request.set_name(name);
  const auto reply = co_await greeter.SayHello(request, coracle::within(std::chrono::seconds(20)));
  if (!reply) co_return reply.status().to_string();
  co_return reply->message();
}

coracle::task<> greet_all(coracle::channel channel, std::vector<std::string> names) {
  std::vector<coracle::task<std::string>> calls;
  for (std::string& name : names) calls.push_back(greet(channel, std::move(name)));
  for (const std::string& greeting : co_await coracle::when_all(std::move(calls)))
    std::cout << greeting << '\n';
}

int main(int argc, char** argv) {
  coracle::runtime runtime;
  coracle::channel channel(runtime, argc > 1 ? argv[1] : "127.0.0.1:50051", coracle::insecure());
  std::vector<std::string> names(argv + (argc > 2 ? 2 : argc), argv + argc);
  coracle::sync_wait(runtime, greet_all(channel, names.empty() ? std::vector<std::string>{"world"} : names));
}
