// greeter_server [ADDRESS]: the server of 01_greeter, with modules in place of headers.
#include <string>

import coracle;
import greeter;

class greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                  const helloworld::HelloRequest& request) override {
    if (request.name().empty()) return coracle::status::invalid_argument("name must not be empty");
    helloworld::HelloReply reply;
    reply.set_message("Hello, " + request.name());
    return reply;
  }
};

int main(int argc, char** argv) {
  greeter service;
  return coracle::serve(argc > 1 ? argv[1] : "127.0.0.1:50051", coracle::insecure(), service);
}
