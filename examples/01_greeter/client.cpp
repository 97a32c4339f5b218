// greeter_client [ADDRESS [NAME]]: one blocking call from a plain thread.
#include "greeter.coracle.hpp"

#include <coracle/client.hpp>

#include <chrono>
#include <iostream>

int main(int argc, char** argv) {
  coracle::channel channel(argc > 1 ? argv[1] : "127.0.0.1:50051", coracle::insecure());
  const helloworld::rpc::Greeter::stub greeter(channel);
  helloworld::HelloRequest request;
  request.set_name(argc > 2 ? argv[2] : "world");
  const auto reply = coracle::sync_wait(greeter.SayHello(request, coracle::within(std::chrono::seconds(20))));
  if (!reply) {
    std::cerr << "greeter_client: " << reply.status() << '\n';
    return 1;
  }
  std::cout << reply->message() << '\n';
}
