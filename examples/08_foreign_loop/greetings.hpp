// A gRPC server and calls to it: ordinary code, which does not see who drives its loop.
#pragma once

#include "greeter.coracle.hpp"

#include "coracle/client.hpp"
#include "coracle/server.hpp"

#include <chrono>
#include <stdexcept>
#include <string>

inline void expect(bool held, const char* failure) {
  if (!held) throw std::runtime_error(failure);
}

class greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                  const helloworld::HelloRequest& request) override {
    co_await coracle::sleep_for(
        std::chrono::milliseconds(1));  // a timer of Coracle's, met by the foreign loop
    helloworld::HelloReply reply;
    reply.set_message("Hello, " + request.name());
    co_return reply;
  }
};

inline coracle::task<> greet(helloworld::rpc::Greeter::stub stub, int calls, int& answered) {
  for (int i = 0; i < calls; ++i) {
    helloworld::HelloRequest request;
    request.set_name("guest " + std::to_string(i));
    const auto reply = co_await stub.SayHello(request, coracle::within(std::chrono::seconds(20)));
    expect(reply.value().message() == "Hello, " + request.name(), "the server sent another greeting");
    ++answered;
  }
}
