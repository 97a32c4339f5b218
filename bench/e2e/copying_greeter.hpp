// copying_greeter: the Greeter whose handler returns a reply by value, for the servers of the benchmarks.
#pragma once

#include "helloworld.coracle.hpp"

namespace bench {

class copying_greeter final : public helloworld::rpc::Greeter::service {
  coracle::reply<helloworld::HelloReply> SayHello(coracle::server_context&,
                                                  const helloworld::HelloRequest& request) override {
    helloworld::HelloReply reply;
    reply.set_message(request.name());
    return reply;
  }
};

}  // namespace bench
